"""What is true of a job, whichever of its processes died. The order of the checks is the point of
this module:

outcome → both lock bytes → outcome again, and then what unseen_end.py finds: boot id → started? →
identity → cookie → lost. A supervisor may write the outcome and release the lock between two checks. Without the second read of the outcome, a reader
said `lost` in 150 of 150 built cases.
"""

from __future__ import annotations

from outlive.core.ids import id_time_ms
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.store import atomic_file
from outlive.store.inspection import rebuilt, unseen_end
from outlive.store.inspection.inspection import Inspection, is_elsewhere
from outlive.store.job_dir import META, STATE, JobDir
from outlive.system import machine


def is_foreign(definition: Definition, state: State) -> bool:
    """Return whether another machine both defined a job and ran it: a root that machines share."""
    return machine.is_other(state.machine) and machine.is_other(definition.machine)


def inspect_job(job: JobDir) -> Inspection:
    """Return what is true of a job. If it ended while no supervisor was alive, write that end down
    (under the lock, so that only one reader does)."""
    definition, damage = _definition(job)
    try:
        state, supervised = _read(job)
    except atomic_file.Damaged as error:
        return _rebuilt(job, definition, f"{STATE}: {error.why}")
    if damage is not None and state is None:
        return _rebuilt(job, definition, damage)
    if supervised and not (state is not None and state.finished) and job.has_unwritten_outcome():
        held = _in_memory(job, definition, damage)
        if held is not None:
            return held
    if state is not None and (state.finished or supervised or (state.state == "created" and not state.waits)):
        return Inspection(definition, state, supervised=supervised, damage=damage)
    if supervised:  # being launched: no state was written yet
        return Inspection(definition, State(job_id=job.job_id, started_at=definition.created_at), supervised=True)
    if is_elsewhere(definition, state):  # nothing here can tell whether they are dead
        started: State = State(job_id=job.job_id, started_at=definition.created_at, machine=definition.machine)
        return Inspection(definition, state or started, damage=damage)
    return _dead(job, definition, state or State(job_id=job.job_id), damage)


def _read(job: JobDir) -> tuple[State | None, bool]:
    """Return the state, and whether the job is supervised. A state that is read after both locks
    were free is final."""
    state = job.read_state()
    supervised = _is_supervised(job)
    if supervised or (state is not None and state.finished):
        return state, supervised
    return job.read_state(), False


def _is_supervised(job: JobDir) -> bool:
    try:
        return job.is_supervised()
    except (FileNotFoundError, atomic_file.NotOurs):
        return False


def _definition(job: JobDir) -> tuple[Definition, str | None]:
    try:
        return job.read_meta(), None
    except atomic_file.Damaged as error:
        damage = f"{META}: {error.why}"
    except FileNotFoundError:
        damage = f"{META}: it is missing"
    made = timestamp(id_time_ms(job.job_id) / 1000)
    empty: Definition = Definition(job_id=job.job_id, created_at=made, name="(unknown)", owner="", cwd="")
    return empty, damage


def _in_memory(job: JobDir, definition: Definition, damage: str | None) -> Inspection | None:
    """Inspect a job by what its supervisor has in memory; return None if it does not answer."""
    answer = rebuilt.in_memory(job)
    if answer is None:
        return None
    state, why = answer
    if why is not None:
        kept = f"its end is not on disk ({why}): its supervisor keeps it until the disk takes it, or kill lets it go"
        damage = f"{damage}; {kept}" if damage else kept
    return Inspection(definition, state, supervised=True, damage=damage, unwritten=why is not None)


def _rebuilt(job: JobDir, definition: Definition, damage: str) -> Inspection:
    """Inspect a job whose state cannot be read: by its supervisor, its history, its reserve and the
    mark of live jobs. It is `unknown` only if none of them says anything."""
    if _is_supervised(job):
        held = _in_memory(job, definition, damage)
        if held is not None:
            return held
        begun = rebuilt.begun(job)
        running = begun or State(job_id=job.job_id, state="unknown", started_at=definition.created_at)
        state = State.replace(running, message=f"{damage}; its supervisor is alive")
        return Inspection(definition, state, supervised=True, damage=damage)
    known = rebuilt.begun(job)
    if not is_elsewhere(definition, known):
        if known is not None or job.unrenamed_outcome() or rebuilt.outcome(job, State(job_id=job.job_id)):
            return _dead(job, definition, known or State(job_id=job.job_id, phase="running"), damage)
    unknown: State = State(job_id=job.job_id, state="unknown", started_at=definition.created_at, message=damage)
    return Inspection(definition, unknown, damage=damage)


def _dead(job: JobDir, definition: Definition, state: State, damage: str | None) -> Inspection:
    """Inspect a job without outcome whose locks are free: its supervisors were killed, or the
    machine went down."""
    ended: State | None = unseen_end.of(job, definition, state, damage)
    if ended is None:
        return Inspection(definition, state, orphaned=True, damage=damage)
    return Inspection(definition, ended, just_ended=True, damage=damage)
