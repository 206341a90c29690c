"""What must be true of a job that is over: its outcome, the number of its runs, and every byte of its output."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaign import jobs
from campaign.jobs import LOST, Files, Outcome
from campaign.plan import JobPlan
from campaign.turn import Told, Written, is_point
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.gap import GapFile, Hole
from support.wait import until

_SLACK_S = 2.0  # a call took so much longer than it measured, on a busy machine


def wrongs(plan: JobPlan, files: Files, root: Path, told: Told) -> list[str]:
    """Return a sentence for each thing that is not as it was promised."""
    runs = files.ledger.read_text().count("run") if files.ledger.exists() else 0
    if not told.job or _never_ran(told):
        return list(_not_run(plan, told, runs))
    if told.died_unstarted and told.status.get("state") == "failed":
        return [*_died_unstarted(told, runs), *_tracebacks(files)]
    found = [] if runs == 1 else [f"it ran {runs} times"]
    found += _tracebacks(files)
    found += _outcome(plan, told)
    found += _history(told)
    found += _output(plan, root / told.job, told)
    if plan.kind == "watch":
        found += _hits(plan, files, told)
    if plan.kind == "sinks" and not _is_given_up(root / told.job):
        found += _sinks(files, told)
    return found


def _never_ran(told: Told) -> bool:
    return told.status.get("state") == "failed" and not told.ended


def _not_run(plan: JobPlan, told: Told, runs: int) -> Iterator[str]:
    error = told.started.get("error")
    if runs:
        yield f"it ran {runs} times, and was said not to have run: {error or told.status}"
    if not told.launcher_died and not plan.start:
        yield f"it did not start: {error or told.status}"
    if told.job and told.status.get("exit_code") is not None:
        yield f"it has an exit code, {told.status['exit_code']}, and never ran"


def _died_unstarted(told: Told, runs: int) -> Iterator[str]:
    """Both processes above a job were killed before its command was recorded: that it never ran is said of one that
    did not, and that it may have run of one that ran at most once."""
    reason, message = told.status.get("reason"), told.status.get("message")
    if (reason, runs) not in {("launch", 0), ("lost", 0), ("lost", 1)}:
        yield f"it ran {runs} times, and its end is {reason}: {message}"
    if told.status.get("exit_code") is not None:
        yield f"it has an exit code, {told.status['exit_code']}, which nobody saw"


def _outcome(plan: JobPlan, told: Told) -> Iterator[str]:
    right = jobs.outcomes(plan)
    if told.pair_died:
        right.add(LOST)
        if plan.kind == "kill":
            right.add(Outcome("killed", "signal", signal="SIGTERM"))
    for answer in (told.ended, told.status):
        found = Outcome(
            answer.get("state", ""), answer.get("reason", ""), answer.get("exit_code"), answer.get("signal")
        )
        if found not in right:
            yield f"{answer.get('type')} says {found}: {answer.get('message') or answer.get('error')}"
    took = told.status.get("duration_ms")
    if took is not None and not 0 <= took <= (told.took_s + _SLACK_S) * 1000:
        yield f"it took {took} ms, of {told.took_s * 1000:.0f} in all"


def _tracebacks(files: Files) -> Iterator[str]:
    lines = files.crashes.read_text().splitlines() if files.crashes.exists() else []
    traceback = [line for line in lines if not is_point(line)]
    if traceback:
        yield "a process of ours ended with an exception:\n" + "\n".join(traceback)


def _history(told: Told) -> Iterator[str]:
    kinds = Counter(event["type"] for event in told.events)
    for kind in ("started", "finished"):
        if kinds[kind] != 1:
            yield f"the history has {kinds[kind]} events `{kind}`"
    if kinds["fault"]:
        yield f"a process of ours had a fault: {[event for event in told.events if event['type'] == 'fault']}"


# --- output ---


def _output(plan: JobPlan, path: Path, told: Told) -> Iterator[str]:
    total = 0
    for stream, (name, all_of_it) in enumerate(zip(LOGS, jobs.output(plan), strict=True)):
        log = (path / name).read_bytes() if (path / name).exists() else b""
        expected = _copied(told.written, log) + all_of_it if plan.kind == "stdin" and stream == 0 else all_of_it
        total += len(log)
        if plan.kind == "disk":
            if not _is_part(log, expected):
                yield f"{name} holds what was never written"
        elif plan.kind == "quota":
            yield from _with_hole(name, log, expected, _hole(path, stream), told)
        elif jobs.ends_itself(plan) or log != expected[: len(log)]:
            yield from _same(name, log, expected, told)
    if told.status.get("next_seq") != total:
        yield f"the merged stream has {told.status.get('next_seq')} bytes, the logs {total}"
    if plan.kind == "disk":
        written, dropped = sum(map(len, jobs.output(plan))), told.status.get("dropped_bytes") or 0
        # What was dropped and not yet counted when a supervisor died is in no record
        died = told.both_died or told.pair_died or told.status.get("adopted")
        if total + dropped > written or (total + dropped < written and not died):
            yield f"of {written} bytes {total} are stored, and {dropped} were counted as dropped"


def _same(name: str, log: bytes, expected: bytes, told: Told) -> Iterator[str]:
    right = {expected, jobs.without_last(expected)} if told.pair_died else {expected}
    if log not in right:
        yield f"{name} holds {len(log)} bytes of {len(expected)}, right up to {_common(log, expected)}"


def _with_hole(name: str, log: bytes, expected: bytes, hole: Hole, told: Told) -> Iterator[str]:
    if told.pair_died and len(log) < len(expected):
        expected = jobs.without_last(expected)
    if len(log) != len(expected):
        yield f"{name} holds {len(log)} bytes of {len(expected)}"
    for start, stop in ((0, hole.start), (hole.stop, len(log))):
        if log[start:stop] != expected[start:stop]:
            at = start + _common(log[start:stop], expected[start:stop])
            yield f"{name} is wrong at {at}, and its gap reaches from {hole.start} to {hole.stop}"


def _hole(path: Path, stream: int) -> Hole:
    with JobDir(str(path.parent), path.name, os.open(path, os.O_RDONLY | os.O_DIRECTORY)) as job:
        gap = GapFile(job)
        try:
            return gap.newest().streams[stream]
        finally:
            gap.close()


def _copied(written: list[Written], log: bytes) -> bytes:
    """Return what the writes to its stdin have put into the log, if it is what they say: of each write that was not
    answered any part from its start may have arrived, and the next one may begin with the same bytes."""
    ends = {0}
    for one in written:
        after = {at + len(one.certain) for at in ends if log.startswith(one.certain, at)}
        ends = {at + count for at in after for count in range(_common(log[at:], one.maybe) + 1)}
    if not ends:
        return b"".join(one.certain for one in written)
    return log[: next((at for at in ends if log[at:] in (jobs.LAST, b"")), max(ends))]


def _is_part(log: bytes, expected: bytes) -> bool:
    """Return whether the log is what is left of the output when some bytes are taken away."""
    rest = iter(expected)
    return all(byte in rest for byte in log)


def _common(found: bytes, expected: bytes) -> int:
    pairs = zip(found, expected, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(found), len(expected)))


# --- what is reported of it ---


def _hits(plan: JobPlan, files: Files, told: Told) -> Iterator[str]:
    expected = [line.decode() for line in jobs.output(plan)[0].splitlines() if line.startswith(b"hit ")]
    seen = [event["line"] for event in told.events if event["type"] == "watch_hit"]
    if seen != expected:
        yield f"the history has the hits {seen}, not {expected}"
    if not expected:
        return

    def in_file() -> list[str]:
        lines = (
            [json.loads(line)["line"] for line in files.hits.read_bytes().splitlines()] if files.hits.exists() else []
        )
        return list(dict.fromkeys(lines))

    if _late(lambda: in_file() == expected):
        yield f"the file of the watch has {in_file()}, not {expected}"


def _is_given_up(job: Path) -> bool:
    """Return whether five supervisors in a row were killed when they were young: then no other one is started."""
    event = job / "completion_event.json"
    return event.exists() and bool(json.loads(event.read_bytes()).get("given_up"))


def _sinks(files: Files, told: Told) -> Iterator[str]:
    for path in (files.event, Path(f"{files.event}.command")):

        def codes(path: Path = path) -> list[Any]:
            return [json.loads(line)["exit_code"] for line in path.read_bytes().splitlines()] if path.exists() else []

        if _late(codes) or set(codes()) != {told.status.get("exit_code")}:
            yield f"{path.name} was told of the codes {codes()}, not of {told.status.get('exit_code')}"


def _late(condition: Any) -> bool:
    try:
        until(condition, timeout=30, what="a delivery")
    except AssertionError:
        return True
    return False
