"""The schema of an event, the entries of a job's history. See store/history.py."""

from __future__ import annotations

from outlive.verbs.field_kinds import count, object_of, of, string

_TIME = {"format": "date-time"}

_EVENTS = {
    "started": ("pid",),
    "adopted": ("by",),
    "watch_hit": ("watch", "pattern", "match_type", "stream", "line", "match"),
    "watch_suppressed": ("watch", "pattern", "count", "from_seq", "to_seq", "line"),
    "watch_skipped": ("stream", "bytes"),
    "watch_failed": ("watch", "message"),
    "waiting_for_input": ("prompt", "echo"),
    "signal_sent": ("signal", "by", "cause"),
    "resized": ("cols", "rows"),
    "output_dropped": ("bytes",),
    "output_missing": ("stream", "from_byte", "to_byte", "bytes"),
    "output_gap": ("from_seq", "to_seq", "bytes", "lines"),
    "notification_delivered": ("event_type", "sink_type", "target", "watch"),
    "notification_failed": ("event_type", "sink_type", "target", "watch", "error"),
    "approval_asked": ("rule", "reason"),
    "approved": ("by", "reason"),
    "denied": ("by", "reason", "state"),
    "submitted": ("host", "engine", "engine_job_id"),
    "queued": ("state", "reason"),
    "started_on": ("node",),
    "requeued": ("state",),
    "preempted": ("state",),
    "unreachable": ("message",),
    "reachable": (),
    "finished": ("state", "exit_code", "signal", "reason", "duration_ms", "usage", "message"),
    "descendants_left": ("count",),
    "fault": ("process", "error", "file"),
    "events_left_out": ("file", "count", "to_byte"),
}
_MEMBERS = sorted({name for members in _EVENTS.values() for name in members})
EVENT = object_of(
    "One event; what else it holds depends on its type (docs/reference/events.md).",
    {
        "n": of("integer", "Its number, from 1 in the order in which they were recorded.", minimum=1),
        "seq": count("How far the output was; of a watch hit: where its line begins."),
        "at": string("When.", **_TIME),
        "type": string("What happened.", enum=list(_EVENTS)),
    },
    {name: {"description": f"Of {', '.join(kind for kind in _EVENTS if name in _EVENTS[kind])}."} for name in _MEMBERS},
)
