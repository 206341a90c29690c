"""End a job and everything it started, or send it a signal."""

from __future__ import annotations

from outlive import limits
from outlive.errors import invalid, nearest
from outlive.jobs import ending, job_answer, lookup, processes
from outlive.system import signals, tree
from outlive.verbs.spec import JOB, MS, STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir


def kill(
    ctx: Context,
    *,
    job: str,
    signal: str = "TERM",
    grace_ms: int = limits.KILL_GRACE_MS,
    wait_ms: int | None = None,
) -> Waiting[dict[str, Any]]:
    """Send TERM to the whole process tree, and KILL to what is left after the grace.

    Other signals are sent as they are.
    """
    number = signals.number_of(signal)
    if number is None:
        near = nearest(signal.upper().removeprefix("SIG"), [name.removeprefix("SIG") for name in signals.names()])
        raise invalid(
            "signal", f"unknown signal {signal!r}", hint=f"Did you mean SIG{near}?" if near else "TERM or 15."
        )
    with lookup.open_job(ctx, job) as found_job:
        found = yield from ending.kill(ctx, found_job, number, grace_ms=grace_ms, wait_ms=wait_ms)
        return _answer(found, found_job, number)


def _answer(found: Inspection, job: JobDir, number: int) -> dict[str, Any]:
    alive = processes.survivors(found, job)
    answer = {
        "job_id": job.job_id,
        "state": found.state.state,
        "timeout_ms": found.definition.timeout_ms,
        "signal": signals.name_of(number),
        "survivors": [{"pid": member.pid, "command": tree.command_line(member.pid)[:200]} for member in alive],
    }
    if found.state.finished:
        ended = job_answer.outcome(found)
        answer |= {name: ended[name] for name in ("exit_code", "reason", "finished_at", "ended_by") if name in ended}
        answer["ended_signal"] = ended["signal"]
    if alive and number in ending.ENDING:
        answer["hint"] = "Not all of it has ended yet: call kill again with signal KILL, or wait."
    return answer


VERB = Verb(
    "kill",
    "End a job and everything it started.",
    kill,
    args=(
        JOB,
        Arg("signal", STR, "TERM, SIGTERM or 15; TERM is followed by KILL, others are sent as they are.",
            default="TERM", metavar="SIGNAL", mcp_help="(default TERM, then KILL)"),
        Arg("grace_ms", MS, "Time between TERM and KILL.", default=limits.KILL_GRACE_MS, minimum=0, metavar="DURATION",
            mcp_help="between TERM and KILL"),
        Arg("wait_ms", MS, "How long to wait for the end (default: grace + 1 s).", minimum=0, metavar="DURATION"),
    ),
    result="job_id state timeout_ms signal survivors exit_code? reason? finished_at? ended_by? ended_signal? hint? requested_ms? effective_ms?",
)  # fmt: skip
