"""Which hits of watches a session has seen, so that no notice repeats them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from outlive.core.members import text_of
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.jobs.told import known_to_session
from outlive.store import history
from outlive.store.job_dir import JobDir

_HITS = (history.WATCH_HIT, history.WATCH_SUPPRESSED)
_NUMBER = re.compile(r"\d+[:-]")  # before each line that `log` found


def unread(ctx: Context, job: JobDir, events: Iterable[history.Event]) -> list[history.Event]:
    """Return the hits among these events whose lines no answer has shown to the session up to where it has read."""
    position = known_to_session.seen(ctx, job, here=True)
    return [event for event in events if event["type"] in _HITS and event["seq"] >= position]


def told_to(ctx: Context, job_id: str, offset: int, answers: Sequence[Mapping[str, object]]) -> int:
    """Return up to where in its history a session knows a job by these answers, one of which is about this job: beyond
    `offset` only if the session has seen the line of every hit since then."""
    try:
        with lookup.open_known(ctx.caller, job_id) as job:
            if history.size(job) == offset:
                return offset
            events, end = history.read(job, offset=offset)
            hits = Counter(event["line"] for event in unread(ctx, job, events))
    except (OSError, OutliveError):  # removed meanwhile
        return offset
    if any(event["type"] == history.APPROVED for event in events):  # a notice of its own
        return offset
    shown = Counter(line for answer in answers if answer.get("job_id") == job_id for line in _last_lines(answer))
    return end if hits <= shown else offset


def _last_lines(answer: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of an answer that shows the output up to its end, or all in it that match. (A line in the middle of
    the output may be the same as a later one.)"""
    for name in ("stdout_tail", "stderr_tail", "last_lines"):
        yield from text_of(answer, name).splitlines()
    if answer.get("type") == "log" and answer.get("last_line") == answer.get("total_lines"):
        searched = answer.get("matches") is not None
        for line in text_of(answer, "output").splitlines():
            yield _NUMBER.sub("", line, count=1) if searched else line
