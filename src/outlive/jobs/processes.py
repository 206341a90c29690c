"""Find the living processes of a job, and a supervisor that is stopped."""

from __future__ import annotations

import os

from outlive import limits
from outlive.core.records import State
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import LOCK, JobDir
from outlive.system import process, tree
from outlive.system.job_group import JobGroup


def stopped_supervisor(inspection: Inspection) -> int | None:
    """Return the pid of a job's supervisor if it is stopped, and on this machine."""
    return stopped(inspection.state) if inspection.supervised and not inspection.elsewhere else None


def stopped(state: State) -> int | None:
    """Return the pid of the supervisor that a job on this machine had last if it is stopped (SIGSTOP, a debugger), else
    None. Reads one file of /proc."""
    supervisor, command = state.supervisor, state.identity
    fields = process.stat_fields(supervisor.pid) if supervisor else None
    if not supervisor or not fields or fields[0] not in (b"T", b"t") or int(fields[19]) != supervisor.start_time:
        return None
    is_of_container = command is not None and command.pid_ns != process.namespace("pid")  # a pid of another one
    return None if is_of_container else supervisor.pid


def descendants(inspection: Inspection, job: JobDir) -> list[tree.Member]:
    """Return the living processes of a supervised job besides the command itself."""
    supervisor = inspection.state.supervisor
    if not inspection.supervised or not supervisor or inspection.elsewhere or inspection.state.waits:
        return []
    if process.start_time(supervisor.pid) != supervisor.start_time:
        return []
    alive = tree.below(supervisor.pid)
    if alive and not job.is_supervised():
        return []  # the supervisor let go of the job, so none is left; these may belong to the pair's next job
    first = inspection.state.init
    own = (inspection.state.pid, None if first is None else first.pid)
    return [m for m in alive if m.pid not in own and not tree.is_sink(m.pid)]


def known_to_kernel(inspection: Inspection, job: JobDir) -> list[tree.Member]:
    """Return all living processes of the job on this machine, whatever the files of the job say: what
    is below those that have its lock open, what has its cookie, and what is in its control group."""
    try:
        status = os.stat(LOCK, dir_fd=job.fd, follow_symlinks=False)
        lock = (status.st_dev, status.st_ino)
    except OSError:
        lock = None
    known = {member.pid: member for member in survivors(inspection, job)}
    for supervisor in tree.supervisors_of(job.job_id, lock):
        below = tree.below(supervisor.pid)
        if any(one.pid == supervisor.pid for one in tree.supervisors_of(job.job_id, lock)):  # it has let go else
            known.update((member.pid, member) for member in below if not tree.is_sink(member.pid))
    group = None if inspection.state.job_group is None else JobGroup.of(inspection.state.job_group)
    for pid in () if group is None else group.pids():
        fields = process.stat_fields(pid)
        if fields is not None and fields[0] not in (b"Z", b"X") and not tree.is_ours(pid):
            known.setdefault(pid, tree.Member(pid, int(fields[19])))
    return [known[pid] for pid in sorted(known)]


def survivors(inspection: Inspection, job: JobDir) -> list[tree.Member]:
    """Return all living processes of the job on this machine, with the command itself."""
    if inspection.elsewhere:
        return []
    known = {member.pid: member for member in descendants(inspection, job)}
    first = tree.running(inspection.state.init)  # of a sandbox, which knows those too that have no cookie
    known.update((member.pid, member) for member in (() if first is None else tree.below(first.pid)))
    known.update((member.pid, member) for member in tree.with_cookie(job.job_id))
    command = tree.running(inspection.state.identity)
    if command is not None:
        known.setdefault(command.pid, command)
    if first is not None:
        known.pop(first.pid, None)
    return [known[pid] for pid in sorted(known)]


class CommandLines:
    """The command lines of processes of a job, without the values of its masked variables.

    The values are in the environments of the processes. Where none of them has a value of every
    masked variable, a command line is shown up to its first blank.
    """

    def __init__(self, names: list[str], members: list[tree.Member]) -> None:
        self._unknown = set(names)
        self._values: set[str] = set()
        for member in members if names else ():
            for word in tree.environment(member.pid):
                name, _, value = word.decode("utf-8", "replace").partition("=")
                if name in names:
                    self._unknown.discard(name)
                    self._values |= {one for one in (value, *value.splitlines()) if len(one) >= limits.MASKED_CHARS}

    def of(self, pid: int) -> str:
        """Return the command line of a process, "" if it is gone."""
        line = tree.command_line(pid)
        if self._unknown:
            return line.partition(" ")[0]
        for value in sorted(self._values, key=len, reverse=True):
            line = line.replace(value, "***")
        return line
