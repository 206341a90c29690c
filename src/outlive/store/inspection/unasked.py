"""The ends of jobs that their host cannot tell of: it never had them, or has them no more.

A process that starts a job on another host may be killed before the host was asked. Without a decision the job would
be `created` for ever; it is ended where it is certain that the host was not asked.
"""

from __future__ import annotations

from collections.abc import Callable

from outlive import parts
from outlive.core.records import Definition, Ending, State
from outlive.core.units import timestamp
from outlive.store.inspection import handed_over
from outlive.store.inspection.inspection import Inspection
from outlive.store.inspection.unseen_end import write_end
from outlive.store.job_dir import JobDir, Locks
from outlive.system import machine

NOT_ASKED = "the process that was starting it was killed before its host was asked; it never ran"


def settled(job: JobDir, inspection: Inspection) -> Inspection:
    """Return what is true of a job that was given to no engine. A job that create made waits for
    start, and one with an approval for that."""
    if (
        inspection.state.state != "created"
        or inspection.supervised  # its launcher lives
        or inspection.damage is not None
        or parts.is_held(inspection.definition.kept)
        or not job.is_marked_live()
        or machine.is_other(inspection.definition.machine)  # its locks need not reach this machine
    ):
        return inspection
    return end_unasked(job, inspection, handed_over.is_missing)


def end_unasked(job: JobDir, inspection: Inspection, is_certain: Callable[[JobDir], bool]) -> Inspection:
    """End a job that waits for its start, if `is_certain` while no process holds its locks."""
    try:
        locks = Locks(job)
    except OSError:  # another process decides, or the store is read-only
        return inspection
    try:
        state = job.read_state()
        if state is None or state.state != "created" or not is_certain(job):
            return inspection
        ended = failed(inspection.definition, state, "launch", NOT_ASKED)
        written = write_end(job, ended, inspection.definition)
        handed_over.delete(job)  # then a process of this machine notifies its sinks
    finally:
        locks.close()
    return Inspection(inspection.definition, written, just_ended=True)


def failed(definition: Definition, state: State, reason: str, message: str, ending: Ending | None = None) -> State:
    """Return the state of a job that ends now without an outcome. Of one that never ran it says when it was made."""
    return State.replace(
        state,
        state="failed",
        phase="finished",
        reason=reason,
        message=message,
        started_at=state.started_at or definition.created_at,
        finished_at=timestamp(),
        ending=ending or state.ending,
    )
