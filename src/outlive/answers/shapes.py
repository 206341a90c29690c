"""Objects in answers that other rooms make as dicts: their members, for the JSON Schema and the reference pages.

A record names one of them as the type of a field; to the type checker it is a dict. No call of the command line loads this.
"""

from __future__ import annotations

from typing import Annotated

from outlive.answers import TIME, Fields, field, maybe, optional
from outlive.core.records import APPROVALS, STATES


class _Source(Fields):
    """The source of each figure that has one."""

    time: str | None = optional("Where it comes from.", enum=["cgroup", "rusage", "sampled"])
    memory: str | None = optional("Where it comes from.", enum=["cgroup", "rusage", "sampled"])
    processes: str | None = optional("Where it comes from.", enum=["cgroup", "rusage", "sampled"])


class _Usage(Fields):
    """What a job uses or used."""

    wall_ms: int = field("How long it has run.")
    user_ms: int | None = field("Processor time in programs, all processes together.")
    system_ms: int | None = field("Processor time in the kernel for them.")
    peak_memory_bytes: int | None = field(
        "The most memory. cgroup: of all processes together; rusage and sampled: of the largest."
    )
    source: Source = field("The source of each figure that has one.")
    processes: int | None = maybe("Processes that are alive now; null: not known.")
    output_bytes: int | None = optional("Bytes of output, both streams.")
    memory_bytes: int | None = optional("Memory of the living processes; a page that several share counts in each.")
    read_bytes: int | None = optional("Bytes that the living processes read from disks.")
    written_bytes: int | None = optional("Bytes that the living processes wrote to disks.")


class _Keyboard(Fields):
    """Who types into a terminal."""

    held_by: str = field("Who, and how: attach or the page.")
    since: str = field("Since when.", format=TIME)


class _Engine(Fields):
    """What started a job on another host."""

    name: str = field("slurm: the scheduler of a cluster. ssh: outlive itself, on the other machine.")
    job_id: str | None = maybe("The engine's own name for the job.")
    state: str | None = maybe("The engine's word for its state; null: not known yet.")


class _Queue(Fields):
    """A job's place in a queue of its host."""

    state: str = field("The engine's word.")
    since: str = field("When it was handed over.", format=TIME)
    reason: str | None = maybe("Why it waits, in the engine's words.")
    estimated_start: str | None = optional("When the engine means to start it.", format=TIME)


class _Fact(Fields):
    """One fact."""

    label: str = field("What it is about.")
    value: str = field("What is asked for.")


class _Approval(Fields):
    """What became of the approval of a job."""

    state: str = field("pending: a person has not answered yet.", enum=[*APPROVALS])
    rule: str | None = optional("The rule that asks.")
    reason: str | None = optional("The reason of that rule.")
    expires_at: str | None = optional("Until when a person can approve it.", format=TIME)
    by: str | None = optional("Who answered.")
    at: str | None = optional("When.", format=TIME)
    answer: str | None = optional("What the person said.")
    facts: list[Fact] | None = optional(
        "Everything that decides what runs, for the person who answers; of pending jobs, approve and deny. "
        "Values are on one line, and hold no invisible character.",
        )  # fmt: skip


class _Match(Fields):
    """A pattern."""

    pattern: str = field("What a line has to hold.")
    match_type: str = field("How.", enum=["regex", "contains"])
    stream: str = field("Where.", enum=["both", "stdout", "stderr", "either"])
    command: str | None = field("Shell command that gets each hit on its stdin.")
    file: str | None = field("File that gets each hit as one line.")
    from_seq: int = field("Lines that begin before this position do not count.")


class _WatchEntry(_Match):
    """A watch."""

    id: str = field("w1, w2 …; remove_watch takes it.")
    once: bool = field("Only the first hit?")


class _Notification(Fields):
    """The sinks of a job."""

    notify_command: str | None = maybe("Shell command that gets the event on its stdin.")
    notify_file: str | None = maybe("File that gets the event as one line.")
    watches: list[WatchEntry] | None = optional("Lines that are watched for.")
    last_watch: int | None = optional("The number of the last watch it ever had.")
    on_output_match: Match | None = optional("The one pattern of output_pattern.")


class _Fault(Fields):
    """One."""

    process: str = field("supervisor, guardian, fork-server, cursor or gc.")
    at: str = field("When.", format=TIME)
    error: str = field("The exception.")
    path: str = field("The file with the traceback and the versions: what a bug report needs.")


class _Fired(Fields):
    """A condition that came true."""

    condition: str = field("Its name.")
    job_id: str = field("The job for which it came true.")
    pattern: str | None = optional("regex, fail_regex: the pattern that matched.")
    match: str | None = optional("The text that matched.")
    line: str | None = optional("The line it stands in; of input: the prompt.")
    seq: int | None = optional("Where that line begins.")
    earlier: bool | None = optional("Was it printed before this call?")
    stream: str | None = optional("Where it stands.", enum=["stdout", "stderr"])
    port: int | None = optional("The port that is listened on.")
    host: str | None = maybe("As asked for.")
    address: str | None = optional("What it is bound to.")
    owned: bool | None = maybe("Does a process of the job listen? null: not known; `hint` says why.")
    pid: int | None = maybe("Which.", minimum=None)
    url: str | None = optional("What was asked.")
    status: int | None = optional("What it answered.", minimum=None)
    path: str | None = optional("The file.")
    idle_ms: int | None = optional("How long it has been quiet.")


# Type of an event → what else it holds
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
    "output_missing": ("stream", "from_byte"),
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
    "workspace_changed": ("found",),
    "fault": ("process", "error", "file"),
    "events_left_out": ("file", "count", "to_byte"),
}
_MEMBERS = sorted({name for members in _EVENTS.values() for name in members})


class _Event(Fields):
    """One event; what else it holds depends on its type (docs/reference/events.md)."""

    SCHEMA = {
        "properties": {
            name: {"description": f"Of {', '.join(kind for kind in _EVENTS if name in _EVENTS[kind])}."}
            for name in _MEMBERS
        }
    }

    n: int = field("Its number, from 1 in the order in which they were recorded.", minimum=1)
    seq: int = field("How far the output was; of a watch hit: where its line begins.")
    at: str = field("When.", format=TIME)
    type: str = field("What happened.", enum=[*_EVENTS])


class _Notice(Fields):
    """One notice."""

    job_id: str = field("The job.")
    name: str = field("Its name.")
    state: str = field("Its state.", enum=[*STATES])
    exit_code: int | None = field("Its exit code.", minimum=None)
    signal: str | None = field("The signal that ended it.")
    reason: str | None = field("Why it ended.")
    stages: list[int] | None = optional("Of a pipeline that bash ran: the exit code of each stage.")
    last_line: str | None = field(
        "The line that says why it failed, else the last that it put out; of a watch hit: the line."
    )
    at: str | None = field("When.", format=TIME)
    event: str = field(
        "What happened; unanswered: to its call.", enum=["finished", "removed", "unanswered", "watch_hit", "approved"]
    )
    watch: str | None = optional("Which watch.")
    pattern: str | None = optional("Its pattern.")
    seq: int | None = optional("Where the line begins.")
    message: str | None = optional(
        "Of a job that was approved, denied or removed: by whom, and why; of one whose directory was deleted: which of its processes run."
    )
    ended_by: str | None = optional("Who asked for the end, if it was asked for.")
    hits: int | None = optional("How many lines matched since the last call; this is the last of them.")


# What the records name as types
Source = Annotated[dict[str, object], _Source]
Usage = Annotated[dict[str, object], _Usage]
Keyboard = Annotated[dict[str, str], _Keyboard]
Engine = Annotated[dict[str, object], _Engine]
Queue = Annotated[dict[str, object], _Queue]
Fact = Annotated[dict[str, object], _Fact]
Approval = Annotated[dict[str, object], _Approval]
Match = Annotated[dict[str, object], _Match]
WatchEntry = Annotated[dict[str, object], _WatchEntry]
Notification = Annotated[dict[str, object], _Notification]
Fault = Annotated[dict[str, str], _Fault]
Fired = Annotated[dict[str, object], _Fired]
Event = Annotated[dict[str, object], _Event]
Notice = Annotated[dict[str, object], _Notice]
