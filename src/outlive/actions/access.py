"""From the text that names a job to the truth about it, and the line to its supervisor."""

from __future__ import annotations

import os

from outlive.errors import OutliveError, from_os
from outlive.store import files, truth
from outlive.store.jobdir import SEEN, JobDir, Locks
from outlive.store.root import not_found
from outlive.system import crash, process, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from outlive.actions.spec import Context
    from outlive.job import Definition
    from outlive.store.truth import Look


def open_job(ctx: Context, text: str) -> JobDir:
    """Errors: job_not_found, ambiguous_job_id. Of jobs behind the caller's wall neither tells anything."""
    return JobDir.open(ctx.store, ctx.store.find(text, None if ctx.wall is None else lambda found: _exists(ctx, found)))


def open_known(ctx: Context, job_id: str) -> JobDir:
    """The same for a whole id. Errors: job_not_found, io_error."""
    job = JobDir.open(ctx.store, job_id)
    if not _is_inside(ctx, job):
        job.close()
        raise not_found(job_id)
    return job


def job_ids(ctx: Context) -> Iterator[str]:
    """The ids of all jobs that exist for this caller, newest first."""
    return _inside(ctx, ctx.store.newest_ids())


def live_ids(ctx: Context) -> Iterator[str]:
    """Of these the ones that may still run."""
    return _inside(ctx, ctx.store.live_ids())


def _inside(ctx: Context, job_ids: Iterable[str]) -> Iterator[str]:
    return iter(job_ids) if ctx.wall is None else (job_id for job_id in job_ids if _exists(ctx, job_id))


def _exists(ctx: Context, job_id: str) -> bool:
    try:
        with JobDir.open(ctx.store, job_id) as job:
            return _is_inside(ctx, job)
    except OutliveError:
        return False


def _is_inside(ctx: Context, job: JobDir) -> bool:
    """The wall. A job whose definition cannot be read is nobody's: it exists for those alone who see all."""
    if ctx.wall is None:
        return True
    try:
        return bool(job.read_meta().scope == ctx.wall)
    except (OSError, OutliveError):
        return False


def look(ctx: Context, job: JobDir) -> Look:
    """The truth about a job. One that runs without a supervisor gets a new one."""
    found = truth.look(ctx.store, job)
    if found.orphaned or _nobody_told(ctx, job, found):
        _adopt(ctx, job, found)
        found = truth.look(ctx.store, job)
    return found


def _nobody_told(ctx: Context, job: JobDir, found: Look) -> bool:
    """Is it over, has it sinks, and did whoever had to tell them die before?"""
    if found.just_ended:
        return truth.has_sinks(found.definition)
    return found.state.finished and not found.supervised and truth.is_end_owed(ctx.store, job, found.definition)


def look_for_ending(ctx: Context, job: JobDir) -> Look:
    """The same, for whoever wants to end the job: what it left behind gets a supervisor too if its own was killed."""
    found = look(ctx, job)
    if found.state.finished and not found.supervised and survivors(found, job):
        _adopt(ctx, job, found)
        found = truth.look(ctx.store, job)
    return found


def _adopt(ctx: Context, job: JobDir, found: Look) -> None:
    """Start a supervisor that goes on with the job (or only tells its sinks about an end that nobody saw)."""
    try:
        locks = Locks(job)
    except OSError:
        return  # another reader was faster; or nobody can write here, and what there is can still be read
    # Whatever fails: a server that kept them would be taken for the job's supervisor as long as it lives
    try:
        crash.at("adopt_locked")
        _give_to_adopter(ctx, job, found, locks)
    except OSError as error:
        raise from_os(f"starting a new supervisor for job {job.job_id}", error) from error
    finally:
        locks.close()


def _give_to_adopter(ctx: Context, job: JobDir, found: Look, locks: Locks) -> None:
    """Errors: OSError."""
    # Rare, and its modules cost a command line 3 ms
    from contextlib import ExitStack

    from outlive.supervisor.ends import take_hold
    from outlive.supervisor.request import Request
    from outlive.system import fds

    command = found.state.identity
    if command is None and not found.state.finished:
        command = tree.oldest_with_cookie(job.job_id)
    request = Request(
        mode="adopt",
        root=ctx.store.path,
        job_id=job.job_id,
        definition=found.definition.to_dict(),
        command=command,
        environment=ctx.env,
        sink_shell=list(found.definition.shell or ctx.shell),
        bounds=ctx.config.bounds(),
    )
    with ExitStack() as stack:
        # Before anybody is told that it runs: a command may end while its new supervisor is still on its way
        held = take_hold(job, command, pty=found.definition.pty)
        for fd in held.values():
            stack.callback(os.close, fd)
        here, there = fds.pair()
        stack.callback(here.close)
        stack.callback(there.close)
        memory = request.to_file()
        stack.callback(os.close, memory)
        files = {"request": memory, "lock0": locks.fds[0], "lock1": locks.fds[1], "waiter": there.fileno(), **held}
        # Nobody waits for it: the locks are held from here on, by what travels, so the next look says "supervised"
        ctx.launcher.send(files)
        crash.at("adopt_sent")


def change_meta(job: JobDir, change: Callable[[Definition], Definition]) -> Definition:
    """`JobDir.change_meta`, with its errors as ours: io_error."""
    try:
        return job.change_meta(change)
    except files.Damaged as error:
        raise OutliveError("io_error", f"the definition of job {job.job_id} cannot be read: {error.why}") from error
    except OSError as error:
        raise from_os(f"changing the definition of job {job.job_id}", error) from error


def stopped_supervisor(found: Look) -> int | None:
    """The pid of a job's supervisor if somebody stopped it (SIGSTOP, a debugger). Reads one file of /proc."""
    supervisor, command = found.state.supervisor, found.state.identity
    if not found.supervised or not supervisor:
        return None
    fields = process.stat_fields(supervisor["pid"])
    if fields is None or fields[0] not in (b"T", b"t") or int(fields[19]) != supervisor["start_time"]:
        return None
    if command and command.get("pid_ns") != process.pid_namespace():  # a pid of another container
        return None
    return int(supervisor["pid"])


def descendants(found: Look, job: JobDir) -> list[tree.Member]:
    """The living processes of a supervised job besides the command itself."""
    supervisor = found.state.supervisor
    if not found.supervised or not supervisor:
        return []
    if process.start_time(supervisor["pid"]) != supervisor["start_time"]:
        return []
    alive = tree.below(supervisor["pid"])
    if alive and not job.is_supervised():
        return []  # it was let go meanwhile, which is when none is left: what was found may be the next job of that pair
    return [m for m in alive if m.pid != found.state.pid and not tree.is_sink(m.pid)]


def survivors(found: Look, job: JobDir) -> list[tree.Member]:
    """Everything of the job that is alive, the command too."""
    known = {member.pid: member for member in descendants(found, job)}
    known.update((member.pid, member) for member in tree.with_cookie(job.job_id))
    state = found.state
    if state.pid is not None and process.is_same(state.identity) and process.is_alive(state.pid):
        known.setdefault(state.pid, tree.Member(state.pid, state.identity["start_time"]))
    return [known[pid] for pid in sorted(known)]


# --- where a client's last answer ended ---


def _seen_name(client: str) -> str:
    from outlive.store.owed import mark_of

    return f"{SEEN}/{mark_of(client)}"


def seen(ctx: Context, job: JobDir) -> int:
    """Where this client's last answer about the job ended; 0 if there was none, or no position is kept."""
    if ctx.client is None:
        return 0
    try:
        fd = job.open_file(_seen_name(ctx.client))
    except OSError:
        return 0
    try:
        return int(os.read(fd, 32).strip() or b"0")
    except ValueError:
        return 0
    finally:
        os.close(fd)


def mark_seen(ctx: Context, job: JobDir, next_seq: int) -> None:
    """Remember where this answer ends. A lost position costs a repetition, so nothing here may fail a call."""
    if ctx.client is None:
        return
    name = _seen_name(ctx.client)
    try:
        try:
            fd = job.open_file(name, os.O_WRONLY | (os.O_CREAT if next_seq else 0))
        except FileNotFoundError:
            if not next_seq:  # that is what is not noted
                return
            os.mkdir(SEEN, 0o700, dir_fd=job.fd)
            fd = job.open_file(name, os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(fd, b"%020d\n" % next_seq, 0)  # one write of fixed width: old or new, never between
        finally:
            os.close(fd)
    except OSError:
        return
