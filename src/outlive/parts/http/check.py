"""The check of `outlive doctor` about `serve`: whether another user of this machine could take the place of a server."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator

from outlive.core.real_path import real_path
from outlive.core.units import counted
from outlive.parts.finding import CheckContext, Finding, ok, unopened, warn
from outlive.parts.http.tokens import Tokens
from outlive.parts.our_processes import servers, users

_FIRST_PERSON, _NOBODY = 1000, 65_534  # uids from the first on belong to persons (login.defs(5), UID_MIN)
_NO_SHELLS = ("nologin", "false", "sync")
_PROVEN = ("--socket", "--certfile")
_MOST_NAMED = 3


def serving(context: CheckContext) -> Finding:
    """Check who else could listen at the port of a server that is down: clients send it their
    tokens."""
    if context.store is None:
        return unopened(context)
    tokens = len(Tokens(context.store).all())
    others = sorted(_others())
    proven = [any(_has(words, flag) for flag in _PROVEN) for words in _serving(real_path(context.store.path))]
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
    for uid in {*users().values()} - {me}:
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
