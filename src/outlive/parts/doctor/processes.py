"""The processes of outlive: what `ps` calls them, and whether they run the code that is on disk now."""

from __future__ import annotations

import os
import sys

import outlive
from outlive import __version__
from outlive.core.units import timestamp
from outlive.parts.finding import CheckContext, Finding, ok, warn
from outlive.parts.our_processes import own_pids, servers
from outlive.system import tree

_LISTED = 10
_ROLES = (
    (tree.GUARDIAN, "guardians", "guardian: goes on with the job if its supervisor is killed"),
    (tree.SUPERVISOR, "supervisors", "supervisor: stores the output and the end of a job"),
    (tree.MIRROR, "mirrors", "mirror: copies a job that runs on another machine"),
    (tree.FORK_SERVER, "fork_servers", "fork server: starts jobs for a server"),
)


def processes(_context: CheckContext) -> Finding:
    """Count this user's processes of outlive by the names that `ps` shows."""
    names = [tree.comm(pid).decode("utf-8", "replace") for pid in own_pids()]
    counts = {name: names.count(name) for name, _, _ in _ROLES}
    told = ", ".join(f"{counts[name]} `{name}` ({role})" for name, _, role in _ROLES)
    number = len(list(servers()))
    facts = {key: counts[name] for name, key, _ in _ROLES}
    return ok(f"of this user, for all roots, as ps names them: {told}; servers: {number}", servers=number, **facts)


def version(context: CheckContext) -> Finding:
    """Find processes that run another version than the one on disk.

    A server runs the code that it loaded at its start: it is older than the files if it started
    before they changed. A supervisor says its version itself; `supervision` has asked for it.
    """
    changed = code_changed_at(outlive.DIRECTORY)
    old = [server for server in servers() if server.since < changed and _is_of_this_installation(server.words)]
    others = {job: told for job, told in context.versions.items() if told != __version__}
    facts: dict[str, object] = {"version": __version__, "changed_at": timestamp(changed)}
    told = ""
    if others:
        facts["jobs"] = dict(list(others.items())[:_LISTED])
        told = f"; jobs whose supervisor has another version, and goes on with it: {len(others)}"
    if not old:
        return ok(f"every server of this installation runs what is on disk, {__version__}{told}", **facts)
    facts["servers"] = [
        {
            "pid": server.pid,
            "started_at": timestamp(server.since),
            "command": b" ".join(server.words).decode("utf-8", "replace"),
        }
        for server in old
    ]
    which = ", ".join(f"{server.pid} (started at {timestamp(server.since)})" for server in old[:3])
    more = f" and {len(old) - 3} others" if len(old) > 3 else ""
    advice = "They work with the code that they started with. Restart their clients when it suits you; jobs go on."
    return warn(
        f"the files changed at {timestamp(changed)}; servers from before still run: {which}{more}{told}",
        advice,
        **facts,
    )


def code_changed_at(package: str) -> float:
    """Return when the last file of code below `package` changed, in seconds since the epoch.

    That is the change of the inode: an installer may give a file an old modification time (uv links
    it from its cache). Bytecode does not count, because running the code writes it.
    """
    newest = 0.0
    for directory, _, names in os.walk(package):
        for name in names:
            if name.endswith(".py"):
                newest = max(newest, os.stat(os.path.join(directory, name)).st_ctime)
    return newest


def _is_of_this_installation(words: list[bytes]) -> bool:
    return os.path.dirname(words[0]) == os.path.dirname(os.fsencode(sys.executable))
