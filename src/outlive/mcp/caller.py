"""The caller of a request: the name under which its jobs, read positions and seen notices are kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from outlive.core.ids import sha256
from outlive.core.labels import SESSION_VARIABLE
from outlive.core.record import Value
from outlive.core.rights import Rights

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.server.context import ServerRequestContext


UNNAMED_CLIENT = "mcp"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"  # in the _meta of each request, from protocol 2026-07-28 on
# Clients put these into the environment of the servers that they start; the first one that is set
# counts
SESSION_VARIABLES = (SESSION_VARIABLE, "CLAUDE_PROJECT_DIR", "CODEX_SESSION_ID")
_PROJECT = "CLAUDE_PROJECT_DIR"  # several sessions may work in it at once
_SESSION_MEMBERS = ("sessionId", "threadId")  # of the _meta of each call, which Codex sends
# As in a shell of Codex: with it `codex queue` reaches the session
_THREAD_VARIABLE = "CODEX_THREAD_ID"
_THREAD = re.compile(r"[0-9A-Za-z-]{1,64}")
# In the `state` of the scope of a request over HTTP: what says when its answer has been written
DELIVERY = "delivery"
_NAME_CHARS = 40
_MARK_CHARS = 6


class Caller(Value):
    """The caller of a request.

    `owner` is shown with its jobs, and lists are filtered by it. `client` is the key of its read
    positions. `scope` is recorded with its jobs; for a `walled` caller the jobs of other scopes do
    not exist. Notices go to the connection, or to the `session` if the client names one; what is
    left of it goes to the next connection of the same `program`. `rights` are those of its token. A
    `person` acts in a window of the client: no read position moves, and no notice is told. One `at_terminal` is the user
    of this machine, who types into every job.
    """

    owner: str
    client: str
    scope: str
    walled: bool = False
    program: str = ""
    session: str | None = None
    rights: Rights = Rights()
    person: bool = False
    thread: str | None = None  # of Codex
    at_terminal: bool = False

    def named(self, env: dict[str, str]) -> dict[str, str]:
        """Return the environment of a job of this caller."""
        return env if self.thread is None else {**env, _THREAD_VARIABLE: self.thread}

    @property
    def wall(self) -> str | None:
        """The only scope whose jobs exist for this caller, None if all jobs do."""
        return self.scope if self.walled else None


# As the SDK gives it to a handler. Its lifespan is the task group of what goes on between calls
Request: TypeAlias = "ServerRequestContext[TaskGroup]"
CallerOf: TypeAlias = "Callable[[Request], Caller]"


def client_of(ctx: Request) -> str | None:
    """Return the client's name from the handshake, or from this request's own metadata."""
    if ctx.session.client_params is not None:
        return ctx.session.client_params.client_info.name
    # The SDK keeps neither name nor capabilities of a client that sends its name alone
    info: object = (ctx.meta or {}).get(CLIENT_INFO)
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


def on_stdio(
    client_name: str | None, env: Mapping[str, str], *, isolate: bool, meta: Mapping[str, object] | None = None
) -> Caller:
    """Return the client at the other end of stdin as a caller, under the name that it gives itself.

    A name that a client may choose contains no colon, so no scope of a stdio client is that of a
    token. `meta` is the _meta of the request.
    """
    owner = owner_of(client_name, env)
    named = next((env[key] for key in SESSION_VARIABLES if key != _PROJECT and env.get(key)), None)
    session = session_of(meta) or named
    thread = (meta or {}).get("threadId")
    return Caller(
        owner,
        owner,
        f"stdio:{owner}",
        walled=isolate,
        program=owner.split("/")[0],
        session=session,
        thread=thread if isinstance(thread, str) and _THREAD.fullmatch(thread) else None,
    )


def session_of(meta: Mapping[str, object] | None) -> str | None:
    values = ((meta or {}).get(name) for name in _SESSION_MEMBERS)
    return next((value for value in values if isinstance(value, str) and value), None)


def owner_of(client_name: str | None, env: Mapping[str, str]) -> str:
    """Return the client's name, and its session or project if the environment has one: `claude-code/3f2a…`."""
    name = _own(client_name) if client_name else UNNAMED_CLIENT
    session = next((env[key] for key in SESSION_VARIABLES if env.get(key)), None)
    return f"{name}/{_label(session)}" if session else name


def _label(value: str) -> str:
    if "/" not in value:
        return _own(value)
    path = os.path.normpath(value)
    # Two checkouts of one project have the same last component; the hash distinguishes them
    return f"{_plain(os.path.basename(path)) or 'root'}-{_mark(path)}"


def _own(name: str) -> str:
    """Return the name in plain characters. One that loses some gets a hash of what it was: two names never become the
    same."""
    plain = _plain(name)
    if plain == name:
        return plain
    mark = _mark(name)
    return f"{plain[: _NAME_CHARS - len(mark) - 1] or UNNAMED_CLIENT}-{mark}"


def _mark(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass"))[:_MARK_CHARS]


def _plain(text: str) -> str:
    """Return the text in characters that can be shown, typed into filters and used in file names."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:_NAME_CHARS]
