"""The ends of jobs that their host cannot tell of: it never had them, or has them no more."""

from __future__ import annotations

from outlive.core.records import Definition, Ending, State
from outlive.core.units import timestamp
from outlive.store.inspection.unseen_end import LOST


def never_ran(definition: Definition, reason: str, message: str, ending: Ending | None = None) -> State:
    """Return the end of a job that the other machine was not asked to start."""
    never = State(job_id=definition.job_id, started_at=definition.created_at)
    return State.replace(failed(never, reason, message), ending=ending)


def absent(definition: Definition, known: State | None) -> State:
    """Return the end of a job whose directory is not on the other machine. `known`: what was true of
    it."""
    if known is None or known.pid is None:
        message = f"the connection to host {definition.host!r} broke before the job was started there; it never ran"
        reason = "launch"
    else:
        message, reason = f"its directory on host {definition.host!r} was deleted{LOST}", "lost"
    base = known or State(job_id=definition.job_id)
    return failed(State.replace(base, started_at=base.started_at or definition.created_at), reason, message)


def failed(state: State, reason: str, message: str) -> State:
    """Return the state of a job that ends now without an outcome."""
    return State.replace(
        state, state="failed", phase="finished", reason=reason, message=message, finished_at=timestamp()
    )
