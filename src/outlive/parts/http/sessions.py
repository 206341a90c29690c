"""Sessions of the handshake era: most clients never end theirs, so the server ends the session that is missed least."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from http import HTTPStatus

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlive import limits
from outlive.parts.http.connections import refused

_SESSION, _VERSION = MCP_SESSION_ID_HEADER.encode(), MCP_PROTOCOL_VERSION_HEADER.encode()
_OLDER = {version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS}


class _Session:
    """An open session. `opened_by`: of the request that opened it, without headers and connection."""

    def __init__(self, opened_by: Scope) -> None:
        self.opened_by = opened_by
        self.busy = 1  # requests that are being answered now
        self.used_at = time.monotonic()

    @property
    def token(self) -> str:
        user: AuthenticatedUser = self.opened_by["user"]
        return user.access_token.token


class Sessions:
    """ASGI application right around the one of the SDK that keeps the sessions. The SDK does not say which there are, so
    each is noted here from the answer that opens it until an answer says that it is over, and no request may name two.

    A new session is never refused because all are taken. Instead the token that has most sessions
    loses the one that it has not used for longest; its client opens a new one when it comes back.
    """

    def __init__(self, app: ASGIApp, ended: Callable[[str], None] = lambda session: None) -> None:
        self._app = app
        self._ended = ended
        self._open: OrderedDict[str, _Session] = OrderedDict()  # the least recently used first
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = [name for name, _ in scope["headers"]]
        headers = dict(scope["headers"])
        twice = next((name for name in (_SESSION, _VERSION) if names.count(name) > 1), None)
        if twice is not None:  # the SDK would take the first one
            await refused(400, f"The header {twice.decode()} stands there twice.")(scope, receive, send)
        elif _SESSION in headers:
            await self._used(headers[_SESSION].decode("latin-1"), scope, receive, send)
        elif scope["method"] == "POST" and headers.get(_VERSION) in {None, *_OLDER}:  # it may open one
            await self._opened(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _used(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._open.get(session_id)
        if session is None or session.token != scope["user"].access_token.token:
            await self._app(scope, receive, send)
            return
        session.busy += 1
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._left(session_id, session)
            if status == HTTPStatus.NOT_FOUND or (scope["method"] == "DELETE" and status == HTTPStatus.OK):
                self._forget(session_id)

    async def _opened(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that may open a session, and note the session if the answer names one."""
        made: tuple[str, _Session] | None = None
        opened_by = {**scope, "headers": [], "state": {}}
        self._opening += 1

        async def noted(message: Message) -> None:
            nonlocal made
            if message["type"] == "http.response.start" and message["status"] < 400 and made is None:
                session_id = dict(message.get("headers", ())).get(_SESSION)
                if session_id is not None:
                    made = session_id.decode("latin-1"), _Session(opened_by)
                    self._open[made[0]] = made[1]
                    self._opening -= 1
            await send(message)

        try:
            await self._make_room()
            await self._app(scope, receive, noted)
        finally:
            if made is None:
                self._opening -= 1
            else:
                self._left(*made)

    def _left(self, session_id: str, session: _Session) -> None:
        session.busy -= 1
        session.used_at = time.monotonic()
        if session_id in self._open:
            self._open.move_to_end(session_id)

    async def _make_room(self) -> None:
        ended = time.monotonic() - limits.HTTP_SESSION_IDLE_S
        for session_id, session in list(self._open.items()):
            if not session.busy and session.used_at < ended:
                await self._end(session_id)
        while len(self._open) + self._opening > limits.HTTP_SESSIONS:
            missed = self._least_missed()
            if missed is None:
                return  # all are busy: the SDK refuses the new one
            await self._end(missed)

    def _forget(self, session_id: str) -> None:
        if self._open.pop(session_id, None) is not None:
            self._ended(session_id)

    def _least_missed(self) -> str | None:
        taken = Counter(session.token for session in self._open.values())
        idle = [session_id for session_id, session in self._open.items() if not session.busy]
        return max(idle, key=lambda one: taken[self._open[one].token], default=None)

    async def _end(self, session_id: str) -> None:
        """End a session with the DELETE that its client would send."""
        session = self._open.get(session_id)
        self._forget(session_id)
        if session is None:
            return

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignored(_message: Message) -> None:
            pass

        headers = [(b"host", b"localhost"), (_SESSION, session_id.encode("latin-1"))]
        with anyio.CancelScope(shield=True):  # else it would be open and not noted
            await self._app({**session.opened_by, "method": "DELETE", "headers": headers}, nothing, ignored)
