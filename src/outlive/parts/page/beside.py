"""The page beside MCP: at /ui, for browsers that have a token."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from outlive.errors import OutliveError
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from outlive.parts.http.allowed_hosts import AllowedHosts
from outlive.parts.http.quotas import WrongTokens
from outlive.parts.http.tokens import EVERYTHING, Token, Tokens
from outlive.parts.page import sealing, sessions
from outlive.parts.page.api import Api
from outlive.parts.page.application import Page
from outlive.parts.page.gate import unknown
from outlive.parts.page.sessions import Session, Sessions

PATH = "/ui"


class Beside:
    """ASGI application: the page at PATH, the one for MCP elsewhere."""

    def __init__(self, mcp: ASGIApp, calls: Calls, tokens: Tokens, hosts: AllowedHosts) -> None:
        self._mcp = mcp
        self._calls = calls
        self._tokens = tokens
        self._hosts = hosts
        self._page: Page | None = None
        self._wrong = WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root_path = scope.get("root_path", "")
        path = scope.get("path", "").removeprefix(root_path)
        # Without the tool `process` there is nothing that the page could ask
        if scope["type"] != "http" or not self._calls.tools.process or not f"{path}/".startswith(f"{PATH}/"):
            await self._mcp(scope, receive, send)
            return
        if path == PATH:
            await RedirectResponse(f"{root_path}{PATH}/", 303)(scope, receive, send)
            return
        if self._page is None:
            self._page = self._made()
        await self._page.app({**scope, "root_path": root_path + PATH}, receive, send)

    def _made(self) -> Page:
        self._sessions = Sessions()
        return Page(
            Api(self._calls),
            self._sessions,
            self._hosts,
            caller_of=self._caller_of,
            is_valid=lambda session: self._token_of(session) is not None,
            login=self._login,
        )

    def _login(self, request: Request, name: str, page: bytes, sealed: bytes) -> bytes | Response:
        """Open a session for a token, or return a refusal. The page names the token by what its
        hash is called, and seals the token itself with the hash: a program that took this server's
        place learns neither."""
        for one in self._tokens.all():
            if not one.expired and sealing.id_of(bytes.fromhex(one.hash)) == name:
                if sessions.token_in(sealed, one.hash, page):
                    return self._sessions.use_token(one.hash, page)
        peer = request.client.host if request.client else ""
        wait_s = self._wrong.take(peer)
        if wait_s:
            return PlainTextResponse("Too many wrong tokens.", 429, {"retry-after": str(max(1, round(wait_s)))})
        return unknown("this is not a token of this server", "`outlive token add NAME` makes one.")

    def _token_of(self, session: Session) -> Token | None:
        """Return the token that a session came with, None if it was revoked or has expired."""
        return next((one for one in self._tokens.all() if one.hash == session.token and not one.expired), None)

    def _caller_of(self, session: Session) -> Caller:
        token = self._token_of(session)
        if token is None:  # revoked since the check a moment ago
            raise OutliveError("denied", "the token was revoked")
        # Read positions and notices are those of the token's own client
        client = f"ui:{token.name}"
        walled = token.scope != EVERYTHING
        return Caller(token.name, client, f"token:{token.scope}", walled=walled, program=client, rights=token.rights)
