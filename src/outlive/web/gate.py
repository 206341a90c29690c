"""The checks that every request of the page passes first, and the headers of every answer.

A request that gets past them can type into the jobs of the user, so nothing here can be switched off.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, PlainTextResponse

from outlive import limits
from outlive.mcp.http.connections import ADMITTED, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from outlive.mcp.http.allowed_hosts import AllowedHosts
    from outlive.web.sessions import Session, Sessions

COOKIE, KEY = "outlive_ui", "x-outlive-key"
SESSION = "outlive.session"  # in the scope of a request that was let in
API, DOWNLOAD = "/api/", "/download/"
LOGIN = "/api/login"  # takes a token instead of the cookie and the key
_METHODS = frozenset({"GET", "HEAD", "POST"})
_FETCHED_FROM = frozenset({b"same-origin", b"none"})  # values of Sec-Fetch-Site that a page of ours may have

# The terminal writes its colours into a style element. Trusted types: no script can put markup into
# the page, not even by mistake
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    }.items()
)


class Gate:
    """The outermost ASGI application of the page.

    A request to the API needs the session's cookie and its key; a download needs the cookie, and
    its address is a ticket. The rest is the same empty page for everyone.
    """

    def __init__(
        self,
        app: ASGIApp,
        sessions: Sessions,
        hosts: AllowedHosts,
        *,
        is_valid: Callable[[Session], bool],
    ) -> None:
        """`is_valid` returns whether a session is one of this server's, and still counts."""
        self._app = app
        self._sessions = sessions
        self._hosts = hosts
        self._is_valid = is_valid

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # WebSockets are not served
        answer = self._refusal(scope) or self._stranger(scope)
        if answer is None and SESSION in scope:
            tell(scope, ADMITTED)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [(name, value) for name, value in message.get("headers", ()) if name != b"server"]
                cached = any(name == b"cache-control" for name, _ in given)
                message = {
                    **message,
                    "headers": [*given, *_HEADERS, *([] if cached else [(b"cache-control", b"no-store")])],
                }
            await send(message)

        await (answer or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that no browser of the user's sends for a page of ours."""
        headers = scope["headers"]
        if sum(len(name) + len(value) for name, value in headers) > limits.HTTP_HEADER_BYTES:
            return PlainTextResponse("The headers are too large.", 431)
        if scope["method"] not in _METHODS:
            return PlainTextResponse("GET and POST are served here.", 405, {"allow": "GET, POST"})
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        local = scope["server"][0] if scope.get("server") and scope["server"][1] is not None else None
        if len(hosts) != 1 or not self._hosts.allows(hosts[0], local):
            return PlainTextResponse("This server is not known under this host name.", 421)
        changing = scope["method"] == "POST"
        for name, value in headers:
            # A page on another port of this host has another origin, and is as foreign as any
            if name == b"origin" and value.decode("latin-1").partition("://")[2] != hosts[0]:
                return PlainTextResponse("Pages of this origin may not use this server.", 403)
            if name == b"sec-fetch-site" and changing and value not in _FETCHED_FROM:
                return PlainTextResponse("Other pages may not use this server.", 403)
        return None

    def _stranger(self, scope: Scope) -> Response | None:
        """Note the session of a request in its scope. Return an answer if it needs one and has
        none."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        headers = dict(scope["headers"])
        cookie = cookie_of(headers.get(b"cookie", b""))
        key = headers.get(KEY.encode(), b"").decode("latin-1") if path.startswith(API) and path != LOGIN else None
        found = self._sessions.match(cookie, key) if cookie else None
        if found is not None and self._is_valid(found):
            scope[SESSION] = found
        elif path.startswith((API, DOWNLOAD)) and path != LOGIN:
            return unknown()
        return None


def cookie_of(header: bytes) -> str | None:
    """Return our cookie in a Cookie header, None if it is not there."""
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def unknown(
    message: str = "this browser has not been let in",
    hint: str = "Run `outlive ui`: it opens the page with a new one-time link.",
) -> Response:
    """Return the answer to a request without a session."""
    error = {"code": "denied", "message": message, "hint": hint, "retryable": False}
    return JSONResponse({"schema_version": limits.SCHEMA_VERSION, "ok": False, "type": "error", "error": error}, 401)
