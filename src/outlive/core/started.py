"""Whether the command of a job was ever started."""

from __future__ import annotations


def never_ran(state: str, reason: str | None) -> bool:
    """Return whether the command of a job that ended so was never started: it could not be, was denied, or was withdrawn.
    `started_at` is the time of its definition then."""
    return state == "failed" and reason in ("launch", "denied", "kill")
