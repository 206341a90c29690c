"""Which job is at a port: it listens there, or leases the port."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from outlive.core.base_directories import state_directory
from outlive.core.ids import short_id
from outlive.core.members import number_of
from outlive.core.quoted import one_line
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.part import Selected
from outlive.parts import port_owner, tcp
from outlive.parts.ports import PORTS
from outlive.parts.ports.leases import Leases
from outlive.system import tree


def selected(ctx: Context, args: Mapping[str, object]) -> Selected:
    """Return the jobs at a port, and what is said of them: from which directory each is, or which other process listens. A
    caller who could not see that process is not told whether there is one."""
    port = number_of(args, "port")
    listening = list(_listening(port))
    found = dict.fromkeys([*filter(None, map(tree.job_of, listening)), *_lessee(ctx, port)])
    places = {job_id: place for job_id in found if (place := _place(ctx, job_id)) is not None}
    if places:
        of = (f"job {short_id(job_id)} in {one_line(place)}" for job_id, place in places.items())
        return Selected([*places], f"Port {port}: {', '.join(of)}.")
    if not port_owner.sees_processes(ctx.caller):
        return Selected((), f"No job that you may see is at port {port}.")
    if not listening:
        return Selected((), f"No process listens on port {port}, as far as can be seen, and no job leases it.")
    names = dict.fromkeys(f"pid {pid} ({one_line(tree.comm(pid).decode('utf-8', 'replace'))})" for pid in listening)
    return Selected((), f"On port {port} listens {', '.join(names)}, which is of no job that you may see.")


def _listening(port: int) -> Iterator[int]:
    """Yield the processes that listen on a port."""
    try:
        inodes = dict.fromkeys(one.inode for one in tcp.listeners(port))
    except OSError:  # the kernel does not say
        return
    for inode in inodes:
        pid = tcp.holder(inode)
        if pid is not None:
            yield pid


def _lessee(ctx: Context, port: int) -> Iterator[str]:
    """Yield the id of the job that leases a port."""
    try:
        leases = Leases.read(os.path.join(state_directory(ctx.env), PORTS))
    except OSError:  # none was ever leased
        return
    try:
        holder = leases.holder(port)
    finally:
        leases.close()
    if holder is not None:
        yield holder


def _place(ctx: Context, job_id: str) -> str | None:
    """Return the directory of a job; None if it does not exist for this caller, or in this root."""
    try:
        with lookup.open_known(ctx.caller, job_id) as job:
            return job.read_meta().cwd
    except (OSError, OutliveError):
        return None
