"""The final state of a job, from its wait status."""

from __future__ import annotations

import os
import time

from outlive.annotations import Any
from outlive.core.records import Ending, State
from outlive.core.units import timestamp
from outlive.system import signals


def ended(state: State, status: int, *, dropped: int = 0, ended_ns: int | None = None) -> State:
    """Return the state after the command ended with this wait(2) status, at `ended_ns` (monotonic;
    None: now).
    """
    end: dict[str, Any] = {"exit_code": None, "signal": None}
    if os.WIFSIGNALED(status):
        end |= {"state": "killed", "signal": signals.name_of(os.WTERMSIG(status)), "reason": "signal"}
        end["core_dumped"] = os.WCOREDUMP(status)
    else:
        end |= {"state": "exited", "exit_code": os.WEXITSTATUS(status), "reason": "exit"}
    if state.ending and _answers(state.ending, end):
        end["reason"] = state.ending.cause
        if state.ending.message is not None:
            end["message"] = state.ending.message
    elif end["signal"] == "SIGXCPU" and "cpu_time" in (state.resources or {}):
        end |= {"reason": "limit", "message": "one of its processes used more than its cpu_time"}
    return _finished(state, ended_ns, dropped_bytes=dropped, **end)


def never_ran(state: State, message: str, errno_name: str | None) -> State:
    """Return the state after exec(2) failed, or the start broke off before it."""
    return _finished(state, state="failed", reason="launch", errno=errno_name, message=message)


def lost(state: State, message: str, reason: str = "lost") -> State:
    """Return the state after an end that no process of ours saw. An exit code is never made up."""
    return _finished(state, state="failed", reason=reason, message=message)


def asked_for(
    old: Ending | None, cause: str, by: str, signal_name: str, grace_ms: int, message: str | None = None
) -> Ending | None:
    """Return the member `ending` of a state: an end was asked for, and `old` stood there. None if
    that does not change. The first cause stays, and the grace only becomes shorter."""
    kill_at = time.monotonic_ns() + grace_ms * 1_000_000 if signal_name in ("SIGTERM", "SIGKILL") else None
    if old is None or old.kill_at_ns is None:
        return Ending(cause=cause, by=by, signal=signal_name, at=timestamp(), kill_at_ns=kill_at, message=message)
    return None if kill_at is None else Ending.replace(old, kill_at_ns=min(old.kill_at_ns, kill_at))


def _finished(before: State, ended_ns: int | None = None, /, **values: Any) -> State:
    end = time.monotonic_ns() if ended_ns is None else ended_ns
    finished_at = timestamp(time.time() - (time.monotonic_ns() - end) / 1e9)
    duration = None
    if before.started_ns is not None and values.get("reason") not in ("lost", "reboot"):
        duration = max(0, (end - before.started_ns) // 1_000_000)
    return State.replace(
        before,
        **{
            "phase": "finished",
            "finished_at": finished_at,
            "duration_ms": duration,
            "stdin": "closed",
            "waiting": None,
            **values,
        },
    )


def _answers(ending: Ending, end: dict[str, object]) -> bool:
    """Return whether the job ended because that was asked for. TERM and KILL always ask for it; of
    another signal the end must show it.
    """
    if ending.cause != "kill" or ending.signal in ("SIGTERM", "SIGKILL"):
        return True
    number = signals.number_of(ending.signal or "")
    return end["signal"] == ending.signal or (number is not None and end["exit_code"] == 128 + number)
