"""Whether the command of a job was ever started, and when."""

from __future__ import annotations

from outlive.core.records import State


def never_ran(state: str, reason: str | None) -> bool:
    """Return whether the command of a job that ended so was never started: it could not be, was denied, or was withdrawn.
    `started_at` is the time of its definition then."""
    return state == "failed" and reason in ("launch", "denied", "kill")


def started_at(state: State, created_at: str | None) -> str | None:
    """Return the `started_at` of answers: when the command was started; of a command that never was, when its job was defined."""
    return created_at if never_ran(state.state, state.reason) else state.started_at
