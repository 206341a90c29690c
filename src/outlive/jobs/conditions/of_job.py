"""Conditions that the job's own files decide: exit, output, input, regex, idle.

parse.py reads them; `Matches` searches for a regex, line by line (store/output/scanner.py) with RE2
(store/output/patterns.py). Conditions about files, ports and servers are in external.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from outlive import limits
from outlive.jobs import job_answer
from outlive.jobs.conditions import external
from outlive.jobs.conditions.condition import Fired, Probe
from outlive.jobs.conditions.parse import Condition
from outlive.jobs.context import Context
from outlive.jobs.permission import reach
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
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
    """All regex and fail_regex conditions of one job: the match that comes first in the output
    counts."""

    needs_output = True

    def __init__(self, conditions: list[Condition], job: JobDir, since: int) -> None:
        self._job = job
        with Output(job) as output:
            offsets = output.offsets_at(since)
        wanted = {one.more["stream"] for one in conditions}
        streams = (0,) if wanted == {"stdout"} else (1,) if wanted == {"stderr"} else (0, 1)
        self._streams = [_Stream(conditions, job, stream, offsets[stream]) for stream in streams]

    def check(self, inspection: Inspection) -> Fired:
        until = time.monotonic() + limits.SCAN_S
        over = is_over(inspection) and not inspection.supervised
        waits = [stream.search(until, final=over) for stream in self._streams]
        if any(wait == 0 for wait in waits):  # more to search: give other waits a turn
            self.again = time.monotonic()
            return None
        hits = [stream.hit for stream in self._streams if stream.hit is not None]
        if hits:
            with Output(self._job) as output:
                return min((hit.fired(output) for hit in hits), key=lambda fired: int(fired["seq"]))
        times = [wait for wait in waits if wait is not None]
        self.again = time.monotonic() + min(times) if times else None
        return None

    @property
    def skipped(self) -> int:
        """The number of bytes that were gone before they could be searched."""
        return sum(stream.skipped for stream in self._streams)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()


class _Match(NamedTuple):
    """The first match in one stream."""

    condition: Condition
    stream: int
    offset: int
    line: str
    match: str

    def fired(self, output: Output) -> dict[str, Any]:
        return {
            "condition": self.condition.name,
            "pattern": self.condition.value.text,
            "match": self.match,
            "line": self.line,
            "seq": output.seq_of(self.stream, self.offset),
            "stream": ("stdout", "stderr")[self.stream],
        }


class _Stream:
    """The search in one stream; it goes on where it stopped the last time."""

    def __init__(self, conditions: list[Condition], job: JobDir, stream: int, offset: int) -> None:
        self._conditions = [one for one in conditions if one.more["stream"] in ("both", ("stdout", "stderr")[stream])]
        self._stream = stream
        self._scanner = Scanner(job, stream, offset)
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
            hit = next(condition.value.hits(text), None)
            if hit is None or (not settled and hit.reaches_end_of(text)):
                continue
            if self.hit is None or at + hit.start < self.hit.offset:
                self.hit = _Match(condition, self._stream, at + hit.start, hit.line, hit.match)

    def close(self) -> None:
        self._scanner.close()


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
    """Return the probes of one job. A regex that the client was `told` of is searched for behind
    that position.

    Errors: OSError, invalid_argument; none is left open then.
    """
    seen = reach.of(ctx, conditions)
    probes: list[Probe] = []
    try:
        matches = [one for one in conditions if one.name in ("regex", "fail_regex")]
        starts = {one: max(match_since, (told or {}).get(one.mark, 0)) for one in matches}
        for start in sorted(set(starts.values())):
            searched = [one for one in matches if starts[one] == start]
            probes.append(Matches(searched, job, start))
        for condition in conditions:
            if condition.name == "idle_ms":
                probes.append(Idle(condition, job))
            elif condition.name == "file":
                probes.append(external.File(condition, inspection, seen))
            elif condition.name == "port":
                probes.append(external.Port(condition, ctx, job))
            elif condition.name == "http":
                external.require_reach(inspection)
                probes.append(external.Http(condition, ctx, job))
            elif condition not in matches:
                probes.append(_Happened(condition.name, job, output_since))
    except BaseException:
        for probe in probes:
            probe.close()
        raise
    return probes
