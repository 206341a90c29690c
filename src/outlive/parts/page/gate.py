"""The checks that every request of the page passes first, and the headers of every answer.

They keep other pages of the browser away. What lets a call in is its seal (sealing.py): there is no
cookie, so a request that another page made carries nothing. Nothing here can be switched off.
"""

from __future__ import annotations

from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlive.errors import OutliveError
from outlive.parts.http.allowed_hosts import AllowedHosts, fault_of
from outlive.verbs import envelope

_METHODS = frozenset({"GET", "HEAD", "POST"})
_FETCHED_FROM = frozenset({b"same-origin", b"none"})  # values of Sec-Fetch-Site that a page of ours may have

# The terminal writes its colours into a style element. Trusted types: no script can put markup into
# the page, not even by mistake
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
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
    """The outermost ASGI application of the page."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [(name, value) for name, value in message.get("headers", ()) if name != b"server"]
                cached = any(name == b"cache-control" for name, _ in given)
                message = {
                    **message,
                    "headers": [*given, *_HEADERS, *([] if cached else [(b"cache-control", b"no-store")])],
                }
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that no browser of the user's sends for a page of ours."""
        fault = fault_of(scope, self._hosts)
        if fault is not None:
            return PlainTextResponse(fault[1], fault[0])
        if scope["method"] not in _METHODS:
            return PlainTextResponse("GET and POST are served here.", 405, {"allow": "GET, POST"})
        headers = dict(scope["headers"])
        changing = scope["method"] == "POST"
        for name, value in scope["headers"]:
            if name == b"service-worker":  # none of our files is one: it would outlive the page
                return PlainTextResponse("There are no service workers here.", 403)
            # A page on another port of this host has another origin, and is as foreign as any
            if name == b"origin" and value.partition(b"://")[2] != headers[b"host"]:
                return PlainTextResponse("Pages of this origin may not use this server.", 403)
            if name == b"sec-fetch-site" and changing and value not in _FETCHED_FROM:
                return PlainTextResponse("Other pages may not use this server.", 403)
        return None


def unknown(
    message: str = "this browser has not been let in",
    hint: str = "Run `outlive ui`: it opens the page with a new one-time link.",
) -> Response:
    """Return the answer to a request that nothing lets in."""
    return JSONResponse(envelope.failure(OutliveError("denied", message, hint=hint)), 401)
