"""A job that waits for others of the same cluster: Slurm itself has it wait (--dependency, sbatch(1)), also while this
machine is off.

It is asked where the exit code 0 of the others is waited for, or any end: Slurm knows no other codes as we do.
"""

from __future__ import annotations

from outlive import parts
from outlive.core.records import Definition, State
from outlive.errors import OutliveError
from outlive.jobs.conditions.condition import AwaitedEnd
from outlive.launch import engines
from outlive.launch.engine import Caller, Host
from outlive.parts import resources
from outlive.parts.hosts.slurm.record import SlurmRecord
from outlive.store.inspection import handed_over
from outlive.store.inspection.inspect import inspect_job
from outlive.store.job_dir import JobDir, Locks
from outlive.store.root import Store

WAITS, NEVER = "Dependency", "DependencyNeverSatisfied"  # the reasons of squeue(1)
_OPTION = "dependency"
_SHORT = "-d"


def can_hold(caller: Caller, host: Host, definition: Definition) -> bool:
    """Return whether Slurm can have the job wait: none of the others has ended, since it forgets jobs soon."""
    given = resources.of_job(definition)
    own = [*(host.settings.options or []), *(f"--{name}" for name in (given and given.options) or ())]
    if any(one.startswith((f"--{_OPTION}", _SHORT)) for one in own):  # of which Slurm would take the last
        return False
    ends = parts.ends_awaited(definition)
    return bool(ends) and all(_number(caller.store, host, end, may_be_over=False) for end in ends or ())


def flags(caller: Caller, host: Host, definition: Definition) -> list[str]:
    """Return the flags of sbatch that have a job wait. Errors: launch_failed if one of the others is gone by now."""
    words = []
    for end in parts.ends_awaited(definition) or ():
        number = _number(caller.store, host, end, may_be_over=True)
        if number is None:
            raise OutliveError("launch_failed", f"job {end.job_id}, for which it is to wait, is gone; nothing was run")
        words.append(f"{'afterany' if end.exit_code is None else 'afterok'}:{number}")
    return [f"--{_OPTION}={','.join(words)}", "--kill-on-invalid-dep=yes"] if words else []


def _number(store: Store, host: Host, end: AwaitedEnd, *, may_be_over: bool) -> str | None:
    """Return Slurm's number of a job whose end Slurm can be asked to wait for; None if there is none."""
    if end.exit_code not in (None, 0):
        return None
    try:
        with JobDir.open(store, end.job_id) as job:
            definition, record, inspection = job.read_meta(), handed_over.read_as(SlurmRecord, job), inspect_job(job)
    except (OSError, OutliveError):  # removed, or damaged
        return None
    is_known = definition.host == host.name and record is not None and (may_be_over or not inspection.state.finished)
    return record.engine.job_id if is_known and record is not None else None


def why_never(caller: Caller, definition: Definition, reason: str | None) -> str | None:
    """Return why a job that Slurm gave up while it waited can never start; "" if that is not known yet; None if it was not
    given up for what it waited for. `reason`: Slurm's last one."""
    is_open = False
    for end in parts.ends_awaited(definition) or ():
        try:
            with JobDir.open(caller.store, end.job_id) as job:
                state = engines.resumed(caller, job, inspect_job(job)).state
        except OutliveError as error:
            if error.code == "job_not_found":
                return f"what it waited for was deleted: {error.message}"
            continue
        except OSError:
            continue
        why = end.why_never(state)
        if why is not None:
            return why
        is_open = is_open or not state.finished
    if reason != NEVER:
        return None
    return "" if is_open else "Slurm says that what it waited for can never come"


def is_waited_for(record: SlurmRecord) -> bool:
    """Return whether Slurm says, or has not said yet, that a job waits for others."""
    return record.queue.reason in ("", None, WAITS, NEVER)


def note_over(job: JobDir) -> None:
    """Note that a job waits for no other any more: Slurm gives another reason."""
    try:
        locks = Locks(job)
    except OSError:  # it starts just now
        return
    try:
        state = job.read_state()
        if state is not None and state.state == "created":
            job.write_state(State.replace(state, kept={**state.kept, **{name: [] for name in parts.WAIT_HERE}}))
    except OSError:  # a full disk: the next look tries again
        return
    finally:
        locks.close()


def is_noted(state: State) -> bool:
    return any(state.kept.get(name) is not None for name in parts.WAIT_HERE)
