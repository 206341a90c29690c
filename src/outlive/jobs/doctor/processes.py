"""The processes of outlive: what `ps` calls them, whether they run the code that is on disk now, and whether another user
of this machine could take the place of `outlive serve`.
"""

from __future__ import annotations

import os
import pwd
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import outlive
from outlive import __version__
from outlive.core.units import counted, timestamp
from outlive.jobs.doctor.finding import Finding, Place, ok, unopened, warn
from outlive.store.tokens import Tokens
from outlive.system import fds, process, tree

_SERVERS = (b"mcp", b"serve")
_GLOBALS_WITH_VALUE = (b"--root", b"--config")
_LISTED = 10
_ROLES = (
    (tree.GUARDIAN, "guardians", "guardian: goes on with the job if its supervisor is killed"),
    (tree.SUPERVISOR, "supervisors", "supervisor: stores the output and the end of a job"),
    (tree.MIRROR, "mirrors", "mirror: copies a job that runs on another machine"),
    (tree.FORK_SERVER, "fork_servers", "fork server: starts jobs for a server"),
)


def processes(_place: Place) -> Finding:
    """Count this user's processes of outlive by the names that `ps` shows."""
    names = [tree.comm(pid).decode("utf-8", "replace") for pid in _own_pids()]
    counts = {name: names.count(name) for name, _, _ in _ROLES}
    told = ", ".join(f"{counts[name]} `{name}` ({role})" for name, _, role in _ROLES)
    number = len(list(servers()))
    facts = {key: counts[name] for name, key, _ in _ROLES}
    return ok(f"of this user, for all roots, as ps names them: {told}; servers: {number}", servers=number, **facts)


def version(place: Place) -> Finding:
    """Find processes that run another version than the one on disk.

    A server runs the code that it loaded at its start: it is older than the files if it started
    before they changed. A supervisor says its version itself; `supervision` has asked for it.
    """
    changed = code_changed_at(outlive.DIRECTORY)
    old = [server for server in servers() if server.since < changed and _is_of_this_installation(server.words)]
    others = {job: told for job, told in place.versions.items() if told != __version__}
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


class _Server(NamedTuple):
    pid: int
    words: list[bytes]  # of its command line
    since: float  # seconds since the epoch


def servers() -> Iterator[_Server]:
    for pid in _own_pids():
        words = fds.content(f"/proc/{pid}/cmdline").split(b"\0")[:-1]
        started = process.start_time(pid)
        if started is not None and _is_server(words):
            yield _Server(pid, words, _wall_clock(started))


def _is_server(words: list[bytes]) -> bool:
    """Return whether this is `PYTHON …/outlive … mcp` or `PYTHON -m outlive … mcp`; the same for
    `serve`.
    """
    names = [os.path.basename(word) for word in words[:4]]
    if b"outlive" not in names:
        return False
    rest = iter(words[names.index(b"outlive") + 1 :])
    for word in rest:
        if word in _GLOBALS_WITH_VALUE:
            next(rest, None)
        elif not word.startswith(b"-"):
            return word in _SERVERS
    return False


def _is_of_this_installation(words: list[bytes]) -> bool:
    return os.path.dirname(words[0]) == os.path.dirname(os.fsencode(sys.executable))


def _own_pids() -> list[int]:
    return [pid for pid, uid in _users().items() if uid == os.geteuid()]


def _users() -> dict[int, int]:
    """Return the user of each process."""
    users = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            users[int(name)] = os.stat(f"/proc/{name}").st_uid
    return users


def _wall_clock(started: int) -> float:
    """Turn a start time (clock ticks since the boot) into seconds since the epoch."""
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    return time.time() - age_s


_FIRST_PERSON, _NOBODY = 1000, 65_534  # uids from the first on belong to persons (login.defs(5), UID_MIN)
_NO_SHELLS = ("nologin", "false", "sync")
_PROVEN = ("--socket", "--certfile")
_MOST_NAMED = 3


def serving(place: Place) -> Finding:
    """Check who else could listen at the port of a server that is down: clients send it their
    tokens."""
    if place.store is None:
        return unopened(place)
    tokens = len(Tokens(place.store).all())
    others = sorted(_others())
    proven = [any(_has(words, flag) for flag in _PROVEN) for words in _serving(os.path.realpath(place.store.path))]
    facts = {"tokens": tokens, "other_users": others[:100]}
    if not tokens:
        return ok("there is no token, so no client uses `outlive serve`", **facts)
    if not others:
        return ok(f"{counted(tokens, 'token')}; no other person has an account here", **facts)
    if proven and all(proven):
        return ok(f"{counted(tokens, 'token')}; the server that runs proves itself by a socket or by TLS", **facts)
    named = ", ".join(others[:_MOST_NAMED]) + (
        f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    )
    return warn(
        f"{counted(tokens, 'token')}, and other users of this machine ({named}) may listen at a port whose server is down: "
        "clients would send their tokens to them",
        "Serve on a Unix socket (`outlive serve --socket`), or with TLS (--certfile), and let clients check the "
        "certificate. Make new tokens if a client may have met another program.",
        **facts,
    )


def _others() -> set[str]:
    """Return the names of other users who can log in, or run a process now (a directory service
    does not list everyone)."""
    me = os.geteuid()
    people = {
        one.pw_uid: one.pw_name for one in pwd.getpwall() if not one.pw_shell.endswith(_NO_SHELLS) and one.pw_uid != me
    }
    for uid in {*_users().values()} - {me}:
        people.setdefault(uid, f"uid {uid}")
    return {name for uid, name in people.items() if _FIRST_PERSON <= uid != _NOBODY}


def _serving(root: str) -> Iterator[list[bytes]]:
    """Yield the command lines of this user's processes that serve this root, which they hold open."""
    for server in servers():
        if b"serve" in server.words and _holds(server.pid, root):
            yield server.words


def _holds(pid: int, path: str) -> bool:
    try:
        return any(os.readlink(entry.path) == path for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:  # it ends, or opens and closes files just now
        return False


def _has(words: list[bytes], flag: str) -> bool:
    return any(word == flag.encode() or word.startswith(f"{flag}=".encode()) for word in words)
