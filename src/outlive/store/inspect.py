"""What is true of a job, whichever of its processes died. The order of the checks is the point of
this module:

outcome → both lock bytes → outcome again → identity → boot id → lost. A supervisor may write the
outcome and release the lock between two checks. Without the second read of the outcome, a reader
said `lost` in 150 of 150 built cases.
"""

from __future__ import annotations

from outlive import fastjson
from outlive.core.ids import id_time_ms
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.store import atomic_file
from outlive.store.job_dir import COMPLETION, STATE, Locks
from outlive.system import fault_points, machine, process, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.store.job_dir import JobDir
    from outlive.store.root import Store

LOST = ", and no process of outlive saw the command end"
REBOOT = "the machine went down while it ran"
NEVER = "its launcher was killed before the command started; it never ran"
GONE = "it ran, and its state.json is gone"
MAYBE = " while it started; it may have run"


class Inspection:
    """The result of one inspection.

    `orphaned`: the command runs, but no process supervises it. `just_ended`: this inspection found
    out that the job has ended. `damage`: why a file could not be read. `elsewhere`: its processes
    are on another machine, so no look into /proc tells anything of them.
    """

    __slots__ = ("damage", "definition", "elsewhere", "just_ended", "orphaned", "state", "supervised")

    def __init__(
        self,
        definition: Definition,
        state: State,
        *,
        supervised: bool = False,
        orphaned: bool = False,
        just_ended: bool = False,
        damage: str | None = None,
        elsewhere: bool = False,
    ) -> None:
        self.definition = definition
        self.state = state
        self.supervised = supervised
        self.orphaned = orphaned
        self.just_ended = just_ended
        self.damage = damage
        self.elsewhere = elsewhere or is_elsewhere(definition, state)


def is_elsewhere(definition: Definition, state: State | None) -> bool:
    """Return whether the processes of a job are on another machine, or are to be: those of a job
    that is not started yet are where it will be started."""
    if definition.host is not None:
        return True
    if state is None or state.state == "unknown" or (state.machine is None and state.phase == "launching"):
        return machine.is_other(definition.machine)
    return machine.is_other(state.machine)


def is_foreign(definition: Definition, state: State) -> bool:
    """Return whether another machine both defined a job and ran it: a root that machines share."""
    return machine.is_other(state.machine) and machine.is_other(definition.machine)


def inspect_job(store: Store, job: JobDir) -> Inspection:
    """Return what is true of a job. If it ended while no supervisor was alive, write that end down
    (under the lock, so that only one reader does)."""
    definition, damage = _definition(job)
    try:
        state, supervised = _read(job)
    except atomic_file.Damaged as error:
        return _unreadable(job, definition, f"{STATE}: {error.why}")
    if damage is not None and state is None:
        return _unreadable(job, definition, damage)
    if state is not None and (state.finished or state.state == "created" or supervised):
        return Inspection(definition, state, supervised=supervised, damage=damage)
    if supervised:  # being launched: no state was written yet
        return Inspection(definition, State(job_id=job.job_id, started_at=definition.created_at), supervised=True)
    if is_elsewhere(definition, state):  # nothing here can tell whether they are dead
        started: State = State(job_id=job.job_id, started_at=definition.created_at, machine=definition.machine)
        return Inspection(definition, state or started, damage=damage)
    return _dead(store, job, definition, state or State(job_id=job.job_id), damage)


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
        damage = f"meta.json: {error.why}"
    except FileNotFoundError:
        damage = "meta.json: it is missing"
    made = timestamp(id_time_ms(job.job_id) / 1000)
    empty: Definition = Definition(job_id=job.job_id, created_at=made, name="(unknown)", owner="", cwd="")
    return empty, damage


def _unreadable(job: JobDir, definition: Definition, damage: str) -> Inspection:
    supervised = _is_supervised(job)
    state: State = State(
        job_id=job.job_id,
        state="unknown",
        started_at=definition.created_at,
        message=damage + ("; its supervisor is alive" if supervised else ""),
    )
    return Inspection(definition, state, supervised=supervised, damage=damage)


def _dead(store: Store, job: JobDir, definition: Definition, state: State, damage: str | None) -> Inspection:
    """Inspect a job without outcome whose locks are free: its supervisors were killed, or the
    machine went down."""
    written = job.unrenamed_outcome()
    if written is not None:  # it only has to be made visible
        return Inspection(definition, _write_down(store, job, written, definition), just_ended=True, damage=damage)
    found = _judge(job, state)
    if found is None:
        return Inspection(definition, state, orphaned=True, damage=damage)
    reason, message = found
    ended: State = state.replace(
        state="failed",
        phase="finished",
        reason=reason,
        message=message,
        finished_at=timestamp(),
        started_at=state.started_at or definition.created_at,
    )
    return Inspection(definition, _write_down(store, job, ended, definition), just_ended=True, damage=damage)


def _judge(job: JobDir, state: State) -> tuple[str, str] | None:
    """Return the reason and a sentence, or None if the command still runs."""
    if state.boot_id and state.boot_id != process.boot_id():
        return "reboot", REBOOT
    if state.pid is None and state.phase != "spawning":
        return ("lost", GONE) if job.log_size(0) or job.log_size(1) else ("launch", NEVER)
    if tree.running(state.identity):
        return None
    if tree.with_cookie(job.job_id):
        return None
    from outlive.store import fault_report  # rare

    failed = fault_report.cause(job)
    if state.pid is None:
        return "lost", (failed or "its supervisor was killed") + MAYBE
    return "lost", (failed or "its supervisor and its guardian were killed") + LOST + _with_what(state)


def _with_what(state: State) -> str:
    """Return a clause for the message if the session or container in which the job ran has ended as
    a whole, else ""."""
    from outlive.system import cgroup, systemd  # rare

    if state.group is None or not cgroup.is_gone(state.group):
        return ""
    where = systemd.unit_of(state.group["path"])
    if where.is_of_one_job():  # it ends when its last process does
        return ""
    whole = {systemd.SESSION: f"the login session {where.name}", systemd.CONTAINER: "the container"}.get(where.kind)
    whole = whole or where.name or f"the control group {where.path}"
    return f"; {whole} in which it ran has ended since, and what ends that ends everything in it (see outlive doctor)"


def give_up(store: Store, job: JobDir, found: Inspection, why: str) -> None:
    """Write down that no supervisor is started any more for a job whose command still runs, or
    whose sinks were still to be told of its end. `why`: one sentence. The caller holds the locks."""
    state = found.state
    if not state.finished:
        message = f"{why}; its command may still run, and kill ends it"
        ended: State = state.replace(
            state="failed", phase="finished", reason="lost", message=message, finished_at=timestamp()
        )
        state = _written(store, job, ended, found.definition)
    if state.finished:
        _give_up_sinks(store, job, found.definition, why)


def _give_up_sinks(store: Store, job: JobDir, definition: Definition, why: str) -> None:
    """Record that the end of the job is delivered no more."""
    try:
        known = fastjson.loads(atomic_file.read(job.fd, COMPLETION))
        event = known if isinstance(known, dict) else {}
    except (OSError, ValueError, RecursionError):
        event = {"job_id": job.job_id}
    event |= {"delivered": True, "given_up": why}
    try:
        if has_sinks(definition):
            content = fastjson.dumps(event, ensure_ascii=True).encode() + b"\n"
            atomic_file.write_atomic(job.fd, COMPLETION, content)
        store.unmark_live(job.job_id)
    except OSError:  # full, or read-only: the next look tries again
        return


def record_end(
    store: Store, job: JobDir, ended: State, definition: Definition, event: tuple[str, dict[str, Any]] | None = None
) -> State:
    """Write the end of a job down that the engine of another host knows of, and return the state
    that counts. `event`: what to record before it."""
    return _write_down(store, job, ended, definition, event)


def _write_down(
    store: Store, job: JobDir, ended: State, definition: Definition, event: tuple[str, dict[str, Any]] | None = None
) -> State:
    try:
        taken = Locks(job)
    except (BlockingIOError, OSError):
        return ended  # another process is at it, or the store is read-only: the answer is the same
    fault_points.at("lost_locked")
    try:
        return _written(store, job, ended, definition, event)
    finally:
        taken.close()


def _written(
    store: Store, job: JobDir, ended: State, definition: Definition, event: tuple[str, dict[str, Any]] | None = None
) -> State:
    """Write the end down, and return the state that counts. The caller holds the job's locks."""
    try:
        now = job.read_state()
        if now is not None and now.finished:
            return now
        _record_end(job, ended, event)  # first: a reader that sees the outcome expects a complete history
        fault_points.at("lost_told")
        written = job.write_state(ended)
        job.release_reserve()
        if ended.job_group is not None:
            from outlive.system.job_group import remove_recorded  # late: few jobs have one

            remove_recorded(ended.job_group)
        fault_points.at("lost_written")
        if not has_sinks(definition):  # else the process that notifies the sinks removes the mark
            store.unmark_live(job.job_id)
    except (OSError, OutliveError):
        return ended
    return written


def _record_end(job: JobDir, ended: State, event: tuple[str, dict[str, Any]] | None = None) -> None:
    """Add the end to the history, unless an earlier reader did and was killed afterwards."""
    from outlive.store import fault_report  # rare
    from outlive.store import history as history_module
    from outlive.store.output.merged import Output

    with Output(job) as output:
        seq = output.end
    faults = fault_report.untold(job)
    # Opened before the file is read: a file that is too long is cut down now
    history = history_module.History(job)
    # Else an earlier reader was killed here
    if not history_module.has(job, history_module.FINISHED):
        if event is not None:
            history.add(event[0], seq, **event[1])
        for fault in faults:
            history.add(history_module.FAULT, seq, **fault)
        history.add(history_module.FINISHED, seq, **history_module.outcome_of(ended))
    history.close()


def has_sinks(definition: Definition) -> bool:
    """Return whether the end of the job is to be delivered to a command or a file."""
    return bool(definition.notification.get("notify_command") or definition.notification.get("notify_file"))


def is_end_untold(store: Store, job: JobDir, definition: Definition) -> bool:
    """Return whether the job's sinks are still to be notified of its end, because the process that
    had to was killed. Ask only about a job that is finished and unsupervised."""
    if not has_sinks(definition):
        return False
    try:
        return not fastjson.loads(atomic_file.read(job.fd, COMPLETION)).get("delivered")
    # No delivery has begun. A sink that was added after the end is not for this end
    except FileNotFoundError:
        return store.is_marked_live(job.job_id)
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
