"""Whose a port of this machine is: the job's that is waited for, another program's, or not known."""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.answers.job import PortHolder
from outlive.core.record import Value
from outlive.core.records import EXEC, Definition
from outlive.errors import OutliveError
from outlive.jobs import lookup, processes
from outlive.jobs.context import Context, Principal
from outlive.jobs.told import ownership
from outlive.parts import tcp
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.system import process, tree

_HELD_S = 0.3  # a wait for a port that another program has seen to hold for so long ends
_FRESH_S = 0.1  # an answer about the same sockets is good for so long: all of /proc is read for it
# They hold a port for what runs in a container, which may be the job's
_PROXIES = frozenset((b"docker-proxy", b"rootlessport", b"slirp4netns", b"pasta", b"pasta.avx2", b"conmon", b"rootlesskit"))  # fmt: skip

ELSEWHERE = "the job runs on another host"


class Owner(Value):
    """Who listens on a port. `owned` is None where that is not known, and `why` says why it is not.
    `holder` is another program."""

    owned: bool | None
    address: str | None = None
    pid: int | None = None
    why: str | None = None
    holder: PortHolder | None = None

    def members(self) -> dict[str, object]:
        """Return what the answer says of it."""
        about = {} if self.address is None else {"address": self.address}
        return {**about, "owned": self.owned, "pid": self.pid}


class PortOwner:
    """Finds out whose a port is, for the wait for one job.

    `held` is the program that has the port instead of the job, once that is certain: it was seen
    for a moment, and the job could not listen beside it.
    """

    def __init__(self, ctx: Context, job: JobDir, port: int) -> None:
        self._ctx = ctx
        self._job = job
        self._port = port
        self._known: tuple[list[int], float, Owner] | None = None  # of which sockets, until when
        self._since: tuple[int, float] | None = None  # pid of another program, since when it is seen
        self.held: PortHolder | None = None

    def of(self, inspection: Inspection, listening: list[tcp.Listener]) -> Owner:
        """Return whose these listeners are, at least one: the job's if any of them is."""
        inodes = [one.inode for one in listening]
        if self._known is not None and self._known[0] == inodes and time.monotonic() < self._known[1]:
            return self._known[2]
        owner = self._looked_up(inspection, listening)
        self._known = (inodes, time.monotonic() + _FRESH_S, owner)
        self._note(owner)
        return owner

    def not_listening(self) -> None:
        self._known = self._since = self.held = None

    def _note(self, owner: Owner) -> None:
        holder, now = owner.holder, time.monotonic()
        if holder is None:
            self._since = self.held = None
            return
        if self._since is None or self._since[0] != holder.pid:
            self._since = (holder.pid, now)
        # A job that ends because the port is taken does so by then: its own words say more
        is_settled = now - self._since[1] >= _HELD_S
        self.held = holder if is_settled and not tcp.is_shared(holder.address, self._port) else None

    def _looked_up(self, inspection: Inspection, listening: list[tcp.Listener]) -> Owner:
        address = listening[0].address
        if inspection.elsewhere:
            return Owner(owned=None, address=address, why=ELSEWHERE)
        members = processes.survivors(inspection, self._job)
        own = self._own(listening, members)
        if own is not None:
            return own
        if members and all(_is_in_other_network(member.pid) for member in members):
            return Owner(owned=None, address=address, why="the job is in a network of its own")
        # Once more, with what survivors() does not see: a daemon that has overwritten its environment
        own = self._own(listening, processes.known_to_kernel(inspection, self._job))
        if own is not None:
            return own
        pids = [tcp.holder(one.inode) for one in listening]
        for one, pid in zip(listening, pids, strict=True):
            why = _unknown(one, pid)
            if why is not None:
                return Owner(owned=None, address=one.address, why=why)
        return Owner(owned=False, address=address, holder=self._described(address, pids[0] or 0))

    def _own(self, listening: list[tcp.Listener], members: list[tree.Member]) -> Owner | None:
        for one in listening:
            pid = tcp.owner(one.inode, [member.pid for member in members])
            if pid is not None:
                return Owner(owned=True, address=one.address, pid=pid)
        return None

    def _described(self, address: str, pid: int) -> PortHolder:
        definition = self._job_of(pid)
        command = self._command_of(pid, definition)
        holder = PortHolder(port=self._port, address=address, pid=pid, command=command)
        if definition is not None:
            holder.job_id, holder.name = definition.job_id, definition.name
            holder.owner = ownership.whose(self._ctx, definition)
        return holder

    def _job_of(self, pid: int) -> Definition | None:
        """Return the job of outlive that a process is of, if it exists for this caller."""
        job_id = tree.job_of(pid)
        if job_id is None:
            return None
        try:
            with lookup.open_known(self._ctx.caller, job_id) as job:
                return job.read_meta()
        except (OSError, OutliveError):  # of another root, or of another caller behind a wall
            return None

    def _command_of(self, pid: int, definition: Definition | None) -> str:
        """Return the command line, or the name alone for a caller who could not see it with ps(1)."""
        if not sees_processes(self._ctx.caller):
            return tree.comm(pid).decode("utf-8", "replace")
        start = process.start_time(pid) or 0
        masked = [] if definition is None else definition.mask
        return processes.CommandLines(masked, [tree.Member(pid, start)]).of(pid)[: limits.COMMAND_CHARS]


def sees_processes(caller: Principal) -> bool:
    """Return whether a caller could see with ps(1) which processes there are. A caller over MCP cannot whose jobs may have a
    sandbox, nor can a caller that may run no command; to one behind a wall those of the jobs of others do not exist."""
    is_bounded = caller.face == "mcp" and (
        caller.config.uses("sandbox") or caller.rights.sandbox or caller.wall is not None
    )
    return not is_bounded and caller.rights.allows(EXEC)


def has_own_network(inspection: Inspection) -> bool:
    sandbox = inspection.definition.sandbox
    return sandbox is not None and sandbox.network != "open"


def _unknown(listener: tcp.Listener, pid: int | None) -> str | None:
    """Return why the owner of a listener that this process holds cannot be known; None if it can."""
    if pid is None:
        return f"a process of user {listener.user} listens, and its files may not be looked into"
    name = tree.comm(pid)
    return f"{name.decode()} (pid {pid}) listens for a container" if name in _PROXIES else None


def _is_in_other_network(pid: int) -> bool:
    try:
        theirs, ours = os.stat(f"/proc/{pid}/ns/net"), os.stat("/proc/self/ns/net")
    except OSError:
        return False
    return theirs.st_ino != ours.st_ino
