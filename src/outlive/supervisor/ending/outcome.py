"""The final state of a job, from its wait status; and whether the kernel ended it because memory ran out, which is said only
where it is certain."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from outlive.core.record import Value
from outlive.core.records import Ending, State
from outlive.core.units import timestamp
from outlive.system import cgroup, oom, process, signals


def ended(state: State, status: int, ended_ns: int | None) -> State:
    """Return the state after the command ended with this wait(2) status, at `ended_ns` (monotonic; None: now)."""
    by_signal = os.WIFSIGNALED(status)
    code = None if by_signal else os.WEXITSTATUS(status)
    signal = signals.name_of(os.WTERMSIG(status)) if by_signal else None
    reason, message = "signal" if by_signal else "exit", state.message
    if state.ending and _answers(state.ending, code, signal):
        reason, message = state.ending.cause, message if state.ending.message is None else state.ending.message
    after = State.replace(
        state,
        state="killed" if by_signal else "exited",
        exit_code=code,
        signal=signal,
        reason=reason,
        message=message,
        core_dumped=os.WCOREDUMP(status) if by_signal else state.core_dumped,
    )
    return _finished(after, ended_ns)


def unstarted(state: State, message: str, errno_name: str | None, reason: str = "launch") -> State:
    """Return the state after exec(2) failed, or the start broke off before it."""
    return _finished(State.replace(state, state="failed", reason=reason, errno=errno_name, message=message))


def lost(state: State, message: str) -> State:
    """Return the state after an end that no process of ours saw. An exit code is never made up."""
    return _finished(State.replace(state, state="failed", reason="lost", message=message))


def asked_for(
    old: Ending | None, cause: str, by: str, signal_name: str, grace_ms: int, message: str | None = None
) -> Ending | None:
    """Return the member `ending` of a state: an end was asked for, and `old` stood there. None if
    that does not change. The first cause stays, and the grace only becomes shorter."""
    kill_at = time.monotonic_ns() + grace_ms * 1_000_000 if signal_name in ("SIGTERM", "SIGKILL") else None
    if old is None or old.kill_at_ns is None:
        return Ending(cause=cause, by=by, signal=signal_name, at=timestamp(), kill_at_ns=kill_at, message=message)
    return None if kill_at is None else Ending.replace(old, cause=old.cause, kill_at_ns=min(old.kill_at_ns, kill_at))


def _finished(state: State, ended_ns: int | None = None) -> State:
    """Return the state with the time of the end, and without what only a running job has."""
    end = time.monotonic_ns() if ended_ns is None else ended_ns
    finished_at = timestamp(time.time() - (time.monotonic_ns() - end) / 1e9)
    duration = None
    if state.started_ns is not None and state.reason != "lost":
        duration = max(0, (end - state.started_ns) // 1_000_000)
    return State.replace(
        state, phase="finished", finished_at=finished_at, duration_ms=duration, stdin="closed", waiting=None
    )


def _answers(ending: Ending, exit_code: int | None, signal: str | None) -> bool:
    """Return whether the job ended because that was asked for. TERM and KILL always ask for it; of
    another signal the end must show it."""
    if ending.cause != "kill" or ending.signal in ("SIGTERM", "SIGKILL"):
        return True
    number = signals.number_of(ending.signal or "")
    return signal == ending.signal or (number is not None and exit_code == 128 + number)


# --- out of memory, or ended by its engine ---

# Of a job in an allocation: asks its engine why the command was ended by a signal that is not ours.
# Returns the reason and a sentence; None if the engine knows of nothing
ask_engine: Callable[[], tuple[str, str] | None] | None = None
# Of a job in an allocation: what the path of a control group holds that is the engine's own for this job
engine_group: str | None = None
_KILLED = 137  # what a shell tells of a child that SIGKILL ended: 128 + 9


def of_engine(ended: State) -> State:
    """Return the state of a job that has just ended, with what the engine of its allocation says of its end."""
    if ask_engine is None or ended.reason != "signal" or (told := ask_engine()) is None:
        return ended
    reason, message = told
    ending = Ending(cause=reason, by="engine", signal=ended.signal, at=ended.finished_at)
    return State.replace(ended, reason=reason, message=message, ending=ending)


def judged(ended: State) -> State:
    """Return the state of a job that has just ended, with the reason `oom` where nothing else can
    have ended it.

    That needs all of this: outlive was not asked for the end, the signal was SIGKILL, and the
    kernel ended processes of the job's control group for want of memory while the job ran. And
    either that group holds nothing but this job, or the kernel's log names the command. Where the
    last is not known, the reason stays, and the message says what is known.
    """
    kills = kernel_kills(ended)
    if kills is None or ended.reason == "oom":
        return ended
    if kills.of_command and ended.reason == "signal":
        return State.replace(ended, reason="oom", message="the kernel ended it because memory ran out")
    processes = "a process" if kills.number == 1 else f"{kills.number} processes"
    return State.replace(
        ended, message=f"memory ran out: the kernel ended {processes} of its control group while it ran"
    )


class Kills(Value):
    """Processes of its control group that the kernel ended for want of memory while a job ran."""

    number: int
    of_command: bool  # for certain: the command was one of them, or exited because of one


def kernel_kills(ended: State) -> Kills | None:
    """Return which processes the kernel ended for want of memory, if that can explain the end of a job; None: it cannot."""
    by_signal = ended.signal == "SIGKILL" and ended.reason == "signal"
    if not by_signal and ended.exit_code != _KILLED:
        return None
    kills, group = cgroup.oom_kills_since(ended.group)
    if not kills or group is None:
        return None
    own = _is_its_own(group.path, ended.job_id)
    if by_signal:
        return Kills(kills, own or _is_named(ended))
    return Kills(kills, ended.reason == "exit" and (own or ended.job_group is not None))


def _is_its_own(path: str, job_id: str) -> bool:
    """Return whether the control group holds nothing but this job: its systemd scope, or the group
    that its limits made, or the engine's."""
    return f"/outlive-{job_id}" in path or (engine_group is not None and engine_group in path)


def _is_named(ended: State) -> bool:
    """Return whether the kernel's log names the command. It is not reaped yet, so its pid has meant
    no other process."""
    if ended.started_ns is None or not process.is_first_namespace():
        return False
    return ended.pid in oom.named_since(ended.started_ns // 1000)
