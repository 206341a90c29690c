"""The end of a job that its host does not have."""

from __future__ import annotations

from outlive.core.records import Definition, State
from outlive.store.inspection.unseen_end import LOST, failed


def absent(definition: Definition, known: State | None) -> State:
    """Return the end of a job whose directory is not on the other machine. `known`: what was true of
    it."""
    if known is None or known.pid is None:
        message = f"the connection to host {definition.host!r} broke before the job was started there; it never ran"
        reason = "launch"
    else:
        message, reason = f"its directory on host {definition.host!r} was deleted{LOST}", "lost"
    return failed(definition, known or State(job_id=definition.job_id), reason, message)
