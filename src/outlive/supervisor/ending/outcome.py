"""The final state of a job, from its wait status."""

from __future__ import annotations

import os
import time

from outlive.core.records import Ending, State
from outlive.core.units import timestamp
from outlive.system import signals


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


def never_ran(state: State, message: str, errno_name: str | None, reason: str = "launch") -> State:
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
