"""Wait for jobs."""

from __future__ import annotations

import time

from outlive import limits
from outlive.errors import invalid
from outlive.jobs import adoption, job_answer, lookup, processes, read_cursor
from outlive.jobs.conditions import of_job, parse
from outlive.jobs.control_client import ControlClient
from outlive.jobs.waiting import Pause
from outlive.render import window
from outlive.store.output.merged import Output
from outlive.verbs.spec import INT, ITEMS, JOB, MAX_BYTES, MS, RAW, SINCE_SEQ, STR, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.conditions.condition import Probe
    from outlive.jobs.conditions.parse import Condition
    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir


def wait(
    ctx: Context,
    *,
    job: list[str],
    until: list[Any] | tuple[Any, ...] = ("exit",),
    timeout_ms: int | None = None,
    mode: str = "any",
    since_seq: int | None = None,
    poll_ms: int | None = None,
    max_bytes: int,
    raw: bool = False,
) -> Waiting[dict[str, Any]]:
    """Wait until a condition holds for one job, or for all.

    A time-out is a normal answer and ends no job.
    """
    wanted = parse.parsed(until)
    began = time.monotonic()
    limit = None if timeout_ms is None else began + timeout_ms / 1000
    if not job:
        raise invalid("job", "name at least one job")
    jobs: list[_Waited] = []
    try:
        for text in dict.fromkeys(job):
            jobs.append(_Waited(ctx, text, since_seq))
            jobs[-1].connect(ctx, wanted)
        while True:
            for one in jobs:
                one.check(ctx)
            fired = [one for one in jobs if one.fired]
            failed = [one for one in fired if one.in_vain]
            done = bool(fired) if mode == "any" else bool(failed) or len(fired) == len(jobs)
            # What is true already fires even without time to wait, but a first answer from a port
            # or server takes a moment
            first = any(one.undecided for one in jobs)
            until_then = limit if limit is None or not first else max(limit, began + limits.FIRST_ANSWER_S)
            if done or (until_then is not None and time.monotonic() >= until_then):
                break
            yield from _pause([one for one in jobs if not one.fired], until_then)
        chosen = _deciding(jobs, mode) if done else next(one for one in jobs if not one.fired)
        answer = chosen.answer(ctx, max_bytes, raw, done=done)
        if len(jobs) > 1:
            answer["jobs"] = [one.summary() for one in jobs]
        return answer | {"waited_ms": round((time.monotonic() - began) * 1000), "timed_out": not done}
    finally:
        for one in jobs:
            one.close()


def _deciding(jobs: list[_Waited], mode: str) -> _Waited:
    """Return the job that ended the wait: of several that fired, with `all` the first that failed,
    else the last."""
    fired = [one for one in jobs if one.fired]
    if mode == "any":
        return fired[0]
    return next((one for one in fired if one.in_vain), fired[-1])


def _pause(waiting: list[_Waited], limit: float | None) -> Waiting[None]:
    """Wait until something may have changed for one of the jobs."""
    fds: list[int] = []
    deadlines = [] if limit is None else [limit]
    for one in waiting:
        for pause in one.control.pause(limit):  # only to learn what it would wait for
            fds += pause.fds
            deadlines += [] if pause.deadline is None else [pause.deadline]
            break
        else:
            return
        for probe in one.probes:
            fds += probe.fds
            deadlines += [] if probe.again is None else [probe.again]
    yield Pause(tuple(fds), min(deadlines, default=None))
    for one in waiting:
        one.control.drain()


class _Waited:
    """One of the jobs.

    `in_vain` says that it fired because what was waited for cannot come any more.
    """

    def __init__(self, ctx: Context, text: str, since_seq: int | None) -> None:
        self.job: JobDir = lookup.open_job(ctx, text)
        self._output_since = read_cursor.seen(ctx, self.job) if since_seq is None else since_seq
        self._match_since = since_seq or 0
        self.fired: dict[str, Any] | None = None
        self.in_vain = False
        self.found: Inspection | None = None
        self.probes: list[Probe] = []

    def connect(self, ctx: Context, wanted: list[Condition]) -> None:
        self._names = {condition.name for condition in wanted}
        self.found = adoption.inspect_and_adopt(ctx, self.job)
        self.probes = of_job.probes_for(
            wanted, self.job, self.found, output_since=self._output_since, match_since=self._match_since
        )
        self.control = ControlClient(self.job, output=any(probe.needs_output for probe in self.probes))

    def check(self, ctx: Context) -> None:
        if self.fired:
            return
        found = self.found = adoption.inspect_and_adopt(ctx, self.job)
        adoption.require_in_place(self.job)
        over = of_job.is_over(found) and not self._serves(found)
        for probe in self.probes:
            fired = probe.check(found)
            if fired:
                self.fired = {**fired, "job_id": self.job.job_id}
                self.in_vain = fired["condition"] == "fail_regex"
                return
        searching = any(isinstance(probe, of_job.Matches) and probe.again is not None for probe in self.probes)
        if over and not searching and not self.undecided:  # nothing of what was waited for can come any more
            self.fired = {"condition": "exit", "job_id": self.job.job_id}
            self.in_vain = "exit" not in self._names

    @property
    def undecided(self) -> bool:
        return not self.fired and any(probe.undecided for probe in self.probes)

    def _serves(self, found: Inspection) -> bool:
        """Return whether the job left processes in the background that the wait may be for.

        A failed job leaves none.
        """
        if "exit" in self._names or not found.supervised or found.state.exit_code != 0:
            return False
        return bool(processes.descendants(found, self.job))

    def answer(self, ctx: Context, max_bytes: int, raw: bool, *, done: bool) -> dict[str, Any]:
        found = self.found
        assert found is not None
        with Output(self.job) as output:
            more = not found.state.finished
            shown = window.show(
                self.job, output, self._output_since, output.end, max_bytes=max_bytes, raw=raw, more=more
            )
            quiet = job_answer.idle_ms(found, output)
            waiting = job_answer.waiting(found, output)
            snippet = window.snippet(output) if not shown.text and output.end else None
            lost = job_answer.losses(found, output)
        read_cursor.mark_seen(ctx, self.job, shown.next_seq)
        answer = {
            "job_id": self.job.job_id,
            "state": found.state.state,
            "fired": self.fired if done else None,
            "elapsed_ms": job_answer.elapsed_ms(found),
            "exit_code": found.state.exit_code,
            **shown.to_dict(),
            "idle_ms": quiet,
            **waiting,
            **job_answer.unresponsive(found),
            **({"snippet": snippet} if snippet else {}),
            "timeout_ms": found.definition.timeout_ms,
        }
        if found.state.finished:
            answer |= job_answer.outcome(found)
            answer["descendants"] = len(processes.descendants(found, self.job))
        hint = self._hint() if done else self._waited_for()
        hint = self._unsearched(hint, done=done)
        if not hint or answer.get("supervisor"):
            hint = job_answer.input_hint(found, answer)
        answer |= ({"hint": hint} if hint else {}) | lost
        return answer | ({"message": found.state.message} if found.state.message else {})

    def _hint(self) -> str | None:
        """Return a sentence on the end of the wait where the answer alone may mislead."""
        fired = self.fired or {}
        if fired.get("condition") == "port" and not fired["owned"] and fired.get("address"):
            return (
                f"The process that listens on port {fired['port']} is not one of this job; an older one may still run."
            )
        if self.in_vain and fired["condition"] == "exit":
            wanted = ", ".join(sorted(self._names - {"fail_regex"}))
            return f"The job ended before {wanted} came true."
        return None

    def _unsearched(self, hint: str | None, *, done: bool) -> str | None:
        """Add to the hint that bytes were gone before they could be searched: a match may have been
        in them."""
        skipped = sum(probe.skipped for probe in self.probes if isinstance(probe, of_job.Matches))
        if not skipped or (done and not self.in_vain):
            return hint
        told = f"{skipped:,} bytes of output were gone before they could be searched: it passed the job's quota."
        return f"{hint} {told}" if hint else told

    def _waited_for(self) -> str | None:
        """Return what was seen last of a condition that did not come true."""
        return next((f"Last seen: {probe.last}." for probe in self.probes if probe.last), None)

    def summary(self) -> dict[str, Any]:
        assert self.found is not None
        state = self.found.state
        return {
            "job_id": self.job.job_id,
            "state": state.state,
            "exit_code": state.exit_code,
            "reason": state.reason,
            "fired": self.fired,
        }

    def close(self) -> None:
        if hasattr(self, "control"):
            self.control.close()
        for probe in self.probes:
            probe.close()
        self.job.close()


VERB = Verb(
    "wait",
    "Wait until a job ends or another condition holds: matching output, a port, a file, silence.",
    wait,
    args=(
        Arg("job", STRS, "The job or jobs.", required=True, cli="JOB", mcp="job_id",
            aliases=(*JOB.aliases, "job_ids", "jobs"), metavar="JOB", mcp_help="one or several"),
        Arg("until", ITEMS, "What to wait for, any of: exit, output, input (a prompt), {regex, stream}, {fail_regex} "
            "(ends it early), {port, host}, {http: URL, status}, {file}, {idle_ms}. CLI: Write regex=PATTERN, port=8080 and so on.",
            default=("exit",), mcp_default=("exit", "input"), metavar="CONDITION",
            mcp_help="any of exit, output, input (a prompt), {regex, stream}, {fail_regex}, {port, host}, {http: URL, status}, "
            "{file}, {idle_ms} (default exit, input)"),
        Arg("timeout_ms", MS, "Answer after this long in any case (CLI: without limit by default).", minimum=0,
            mcp_default=30_000, metavar="DURATION", mcp_help="answer after this long (default 30000)"),
        Arg("mode", STR, "Of several jobs: any one, or all.", default="any", choices=("any", "all"),
            mcp_help="of several jobs (default any)"),
        Arg("since_seq", INT, "Where output and matches count from; without it a match counts from the job's start.",
            minimum=0, aliases=("sinceSeq",), metavar="SEQ", mcp_help=SINCE_SEQ.mcp_help),
        Arg("poll_ms", MS, "Accepted, without effect: waiting is woken by events.", mcp="", cli="--poll-ms",
            hidden=True),
        MAX_BYTES,
        RAW,
    ),
    result="job_id state exit_code fired elapsed_ms waited_ms timed_out output since_seq next_seq truncated gaps? idle_ms waiting_for_input prompt? echo? supervisor? supervisor_pid? snippet? "
    "timeout_ms signal? reason? ended_by? errno? finished_at? duration_ms? descendants? message? dropped_bytes? missing_bytes? hint? jobs? "
    "requested_ms? effective_ms?",
    detail="The job's exit code is in the answer; the exit status of this command is 0 whatever it was.\n\n"
    "Conditions, for example: --until port=8080 --until port=localhost:8081 --until regex='ready in .* ms' --until fail_regex=ERROR; or "
    "http=http://127.0.0.1:8080/, file=build/app, idle=5s. With more: '{\"regex\":\"ready\",\"stream\":\"stderr\"}'.",
)  # fmt: skip
