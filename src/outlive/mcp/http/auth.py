"""What a request has to pass before the protocol sees it: where it was addressed to, which page sent it, whose token it has,
and how much of the server it takes.

An exec server over HTTP is remote code execution for whoever gets in, so nothing here can be switched off.
"""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from starlette.middleware.authentication import AuthenticationMiddleware

from outlive import limits
from outlive.errors import OutliveError
from outlive.mcp.http.quotas import TokenQuotas
from outlive.mcp.http.refusal import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from outlive.store.tokens import Tokens

LOCAL = ("localhost", "127.0.0.1", "::1")
MESSAGES = "/messages"  # where clients of SSE post to; their session is in the URL, as that protocol has it


class AllowedHosts:
    """The names under which this server may be addressed: a page of somebody else's that got its own name pointed here
    (DNS rebinding) has another one."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names`: hosts, each with or without a port. Errors: ValueError names the one that is none."""
        self._known = {_split(name) for name in names}

    def allows(self, host: str, local: str | None) -> bool:
        """`host`: what a Host header holds. `local`: the address at which this connection came in."""
        try:
            name, port = _split(host)
        except ValueError:
            return False
        return (
            (name, None) in self._known or (name, port) in self._known or (local is not None and name == _plain(local))
        )

    def allows_origin(self, origin: str, local: str | None) -> bool:
        """Only pages that a host of ours could have served."""
        scheme, mark, host = origin.partition("://")
        return bool(mark) and scheme in ("http", "https") and self.allows(host, local)


def _split(host: str) -> tuple[str, int | None]:
    """Errors: ValueError."""
    found = urlsplit(f"//{host}")
    if not found.hostname or found.netloc != host or "@" in host:
        raise ValueError(f"not a host: {host!r}")
    return _plain(found.hostname), found.port


def _plain(name: str) -> str:
    """One spelling for each address: `::ffff:127.0.0.1` is 127.0.0.1, `LOCALHOST.` is localhost."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower().rstrip(".")
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


class TokenVerifier:
    """The SDK's way to ask whose token it is. It binds sessions to the answer: nobody goes on with another one's."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        found = self._tokens.match(token)
        if found is None:
            return None
        # The hash instead of the secret, which nothing behind this point needs to know
        return AccessToken(token=found.hash, client_id=found.name, subject=found.hash, scopes=[found.scope])


class RequestChecks:
    """The outermost ASGI application. `log` gets a line for what has to be mended, with `verbose` for each answer too;
    none holds a token or a query string."""

    def __init__(
        self, app: ASGIApp, tokens: Tokens, hosts: AllowedHosts, *, log: Callable[[str], None], verbose: bool = False
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._log = log
        self._verbose = verbose
        self._trouble = ""  # that was logged, and goes on
        verifier = BearerAuthBackend(TokenVerifier(tokens))
        self._inside = AuthenticationMiddleware(TokenQuotas(app, tokens, log), backend=verifier)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no WebSocket is served here
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
                # No event is kept to be replayed (the job is): the stream that is asked for begins now. The SDK would answer
                # nothing at all, which is a 500
                headers = [(name, value) for name, value in scope["headers"] if name != b"last-event-id"]
                scope = {**scope, "headers": headers}
                await self._inside(scope, receive, noted)
                self._trouble = ""
        except OutliveError as error:  # the file of the tokens cannot be read: nobody gets in
            if error.message != self._trouble:
                self._log(f"{error.message} {error.hint or ''}")
            self._trouble = error.message
            if not status:
                await refused(503, "This server cannot read its tokens; its log says why.")(scope, receive, noted)
        finally:
            if self._verbose:
                who = scope["user"].username if isinstance(scope.get("user"), AuthenticatedUser) else "-"
                took_ms = (time.monotonic() - began) * 1000
                self._log(f"{scope['method']} {scope['path'][:100]!r} {status} {who} {took_ms:.1f} ms")

    def _refusal(self, scope: Scope) -> Response | None:
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        if sum(len(name) + len(value) for name, value in headers) > limits.HTTP_HEADER_BYTES:
            return refused(431, "The headers are too large.")  # they came in one piece, or h11 had refused them
        hosts = [value for name, value in headers if name == b"host"]
        local = scope["server"][0] if scope.get("server") and scope["server"][1] is not None else None
        if len(hosts) != 1 or not self._hosts.allows(hosts[0], local):
            return refused(421, "This server is not known under this host name (outlive serve --allow-host NAME).")
        for name, value in headers:
            if name == b"origin" and not self._hosts.allows_origin(value, local):
                return refused(403, "Pages of this origin may not use this server.")
        if scope["query_string"] and not (scope["path"].endswith(MESSAGES) and _is_session(scope["query_string"])):
            # URLs end up in logs, histories and proxies
            return refused(400, "Nothing is taken from a query string. Tokens go into the Authorization header only.")
        return None


def _is_session(query: bytes) -> bool:
    name, _, value = query.partition(b"=")
    return name == b"session_id" and value.isalnum()
