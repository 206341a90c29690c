"""End a job and everything it started, or send it a signal."""

from __future__ import annotations

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.nearest import nearest
from outlive.core.records import CONTROL
from outlive.errors import invalid
from outlive.jobs import adoption, ending, job_answer, lookup, processes
from outlive.system import signals, tree
from outlive.verbs.spec import JOB, MS, STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.errors import OutliveError
    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

_COMMAND_CHARS = 200  # of a command line that is shown


def kill(
    ctx: Context,
    *,
    job: str,
    signal: str = "TERM",
    grace_ms: int = limits.KILL_GRACE_MS,
    wait_ms: int | None = None,
) -> Waiting[dict[str, Any]]:
    """Send TERM to the whole process tree, and KILL to what is left after the grace.

    Other signals are sent as they are. Wait for the end if the signal can bring it about.
    """
    number = signals.number_of(signal)
    if number is None:
        raise _unknown(signal)
    with lookup.open_job(ctx, job) as found_job:
        before = _Tree(adoption.inspect_before_kill(ctx, found_job), found_job)
        printed = _printed(found_job)
        found = yield from ending.kill(ctx, found_job, number, grace_ms=grace_ms, wait_ms=wait_ms)
        answer = _answer(found, found_job, number, before)
        said = "" if answer.get("already_ended") else _last_words(found_job, printed)
        return answer | ({"output": said} if said else {})


def _printed(job: JobDir) -> int:
    from outlive.store.output.merged import Output  # late, as below: the tests of a start-up count modules

    with Output(job) as output:
        return output.end


def _last_words(job: JobDir, since: int) -> str:
    """Return the end of what the job printed from this position on: how it took the signal."""
    from outlive.render import window
    from outlive.store.output.merged import Output

    with Output(job) as output:
        return window.snippet(output, since)


def _unknown(signal: str) -> OutliveError:
    near = nearest(signal.upper().removeprefix("SIG"), [name.removeprefix("SIG") for name in signals.names()])
    hint = f"Did you mean SIG{near}?" if near else "Any signal of this system is taken: INT, SIGINT and 2 are the same."
    return invalid("signal", f"unknown signal {signal!r}", hint=hint)


class _Tree:
    """The processes of a job before the signal, by pid and start time."""

    def __init__(self, found: Inspection, job: JobDir) -> None:
        self.over = found.state.finished
        members = processes.survivors(found, job)
        self.lines = processes.CommandLines(found.definition.mask, members)
        named = ((member, self.lines.of(member.pid)) for member in members)
        # One without a command line has just ended by itself
        self._members = {(member.pid, member.start): words[:_COMMAND_CHARS] for member, words in named if words}
        self.had_any = bool(self._members)

    def ended(self, alive: list[tree.Member]) -> list[dict[str, Any]]:
        """Return those that are not alive any more."""
        left = {(member.pid, member.start) for member in alive}
        return [
            {"pid": pid, "command": words} for (pid, start), words in self._members.items() if (pid, start) not in left
        ]


def _answer(found: Inspection, job: JobDir, number: int, before: _Tree) -> dict[str, Any]:
    alive = processes.survivors(found, job)
    sent = before.had_any or not before.over
    ended = before.ended(alive)
    left = [{"pid": member.pid, "command": before.lines.of(member.pid)[:_COMMAND_CHARS]} for member in alive]
    answer = {
        "job_id": job.job_id,
        "state": found.state.state,
        "timeout_ms": found.definition.timeout_ms,
        "signal": signals.name_of(number),
        **({} if sent else {"already_ended": True}),
        **job_answer.place(found, job),
        **_listed("survivors", left),
        **_listed("ended", ended),
    }
    if found.state.finished:
        outcome = job_answer.outcome(found)
        answer |= {
            name: outcome[name] for name in ("exit_code", "reason", "finished_at", "ended_by") if name in outcome
        }
        answer["ended_signal"] = outcome["signal"]
        if found.state.message:
            answer["message"] = found.state.message
    elif found.elsewhere:
        answer["hint"] = (
            f"It runs on {answer.get('host') or answer.get('machine')}, where it was told; wait tells when it has ended."
        )
    hint = _hint(found, job, number, len(alive), sent=sent)
    return answer | ({"hint": hint} if hint else {})


def _listed(name: str, members: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first of these processes, and how many there are if not all are listed."""
    listed = members[: limits.LISTED_PROCESSES]
    return {name: listed, **({f"{name}_count": len(members)} if len(members) > len(listed) else {})}


def _hint(found: Inspection, job: JobDir, number: int, alive: int, *, sent: bool) -> str | None:
    """Return what to do about the processes that live, or that nothing was sent; else None."""
    if not sent:
        return "It had ended before: no signal was sent."
    if not alive or not signals.ends(number):
        return None
    those = "1 process" if alive == 1 else f"{alive} processes"
    told = f"{those} of job {short_id(job.job_id)} still run{'s' if alive == 1 else ''}"
    if number in ending.SURE:
        return f"{told}: KILL follows after the grace; wait, or call kill again with signal KILL."
    return f"{told} after {signals.name_of(number)}: kill with TERM ends what is left, and KILL follows."


VERB = Verb(
    "kill",
    "End a job and everything it started.",
    kill,
    args=(
        JOB,
        Arg("signal", STR, "TERM, which KILL follows, or any other, such as INT or HUP, sent as it is.",
            default="TERM", metavar="SIGNAL", mcp_help="(default TERM, then KILL)"),
        Arg("grace_ms", MS, "Time between TERM and KILL.", default=limits.KILL_GRACE_MS, minimum=0, metavar="DURATION",
            mcp_help="between TERM and KILL"),
        Arg("wait_ms", MS, "How long to wait for the end (default: 1 s, for TERM also the grace).", minimum=0,
            metavar="DURATION", mcp_help="wait for the end"),
    ),
    right=CONTROL,
    result="job_id state timeout_ms signal already_ended? output? survivors survivors_count? ended ended_count? exit_code? reason? message? finished_at? ended_by? ended_signal? host? queue? engine? reachable? unreachable_since? machine? hint? requested_ms? effective_ms?",
)  # fmt: skip
