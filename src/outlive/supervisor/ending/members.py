"""The living processes of a job, as its supervisor finds them."""

from __future__ import annotations

import os

from outlive.system import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import State
    from outlive.supervisor.events.sinks import Sinks
    from outlive.system.tree import Member


def living(state: State, job_id: str, sinks: Sinks, *, full: bool, parent: bool) -> list[Member]:
    """Return the living processes of the job.

    `full` also looks for the cookie, for processes that are not below this one. `parent`: the
    command is below this process. Process 1 of a sandbox is no part of the job.
    """
    found = tree.below(os.getpid(), sinks.pids)
    if not parent:  # the command is not below us, and may have dropped its cookie
        found += _command_tree(state)
    if full or not parent:
        found += tree.with_cookie(job_id)
    first = None if state.init is None else state.init["pid"]
    members = {member.pid: member for member in found if member.pid != first}
    if sinks.started:  # what a notification command left behind is no part of the job
        members = {pid: member for pid, member in members.items() if not tree.is_sink(pid)}
    return list(members.values())


def first_of_sandbox(state: State) -> list[Member]:
    """Return process 1 of the job's sandbox, if it lives. Its death is that of all that are left
    inside, whatever they call themselves.
    """
    first = tree.running(state.init)
    return [] if first is None else [first]


def _command_tree(state: State) -> list[Member]:
    command, first = tree.running(state.identity), tree.running(state.init)
    top = first or command
    return [] if top is None else [*([command] if command else []), *tree.below(top.pid)]
