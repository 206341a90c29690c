"""The end of a job that none of its supervisors wrote down, because they were killed or the machine went
down: a reader finds out what can be known of it, and writes it.

And the end of a job of another host that was never asked: a process that starts a job there may be killed before. Without a
decision the job would be `created` for ever; it is ended where it is certain that the host was not asked."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from outlive import parts
from outlive.core.records import Definition, Ending, State
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.store import atomic_file, fault_report, history
from outlive.store.inspection import completion, handed_over, rebuilt, workspace
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir, Locks
from outlive.store.output.merged import Output
from outlive.system import cgroup, fault_points, machine, process, systemd, tree
from outlive.system.job_group import JobGroup

LOST = ", and no process of outlive saw the command end"
REBOOT = "the machine went down while it ran"
REBOOT_WHILE_WAITING = "the machine went down while it waited for its start; it never ran"
REBOOT_AT_START = "the machine went down while it was started; it may have run"
NEVER = "its launcher was killed before the command started; it never ran"
GONE = "it ran, and its state.json is gone"
MAYBE = " while it started; it may have run"


def of(job: JobDir, definition: Definition, state: State, damage: str | None) -> State | None:
    """Write the end of a job down that has no outcome and whose locks are free, and return the state
    that counts; None if its command still runs, or may still start. `damage`: why one of its files could not be read.
    """
    # After a power cut the history may have the end, and state.json be an older one or missing
    written = job.unrenamed_outcome() or rebuilt.outcome(job, state)
    if written is not None:  # it only has to be made visible
        if damage is not None and written.message is None:
            written = State.replace(written, message=f"{damage}: this end is from what else was written down")
        return write_end(job, written, definition)
    verdict = _judge(job, definition, state)
    if verdict is None:
        return None
    reason, message = verdict
    if damage is not None:
        message = f"{message} ({damage})"
    return write_end(job, failed(definition, state, reason, message), definition)


def _judge(job: JobDir, definition: Definition, state: State) -> tuple[str, str] | None:
    """Return the reason and a sentence, or None if the command still runs, or the job waits for its start."""
    if state.boot_id and state.boot_id != process.boot_id():
        return "reboot", REBOOT_WHILE_WAITING if state.waits else REBOOT
    made_in = None if definition.machine is None else definition.machine.boot_id
    if state.boot_id is None and made_in and made_in != process.boot_id():  # a power cut took its state
        return "reboot", REBOOT_AT_START
    if state.waits:
        return None
    if state.pid is None and state.phase != "spawning":
        return ("lost", GONE) if job.log_size(0) or job.log_size(1) else ("launch", NEVER)
    # What is left in a sandbox may have no cookie: its first process lives as long as any
    if tree.running(state.identity) or tree.running(state.init) or tree.with_cookie(job.job_id):
        return None
    failed = fault_report.cause(job)
    if state.pid is None:
        return "lost", (failed or "its supervisor was killed") + MAYBE
    return "lost", (failed or "its supervisor and its guardian were killed") + LOST + _with_what(state)


def _with_what(state: State) -> str:
    """Return a clause for the message if the session or container in which the job ran has ended as
    a whole, else ""."""
    if state.group is None or not cgroup.is_gone(state.group):
        return ""
    where = systemd.unit_of(state.group.path)
    if where.is_of_one_job():  # it ends when its last process does
        return ""
    whole = {systemd.SESSION: f"the login session {where.name}", systemd.CONTAINER: "the container"}.get(where.kind)
    whole = whole or where.name or f"the control group {where.path}"
    return f"; {whole} in which it ran has ended since, and what ends that ends everything in it (see outlive doctor)"


def give_up(job: JobDir, definition: Definition, state: State, why: str) -> None:
    """Write down that no supervisor is started any more for a job whose command still runs, or
    whose sinks were still to be notified of its end. `why`: one sentence. The caller holds the locks."""
    if not state.finished:
        message = f"{why}; {'it never ran' if state.waits else 'its command may still run, and kill ends it'}"
        state = write_locked_end(job, failed(definition, state, "lost", message), definition)
    if state.finished:
        completion.give_up(job, definition, why)


def write_end(
    job: JobDir,
    ended: State,
    definition: Definition,
    event: tuple[str, Mapping[str, object]] | None = None,
) -> State:
    """Lock a job, write its end down, and return the state that counts. `event`: what to record before
    it."""
    try:
        taken = Locks(job)
    except BlockingIOError:
        return ended  # another process is at it: the answer is the same
    except OSError as error:
        return _unwritten(ended, error)
    fault_points.at("lost_locked")
    with closing(taken):
        return write_locked_end(job, ended, definition, event)


def write_locked_end(
    job: JobDir,
    ended: State,
    definition: Definition,
    event: tuple[str, Mapping[str, object]] | None = None,
) -> State:
    """Write the end down, and return the state that counts. The caller holds the job's locks."""
    try:
        now = _readable(job)
        if now is not None and now.finished:
            return now
        ended = _looked_at(job, ended, definition)
        _add_to_history(job, ended, event)  # first: a reader that sees the outcome expects a complete history
        fault_points.at("lost_told")
        # Nothing is added to the logs any more: what they are short of later was cut away
        sizes = ended.log_bytes or [job.stored_size(stream) for stream in (0, 1)]
        written = job.write_state(State.replace(ended, log_bytes=sizes), promised=True)
        job.release_reserve()
        group = JobGroup.of(ended.job_group)
        if group is not None:
            group.remove()  # if nothing lives in it
        fault_points.at("lost_written")
        if not completion.is_reported(definition):  # else the process that tells it removes the mark
            job.unmark_live()
    except OSError as error:
        return _unwritten(ended, error)
    except OutliveError:  # of a newer format
        return ended
    return written


def _looked_at(job: JobDir, ended: State, definition: Definition) -> State:
    """Report what is new in the workspace of a job in a sandbox, as its supervisor would have. Nothing is
    renamed: days may have passed since it ended, in which its user made repositories there. The workspace is here, also
    that of a job of Slurm: an end on a machine with other files is its mirror's to write, or its own reader's."""
    if definition.sandbox is None:
        return ended

    def tell(kind: str, **facts: Any) -> None:
        history.record(job, kind, **facts)

    return workspace.looked_at(job.fd, definition.sandbox, ended, tell, renames=False)


def complete_end(job: JobDir, definition: Definition, ended: State, *, is_left: bool) -> None:
    """Do what was left to do at the end of a job whose supervisor and guardian died when its outcome was visible already:
    the history gets the end, its workspace is looked at once more, and the job is no longer marked live. `is_left`:
    something of it runs, and a later reader looks."""
    try:
        taken = Locks(job)
    except OSError:
        return  # another process is at it, or the store is read-only
    try:
        _add_to_history(job, ended)
        job.release_reserve()
        if is_left:
            job.mark_left()
            return
        looked_at = _looked_at(job, ended, definition)
        if looked_at != ended:
            job.write_state(looked_at)
        job.unmark_live()
    except OSError:  # the next look tries again
        return
    finally:
        taken.close()


def _unwritten(ended: State, error: OSError) -> State:
    """Return an end that cannot be written down. Where the disk takes nothing, the supervisor may have
    seen the end and been told to let it go."""
    if ended.reason != "lost" or error.errno not in (errno.EROFS, errno.EIO):
        return ended
    return State.replace(
        ended, message=f"the disk takes nothing ({error.strerror}), so the end of the command is not on it"
    )


def _readable(job: JobDir) -> State | None:
    try:
        return job.read_state()
    except atomic_file.Damaged:  # what is written down takes its place
        return None


def _add_to_history(job: JobDir, ended: State, event: tuple[str, Mapping[str, object]] | None = None) -> None:
    """Add the end to the history, unless an earlier reader did and was killed afterwards."""
    with Output(job) as output:
        seq = output.end
    faults = fault_report.unrecorded(job)
    # Opened before the file is read: a file that is too long is cut down now
    writer = history.History(job)
    # Else an earlier reader was killed here
    if not history.recorded(job, history.FINISHED):
        if event is not None:
            writer.add(event[0], seq, **event[1])
        for fault in faults:
            writer.add(history.FAULT, seq, **fault)
        writer.add(history.FINISHED, seq, **history.outcome_of(ended))
    writer.close()


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
    with closing(locks):
        state = job.read_state()
        if state is None or state.state != "created" or not is_certain(job):
            return inspection
        ended = failed(inspection.definition, state, "launch", NOT_ASKED)
        written = write_locked_end(job, ended, inspection.definition)
        handed_over.delete(job)  # then a process of this machine notifies its sinks
    return Inspection(inspection.definition, written, just_ended=True)


def end_never_ran(job: JobDir, definition: Definition, state: State, why: str) -> None:
    """Write down that a job which waited for its start never ran. The caller holds the job's locks."""
    write_locked_end(job, failed(definition, state, "launch", why), definition)


def failed(definition: Definition, state: State, reason: str, message: str, ending: Ending | None = None) -> State:
    """Return the state of a job that ends now without an outcome. If it never ran, it says when the job was made."""
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
