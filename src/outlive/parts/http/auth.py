"""Checks of an HTTP request before the protocol sees it: Host, Origin, query string and token.

An exec server over HTTP is remote code execution for every client that it admits, so nothing here
can be switched off.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlive.errors import OutliveError
from outlive.parts.http.allowed_hosts import AllowedHosts, fault_of, local_address
from outlive.parts.http.connections import refused
from outlive.parts.http.quotas import MESSAGES, TokenQuotas
from outlive.parts.http.tokens import Tokens

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_MISDIRECTED = 421


class Admission(AccessToken):
    """What the SDK knows of a token, and its rights."""

    rights: object


class TokenVerifier:
    """Tells the SDK whose token a request carries. The SDK binds sessions to that: no token can continue another's
    session."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        known = self._tokens.match(token)
        if known is None or known.expired:
            return None
        # The hash stands in for the secret, which nothing after this point needs
        return Admission(
            token=known.hash, client_id=known.name, subject=known.hash, scopes=[known.scope], rights=known.rights
        )


class RequestChecks:
    """The outermost ASGI application. `log` gets a line for each fault that has to be mended and, with `verbose`, for
    each answer. No line contains a token or a query string."""

    def __init__(
        self, app: ASGIApp, tokens: Tokens, hosts: AllowedHosts, *, log: Callable[[str], None], verbose: bool = False
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._log = log
        self._verbose = verbose
        self._trouble = ""  # the fault that was logged last and is not mended yet
        verifier = BearerAuthBackend(TokenVerifier(tokens))
        self._inside = AuthenticationMiddleware(TokenQuotas(app, tokens, log), backend=verifier)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        refusal = self._refusal(scope)
        try:
            if refusal is not None:
                await refusal(scope, receive, noted)
            else:
                # No event is kept for a replay, since the job itself is kept: the stream begins
                # now. The SDK would send no answer at all, which becomes a 500
                headers = [(name, value) for name, value in scope["headers"] if name != b"last-event-id"]
                scope = {**scope, "headers": headers}
                await self._inside(scope, receive, noted)
                self._trouble = ""
        except OutliveError as error:  # the token file cannot be read: every request is refused
            if error.message != self._trouble:
                self._log(f"{error.message} {error.hint or ''}")
            self._trouble = error.message
            if not status:
                await refused(503, "This server cannot read its tokens; its log says why.")(scope, receive, noted)
        finally:
            if self._verbose:
                user = scope["user"].username if isinstance(scope.get("user"), AuthenticatedUser) else "-"
                took_ms = (time.monotonic() - began) * 1000
                method = scope["method"] if scope["method"] in _METHODS else repr(scope["method"][:20])
                self._log(f"{method} {scope['path'][:100]!r} {status} {user} {took_ms:.1f} ms")

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that must not pass, None for one that may."""
        fault = fault_of(scope, self._hosts)
        if fault is not None:
            status, sentence = fault
            return refused(
                status, sentence if status != _MISDIRECTED else f"{sentence[:-1]} (outlive serve --allow-host NAME)."
            )
        for name, value in scope["headers"]:
            if name == b"origin" and not self._hosts.allows_origin(value.decode("latin-1"), local_address(scope)):
                return refused(403, "Pages of this origin may not use this server.")
        if scope["query_string"] and not (scope["path"].endswith(MESSAGES) and _is_session(scope["query_string"])):
            # URLs end up in logs, histories and proxies
            return refused(400, "Nothing is taken from a query string. Tokens go into the Authorization header only.")
        return None


def _is_session(query: bytes) -> bool:
    name, _, value = query.partition(b"=")
    return name == b"session_id" and value.isalnum()
