"""Conditions that the job's own files decide: exit, output, input, regex, idle.

parse.py reads them; `Matches` searches for a regex, line by line (store/output/scanner.py) with RE2
(store/output/patterns.py). Those of parts have probes of their own (kind.py).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from outlive import limits
from outlive.core.record import Value
from outlive.core.records import STREAM_NAMES
from outlive.jobs import job_answer
from outlive.jobs.conditions import parse
from outlive.jobs.conditions.condition import Condition, Fired, Probe
from outlive.jobs.conditions.kind import Asked
from outlive.jobs.context import Context
from outlive.jobs.starting import boundary
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Hit
from outlive.store.output.scanner import Scanner

_UNFINISHED_QUIET_S = 0.1  # a match at the very end of an unfinished line counts after this much silence


class _Happened(Probe):
    """exit, output and input."""

    def __init__(self, name: str, job: JobDir, since: int) -> None:
        self._name = name
        self._job = job
        self._since = since
        self.needs_output = name != "exit"

    def check(self, inspection: Inspection) -> Fired:
        if self._name == "exit":
            return {"condition": "exit"} if is_over(inspection) else None
        with Output(self._job) as output:
            if self._name == "output":
                return {"condition": "output", "seq": self._since} if output.end > self._since else None
            waiting = job_answer.waiting(inspection, output)
        if not waiting.waiting_for_input:
            return None
        return {"condition": "input", **({"line": waiting.prompt} if waiting.prompt else {})}


class Idle(Probe):
    def __init__(self, condition: Condition, job: JobDir) -> None:
        self._ms = condition.value
        self._job = job
        self._seen: tuple[int, float, int] | None = None  # where the output ended, when that was seen, its silence

    def check(self, inspection: Inspection) -> Fired:
        with Output(self._job) as output:
            quiet = self._quiet(job_answer.idle_ms(inspection, output), output.end)
        if quiet is not None and quiet >= self._ms:
            return {"condition": "idle_ms", "idle_ms": quiet}
        self.again = None if quiet is None else time.monotonic() + max(1, self._ms - quiet) / 1000
        return None

    def _quiet(self, by_files: int | None, end: int) -> int | None:
        """Return the silence in milliseconds. From the second look on the wall clock does not
        count, by which files have their times: it may be set while this waits."""
        if by_files is None:
            return None
        now, quiet = time.monotonic(), by_files
        if self._seen is not None:
            at, since, before = self._seen
            passed = round((now - since) * 1000)
            quiet = before + passed if end == at else min(by_files, passed)
        if self._seen is None or end != self._seen[0]:
            self._seen = (end, now, quiet)
        return quiet


class Matches(Probe):
    """All regex and fail_regex conditions of one job, from `since` on. The match that comes first in the
    output counts, first of all behind `read`, up to where the caller was shown the output. Only where
    nothing matches there, the last match in [since, read) counts, and none of a fail_regex.

    A line that ends at `reported` or before it was the answer to an earlier wait: it does not count again."""

    needs_output = True

    def __init__(self, conditions: list[Condition], job: JobDir, since: int, read: int, reported: int) -> None:
        self._job = job
        known = max(since, reported)
        with Output(job) as output:
            offsets, old, shown = (output.offsets_at(seq) for seq in (since, known, max(known, read)))
        self.last = "a match that was reported before (since_seq=0 finds it)" if reported else None
        wanted = {one.more["stream"] for one in conditions}
        streams = (0,) if wanted == {"stdout"} else (1,) if wanted == {"stderr"} else (0, 1)
        self._streams = [_Stream(conditions, job, n, offsets[n], shown[n]) for n in streams]
        again = [one for one in conditions if one.name == "regex"] if read > known else []
        self._earlier = [_ShownStream(again, job, n, offsets[n], old[n], shown[n]) for n in streams if again]
        self.undecided = bool(self._earlier)
        self._settled_at = time.monotonic() + _UNFINISHED_QUIET_S

    def check(self, inspection: Inspection) -> Fired:
        until = time.monotonic() + limits.SCAN_S
        over = is_over(inspection) and not inspection.supervised
        waits = [stream.search(until, final=over) for stream in self._streams]
        if any(wait == 0 for wait in waits):  # more to search: give other waits a turn
            self.again = time.monotonic()
            return None
        matches = self._in_order([stream.hit for stream in self._streams])
        if matches:
            return self._fired(matches[0])
        times = [wait for wait in waits if wait is not None]
        self.again = time.monotonic() + min(times) if times else None
        if self._earlier and (not times or time.monotonic() >= self._settled_at):
            return self._shown_before(until)
        return None

    def _shown_before(self, until: float) -> Fired:
        """Search what the caller was shown, once."""
        if not all(stream.search(until) for stream in self._earlier):
            self.again = time.monotonic()
            return None
        matches = self._in_order([stream.hit() for stream in self._earlier])
        self._close_earlier()
        return self._fired(matches[-1]) if matches else None

    def _in_order(self, hits: list[_Match | None]) -> list[_Match]:
        """Return the matches in the order of the output."""
        found = [hit for hit in hits if hit is not None]
        if len(found) < 2:
            return found
        with Output(self._job) as output:
            return sorted(found, key=lambda hit: output.seq_of(hit.stream, hit.offset))

    def _fired(self, match: _Match) -> dict[str, Any]:
        """Return what this match is in an answer."""
        with Output(self._job) as output:
            self.matched_to = output.seq_of(match.stream, max(match.offset, match.end - 1)) + 1
            return match.fired(output)

    def _close_earlier(self) -> None:
        for stream in self._earlier:
            stream.close()
        self._earlier, self.undecided = [], False

    @property
    def skipped(self) -> int:
        """The number of bytes that were gone before they could be searched."""
        return sum(stream.skipped for stream in self._streams)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._close_earlier()


class _Match(Value):
    """The first match in one stream."""

    condition: Condition
    stream: int
    offset: int
    end: int
    line: str
    match: str

    def fired(self, output: Output) -> dict[str, Any]:
        return {
            "condition": self.condition.name,
            "pattern": self.condition.value.text,
            "match": self.match,
            "line": self.line,
            "seq": output.seq_of(self.stream, self.offset),
            "stream": STREAM_NAMES[self.stream],
        }


class _Search:
    """A search in one stream for lines behind `start`; it goes on where it stopped the last time. A line of which only a
    part is behind `start` is searched from where it begins, `offset` at the earliest."""

    def __init__(self, conditions: list[Condition], job: JobDir, stream: int, offset: int, start: int) -> None:
        names = ("both", STREAM_NAMES[stream])
        self._conditions = [one for one in conditions if one.more["stream"] in names]
        self._stream = stream
        self._start = start
        self._scanner = Scanner(job, stream, start)
        if start > offset:
            self._scanner.offset = max(offset, self._scanner.line_start(start))

    def _hits(self, condition: Condition, at: int, text: bytes) -> Iterator[Hit]:
        """Yield the matches in `text`, which begins at byte `at`, but for those that what stands before `start` has too."""
        shown = self._start - at
        for hit in condition.value.hits(text):
            is_shown = shown > hit.start and (
                hit.end <= shown or next(condition.value.hits(text[hit.start : shown]), None) is not None
            )
            if not is_shown:
                yield hit

    def _match(self, condition: Condition, at: int, hit: Hit) -> _Match:
        return _Match(condition, self._stream, at + hit.start, at + hit.end, hit.line, hit.match)

    def close(self) -> None:
        self._scanner.close()


class _Stream(_Search):
    """The search for the first match behind what the caller was shown."""

    def __init__(self, conditions: list[Condition], job: JobDir, stream: int, offset: int, shown: int) -> None:
        super().__init__(conditions, job, stream, offset, shown)
        self._unfinished = (-1, 0.0)  # (its end, since when it has ended there)
        self.hit: _Match | None = None

    @property
    def skipped(self) -> int:
        return self._scanner.skipped

    def search(self, until: float, *, final: bool) -> float | None:
        """Search on.

        Return None to wait for output, 0 if there is more to search now, else the seconds to wait.
        """
        while self.hit is None:
            at, text = self._scanner.whole_lines()
            if not text:
                return self._search_unfinished(final)
            self._search(at, text)
            self._scanner.searched()
            if time.monotonic() > until and self.hit is None:
                return 0
        return None

    def _search_unfinished(self, final: bool) -> float | None:
        """Search a last line without newline, such as a prompt.

        A match that reaches the end may not match any more when the line goes on, so it counts only
        after a moment of quiet.
        """
        at, text = self._scanner.unfinished()
        if not text:
            return None
        end = at + len(text)
        if self._unfinished[0] != end:
            self._unfinished = (end, time.monotonic())
        quiet = time.monotonic() - self._unfinished[1]
        settled = final or quiet >= _UNFINISHED_QUIET_S
        self._search(at, text, settled=settled)
        return None if settled or self.hit is not None else _UNFINISHED_QUIET_S - quiet

    def _search(self, at: int, text: bytes, *, settled: bool = True) -> None:
        self.hit = None
        for condition in self._conditions:
            hit = next(self._hits(condition, at, text), None)
            if hit is None or (not settled and hit.reaches_end_of(text)):
                continue
            if self.hit is None or at + hit.start < self.hit.offset:
                self.hit = self._match(condition, at, hit)


class _ShownStream(_Search):
    """The search for the last match in [reported, stop) of one stream, which the caller was shown."""

    def __init__(
        self, conditions: list[Condition], job: JobDir, stream: int, offset: int, reported: int, stop: int
    ) -> None:
        super().__init__(conditions, job, stream, offset, reported)
        self._stop = stop
        self._last = (0, b"")  # the last piece with a match, and where it begins

    def search(self, until: float) -> bool:
        """Search on, and return whether all was searched."""
        while self._scanner.offset < self._stop:
            at, text = self._scanner.whole_lines()
            unfinished = not text
            if unfinished:
                at, text = self._scanner.unfinished()
            text = text[: max(0, self._stop - at)]
            if any(next(self._hits(condition, at, text), None) for condition in self._conditions):
                self._last = (at, text)
            if unfinished:
                return True
            self._scanner.searched()
            if time.monotonic() > until:
                return False
        return True

    def hit(self) -> _Match | None:
        at, text = self._last
        hits = [(one, hit) for one in self._conditions for hit in deque(self._hits(one, at, text), maxlen=1)]
        if not hits:
            return None
        condition, hit = max(hits, key=lambda found: found[1].start)
        return self._match(condition, at, hit)


def is_over(inspection: Inspection) -> bool:
    """Return whether the command has ended, as far as is known."""
    return inspection.state.finished or (inspection.state.state == "unknown" and not inspection.supervised)


def probes_for(
    ctx: Context,
    conditions: list[Condition],
    job: JobDir,
    inspection: Inspection,
    *,
    output_since: int,
    match_since: int,
    told: Mapping[str, int] | None = None,
) -> list[Probe]:
    """Return the probes of one job. A regex is searched for from `match_since` on, one that the client
    was `told` of in the lines behind that position; first of all behind `output_since`, up to where the
    caller was shown the output.

    Errors: OSError, invalid_argument; none is left open then.
    """
    parse.require(inspection.definition, conditions)
    seen = boundary.reach(ctx.caller, conditions)
    probes: list[Probe] = []
    try:
        matches = [one for one in conditions if one.name in ("regex", "fail_regex")]
        reported = {one: (told or {}).get(one.mark, 0) for one in matches}
        for position in sorted(set(reported.values())):
            searched = [one for one in matches if reported[one] == position]
            probes.append(Matches(searched, job, match_since, output_since, position))
        for condition in conditions:
            if condition.name == "idle_ms":
                probes.append(Idle(condition, job))
            elif condition.name in parse.WORDS:
                probes.append(_Happened(condition.name, job, output_since))
            elif (looking := parse.kind(condition.name).probe) is not None:
                probes.append(looking(Asked(condition, ctx, job, inspection, seen)))
    except BaseException:
        for probe in probes:
            probe.close()
        raise
    return probes
