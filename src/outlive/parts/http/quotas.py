"""Limits for each token at the HTTP server: requests a second, calls at a time, seconds for each message."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import anyio.lowlevel
from mcp import MCPError, types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import CallNext, HandlerResult
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlive import limits
from outlive.errors import OutliveError
from outlive.mcp.caller import Request
from outlive.parts.http.connections import ABORT, ADMITTED, call, refused
from outlive.parts.http.tokens import Tokens

# In the scope of a request: the cancel scopes of its calls
_CALLS = "outlive.calls"
MESSAGES = "/messages"  # clients of SSE post here; that protocol puts their session into the URL
_PEERS = 1_000  # addresses with wrong tokens that are remembered


class RateLimit:
    """A token bucket: `rate` is (events a second, events at once)."""

    def __init__(self, rate: tuple[float, float]) -> None:
        self._a_second, self._most = rate
        self._left = self._most
        self._at = time.monotonic()

    def take(self) -> float:
        """Count one event. Return 0 if it is allowed, else the seconds until the next one is."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._a_second)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / self._a_second
        self._left -= 1
        return 0


class WrongTokens:
    """The rate limit of requests without a valid token, for each address that they come from: it makes guessing
    slow."""

    def __init__(self) -> None:
        self._peers: OrderedDict[str, RateLimit] = OrderedDict()

    def take(self, peer: str) -> float:
        """Count a request, as `RateLimit.take` does."""
        limit = self._peers.setdefault(peer, RateLimit(limits.HTTP_REFUSALS))
        self._peers.move_to_end(peer)
        if len(self._peers) > _PEERS:
            self._peers.popitem(last=False)
        return limit.take()


class TokenQuotas:
    """ASGI application behind the token check: it refuses requests without a valid token, and bounds the others."""

    def __init__(self, app: ASGIApp, tokens: Tokens, log: Callable[[str], None]) -> None:
        self._app = app
        self._tokens = tokens
        self._log = log
        self._wrong = WrongTokens()
        self._rates: dict[str, RateLimit] = {}
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope.get("user")
        if not isinstance(user, AuthenticatedUser):
            await self._refuse_unauthenticated(scope)(scope, receive, send)
            return
        # Only the token's own calls count, so that no client can use up the share of another
        token = user.access_token.token
        room_s = self._rates.setdefault(token, RateLimit(limits.HTTP_RATE)).take()
        if room_s:
            await refused(429, "Too many requests.", retry_s=room_s)(scope, receive, send)
        elif self._open[token] >= limits.HTTP_CALLS or self._open.total() >= limits.HTTP_STREAMS:
            await refused(429, "Too many calls at a time: wait for one to end.", retry_s=1)(scope, receive, send)
        else:
            with _counted(self._open, token):
                call(scope, ADMITTED)
                await self._served(token, scope, receive, send)

    def _refuse_unauthenticated(self, scope: Scope) -> Response:
        """Return the answer to a request without a valid token. It tells a person with a new client what to send."""
        peer = scope["client"][0] if scope.get("client") else ""
        room_s = self._wrong.take(peer)
        if room_s:  # without a line: strangers could fill the log
            return refused(429, "Too many requests without a valid token.", retry_s=room_s)
        given = next((value for name, value in scope["headers"] if name == b"authorization"), None)
        expired = self._expired(given)
        why = "no token" if given is None else expired or "not a token of this root"
        self._log(f"refused {peer or 'a client'}: {why}")
        what = "This is not a token of this server" if given is not None else "This server asks for a token"
        if expired:
            what = f"T{expired[1:]}"
        answer = refused(401, f"{what}. Send `Authorization: Bearer TOKEN`; `outlive token add NAME` makes one.")
        # RFC 6750, 3.1: a request without a token is told no error
        answer.headers["WWW-Authenticate"] = (
            'Bearer realm="outlive"' if given is None else 'Bearer error="invalid_token"'
        )
        return answer

    def _expired(self, given: bytes | None) -> str | None:
        """Return the sentence about an expired token in an Authorization header; else None."""
        kind, _, secret = (given or b"").decode("latin-1").partition(" ")
        known = self._tokens.match(secret.strip()) if kind.lower() == "bearer" else None
        return f"the token {known.name} expired at {known.expires_at}" if known is not None and known.expired else None

    async def _served(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as group:
            exchange = _TimedExchange(receive, send, group.cancel_scope)
            group.start_soon(self._until_revoked, token, group.cancel_scope)
            calls: list[anyio.CancelScope] = []
            try:
                await self._app({**scope, _CALLS: calls}, exchange.receive, exchange.send)
            finally:
                for one in calls:  # the SDK goes on with a call of the handshake era whose client is gone
                    one.cancel()
            exchange.over = True
            group.cancel_scope.cancel()
        if exchange.late and not exchange.answered:
            await refused(408, "The request did not arrive in time.")(scope, receive, send)
        elif not exchange.over:
            call(scope, ABORT)  # a close would wait until the client has taken the rest

    async def _until_revoked(self, token: str, scope: anyio.CancelScope) -> None:
        while True:
            await anyio.sleep(limits.HTTP_REVOKED_S)
            try:
                if self._tokens.is_valid(token):
                    continue
            except OutliveError:
                pass  # a new request would be refused as well
            scope.cancel()
            return


class CallsAtOnce:
    """Middleware of the SDK's server that bounds how many requests of one token are worked on.

    `TokenQuotas` cannot see this: over SSE all answers come on one stream, and the call goes on
    after its own request. Any other call ends with its request: its answer could not be sent any
    more.
    """

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        if ctx.request_id is None:  # a notification, which takes no time
            return await call_next(ctx)
        assert ctx.request is not None  # the HTTP request, which has passed the token check
        request: HttpRequest = ctx.request
        token: str = request.user.access_token.token
        if self._running[token] >= limits.HTTP_CALLS:
            raise MCPError(types.INTERNAL_ERROR, "Too many calls at a time: wait for one to end.")
        with _counted(self._running, token), anyio.CancelScope() as until_gone:
            if not request.scope["path"].endswith(MESSAGES):
                request.scope[_CALLS].append(until_gone)
            return await call_next(ctx)
        raise MCPError(types.INTERNAL_ERROR, "The client is gone.")


@contextmanager
def _counted(counts: Counter[str], token: str) -> Iterator[None]:
    """Count one more of a token during the block."""
    counts[token] += 1
    try:
        yield
    finally:
        counts[token] -= 1
        if not counts[token]:
            del counts[token]


class _TimedExchange:
    """One request and its answer, with a bound on the time that each needs to cross the wire.

    `scope` is cancelled when the bound is exceeded. `late`: the request was. `answered`: the answer
    has begun. `over`: the answer is complete.
    """

    def __init__(self, receive: Receive, send: Send, scope: anyio.CancelScope) -> None:
        self._receive = receive
        self._send = send
        self._scope = scope
        self._deadline = time.monotonic() + limits.HTTP_BODY_S
        self._whole = False  # the request has arrived
        self.late = False
        self.answered = False
        self.over = False

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        with anyio.move_on_after(max(0.0, self._deadline - time.monotonic())):
            message = await self._receive()
            self._whole = message["type"] != "http.request" or not message.get("more_body", False)
            return message
        self.late = True
        return await self._end()

    async def send(self, message: Message) -> None:
        self.answered = True
        with anyio.move_on_after(limits.HTTP_SEND_S):
            await self._send(message)
            return
        await self._end()  # the client does not read

    async def _end(self) -> Message:
        self._scope.cancel()
        await anyio.lowlevel.checkpoint()  # the cancellation arrives here
        return {"type": "http.disconnect"}
