"""Starts on another host that no process goes on with, because the process that made them was killed.

Without a decision such a job would be `created` for ever. It is ended where it is certain that the
host was not asked for it; the command never ran, and never will.
"""

from __future__ import annotations

from outlive.annotations import Callable
from outlive.core.records import State
from outlive.hosts import ends
from outlive.store.inspection import engine_record
from outlive.store.inspection.inspect import Inspection
from outlive.store.inspection.unseen_end import write_end
from outlive.store.job_dir import JobDir, Locks
from outlive.store.root import Store
from outlive.system import machine

NOT_ASKED = "the process that was starting it was killed before its host was asked; it never ran"


def settled(store: Store, job: JobDir, inspection: Inspection) -> Inspection:
    """Return what is true of a job that was given to no engine. A job that create made waits for
    start, and one with an approval for that."""
    if (
        inspection.state.state != "created"
        or inspection.supervised  # its launcher lives
        or inspection.damage is not None
        or inspection.definition.approval is not None
        or not store.is_marked_live(job.job_id)
        or machine.is_other(inspection.definition.machine)  # its locks need not reach this machine
    ):
        return inspection
    return never_ran(store, job, inspection, engine_record.is_missing)


def never_ran(store: Store, job: JobDir, inspection: Inspection, is_certain: Callable[[JobDir], bool]) -> Inspection:
    """End a job that waits for its start, if `is_certain` while no process holds its locks."""
    try:
        locks = Locks(job)
    except OSError:  # another process decides, or the store is read-only
        return inspection
    try:
        state = job.read_state()
        if state is None or state.state != "created" or not is_certain(job):
            return inspection
        never = State.replace(state, started_at=inspection.definition.created_at)  # as of every job that never ran
        written = write_end(store, job, ends.failed(never, "launch", NOT_ASKED), inspection.definition)
        engine_record.delete(job)  # then a process of this machine notifies its sinks
    finally:
        locks.close()
    return Inspection(inspection.definition, written, just_ended=True)
