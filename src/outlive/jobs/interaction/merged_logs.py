"""The lines of several jobs in one text, each with the name of its job in front, in the order in which they were printed."""

from __future__ import annotations

from collections.abc import Sequence

from outlive.core.record import Value

_NAME_CHARS = 30


class NamedLog(Value):
    """Lines of a log. `times`: when each was printed, as RFC 3339 in UTC; None: not known."""

    name: str
    short_id: str
    output: str
    times: Sequence[str | None]


class Merged(Value):
    """The end of several logs. `left_out`: how many of the lines that were given are not in it."""

    output: str
    times: list[str | None]
    left_out: int


class _Line(Value):
    time: str  # or that of the line before it; "": neither is known
    log: int
    number: int
    text: str
    shown_time: str | None


def merged(logs: Sequence[NamedLog], limit: int, max_bytes: int) -> Merged:
    """Return the last lines of several logs, at most `limit` of at most `max_bytes` bytes. Lines of one time stand in the
    order of the logs."""
    names = names_of([(log.name, log.short_id) for log in logs])
    found = [line for at, log in enumerate(logs) for line in _lines(at, log, names[at])]
    lines = sorted(found, key=lambda line: (line.time, line.log, line.number))
    kept: list[_Line] = []
    room = max_bytes
    for line in reversed(lines):
        room -= len(line.text.encode("utf-8", "replace")) + 1
        if len(kept) >= limit or (room < 0 and kept):
            break
        kept.append(line)
    kept.reverse()
    output = "".join(f"{line.text}\n" for line in kept)
    return Merged(output, [line.shown_time for line in kept], len(lines) - len(kept))


def names_of(jobs: Sequence[tuple[str, str]]) -> list[str]:
    """Return what stands in front of the lines of each job, (name, short id): names of one width, which tell the jobs apart."""
    short = [name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 1]}…" for name, _ in jobs]
    names = [name if short.count(name) == 1 else f"{name} {of}" for name, (_, of) in zip(short, jobs, strict=True)]
    width = max(map(len, names), default=0)
    return [name.ljust(width) for name in names]


def _lines(at: int, log: NamedLog, name: str) -> list[_Line]:
    texts = log.output.removesuffix("\n").split("\n") if log.output else []
    times = log.times if len(log.times) == len(texts) else [None] * len(texts)
    known = next((time for time in times if time), "")
    lines = []
    for number, (text, time) in enumerate(zip(texts, times, strict=True)):
        known = time or known
        lines.append(_Line(known, at, number, f"{name} | {text}", time))
    return lines
