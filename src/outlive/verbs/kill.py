"""End a job and everything it started, or send it a signal."""

from __future__ import annotations

import time

from outlive import limits
from outlive.errors import OutliveError, invalid, nearest
from outlive.jobs import adoption, job_answer, lookup, processes
from outlive.jobs.control_client import ControlClient, require_supervisor
from outlive.system import signals, tree
from outlive.system.signals import signal as signals_module
from outlive.verbs.spec import JOB, MS, STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

_ENDING = (signals_module.SIGTERM, signals_module.SIGKILL)


def kill(
    ctx: Context,
    *,
    job: str,
    signal: str = "TERM",
    grace_ms: int = limits.KILL_GRACE_MS,
    wait_ms: int | None = None,
) -> Waiting[dict[str, Any]]:
    """TERM to the whole tree, KILL after the grace to what is left; another signal is sent as it is."""
    number = signals.number_of(signal)
    if number is None:
        near = nearest(signal.upper().removeprefix("SIG"), [name.removeprefix("SIG") for name in signals.names()])
        raise invalid(
            "signal", f"unknown signal {signal!r}", hint=f"Did you mean SIG{near}?" if near else "TERM or 15."
        )
    with lookup.open_job(ctx, job) as found_job:
        found = adoption.inspect_before_kill(ctx, found_job)
        if found.state.state == "created":
            raise OutliveError("invalid_state", "a created job has no process", hint="remove deletes it.")
        if found.state.state == "unknown" and not found.supervised:
            raise OutliveError(
                "invalid_state",
                f"nothing is known to run: {found.damage or found.state.message}",
                hint="log and tail still read its output; remove deletes it.",
            )
        if not found.state.finished or found.supervised:
            wait = (grace_ms if number in _ENDING else 0) + limits.KILL_WAIT_EXTRA_MS if wait_ms is None else wait_ms
            yield from end(ctx, found_job, number, grace_ms, wait / 1000)
            found = adoption.inspect_and_adopt(ctx, found_job)
        return _answer(found, found_job, number)


def end(
    ctx: Context, job: JobDir, number: int, grace_ms: int, wait_s: float, *, removing: bool = False
) -> Waiting[None]:
    """Ask the supervisor; it does it, also if we are killed meanwhile. `removing`: its notification command too, and nothing is synced."""
    line = ControlClient(job, output=False)
    try:
        asked = {"op": "kill", "signal": number, "grace_ms": grace_ms, "by": ctx.owner, "removing": removing}
        deadline = time.monotonic() + limits.CONTROL_S
        while True:
            if line.request(asked) and (yield from line.answer(deadline)):
                break
            if _is_over(adoption.inspect_and_adopt(ctx, job), job):  # it ended by itself meanwhile
                return
            if time.monotonic() >= deadline:
                raise require_supervisor(job)
            yield from line.pause(deadline)
        until = time.monotonic() + wait_s
        while number in _ENDING and time.monotonic() < until:
            if _is_over(adoption.inspect_and_adopt(ctx, job), job):
                return
            # A descendant that dies after the command is told by nobody but the end of the line
            yield from line.pause(min(until, time.monotonic() + limits.SWEEP_INTERVAL_S))
    finally:
        line.close()


def _is_over(found: Inspection, job: JobDir) -> bool:
    return found.state.finished and not processes.survivors(found, job)


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
    if alive and number in _ENDING:
        answer["hint"] = "Not all of it has ended yet: call kill again with signal KILL, or wait."
    return answer


VERB = Verb(
    "kill",
    "End a job and everything it started.",
    kill,
    args=(
        JOB,
        Arg("signal", STR, "TERM, SIGTERM or 15; TERM is followed by KILL, others are sent as they are.",
            default="TERM", metavar="SIGNAL"),
        Arg("grace_ms", MS, "Time between TERM and KILL.", default=limits.KILL_GRACE_MS, minimum=0, metavar="DURATION"),
        Arg("wait_ms", MS, "How long to wait for the end (default: grace + 1 s).", minimum=0, metavar="DURATION"),
    ),
    result="job_id state timeout_ms signal survivors exit_code? reason? finished_at? ended_by? ended_signal? hint? requested_ms? effective_ms?",
)  # fmt: skip
