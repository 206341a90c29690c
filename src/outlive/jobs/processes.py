"""Find the living processes of a job, and a supervisor that is stopped."""

from __future__ import annotations

from outlive import limits
from outlive.store.job_dir import JobDir
from outlive.system import process, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.inspect import Inspection


def stopped_supervisor(found: Inspection) -> int | None:
    """Return the pid of a job's supervisor if it is stopped (SIGSTOP, a debugger), else None.

    Reads one file of /proc.
    """
    supervisor, command = found.state.supervisor, found.state.identity
    if not found.supervised or not supervisor or found.elsewhere:
        return None
    fields = process.stat_fields(supervisor["pid"])
    if fields is None or fields[0] not in (b"T", b"t") or int(fields[19]) != supervisor["start_time"]:
        return None
    if command and command.get("pid_ns") != process.pid_namespace():  # a pid of another container
        return None
    return int(supervisor["pid"])


def descendants(found: Inspection, job: JobDir) -> list[tree.Member]:
    """Return the living processes of a supervised job besides the command itself."""
    supervisor = found.state.supervisor
    if not found.supervised or not supervisor or found.elsewhere:
        return []
    if process.start_time(supervisor["pid"]) != supervisor["start_time"]:
        return []
    alive = tree.below(supervisor["pid"])
    if alive and not job.is_supervised():
        return []  # the supervisor let go of the job, so none is left; these may belong to the pair's next job
    first = found.state.init
    own = (found.state.pid, None if first is None else first["pid"])
    return [m for m in alive if m.pid not in own and not tree.is_sink(m.pid)]


def survivors(found: Inspection, job: JobDir) -> list[tree.Member]:
    """Return all living processes of the job on this machine, with the command itself."""
    if found.elsewhere:
        return []
    known = {member.pid: member for member in descendants(found, job)}
    known.update((member.pid, member) for member in tree.with_cookie(job.job_id))
    command = tree.running(found.state.identity)
    if command is not None:
        known.setdefault(command.pid, command)
    if found.state.init is not None:
        known.pop(found.state.init["pid"], None)
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
        found = tree.command_line(pid)
        if self._unknown:
            return found.partition(" ")[0]
        for value in sorted(self._values, key=len, reverse=True):
            found = found.replace(value, "***")
        return found
