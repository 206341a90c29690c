"""Whether the command of a job was ever started, and when."""

from __future__ import annotations

from outlive.core.records import State


def never_ran(state: str, reason: str | None) -> bool:
    """Return whether the command of a job that ended so was never started: it could not be, was denied, was withdrawn, or
    what it waited for could not come true any more. `started_at` is the time of its definition then."""
    return state == "failed" and reason in ("launch", "denied", "kill", "dependency")


def has_begun(state: State, created_at: str | None) -> bool:
    """Return whether a command was started, as far as is known: not that of a job which waits for its start or waited when
    the machine went down."""
    if state.state == "created" or never_ran(state.state, state.reason):
        return False
    return not state.finished or state.started_at not in (None, created_at)


def started_at(state: State, created_at: str | None) -> str | None:
    """Return the `started_at` of answers: when the command was started; of a command that never was, when its job was defined;
    None for a job that waits for its start, or if it is not known."""
    if state.state == "created":
        return None
    return created_at if never_ran(state.state, state.reason) else state.started_at
