"""The page as an ASGI application: the files, the one-time link, the API and downloads."""

from __future__ import annotations

import html
import secrets
import time
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import anyio
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from outlive import limits
from outlive.core.ids import short_id
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.store.output.merged import Output
from outlive.verbs import envelope
from outlive.web import gate
from outlive.web.api import as_object, taken
from outlive.web.gate import COOKIE, SESSION, Gate
from outlive.web.sessions import SESSION_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from starlette.requests import Request

    from outlive.mcp.caller import Caller
    from outlive.mcp.http.allowed_hosts import AllowedHosts
    from outlive.web.api import Api
    from outlive.web.sessions import Opened, Session, Sessions

_KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
}
_TICKET_S = 60.0  # a download has to begin within this
_TICKETS = 100
_PIECE = 1 << 18
_CALLS = 64  # of one session at a time


class Page:
    """The page of one server. `caller_of(session)` returns the caller in whose name a session
    acts. `login(request, token)` lets a browser in that has a token; without it one-time links do.
    `secure`: it is served over HTTPS."""

    def __init__(
        self,
        api: Api,
        sessions: Sessions,
        hosts: AllowedHosts,
        *,
        caller_of: Callable[[Session], Caller],
        is_valid: Callable[[Session], bool],
        login: Callable[[Request, str], Opened | Response] | None = None,
        secure: bool = False,
    ) -> None:
        self._api = api
        self._sessions = sessions
        self._caller_of = caller_of
        self._secure = secure
        self._login = login
        self._tickets: dict[str, tuple[str, str, str, float]] = {}  # → session, job, stream, until
        self._open: dict[str, int] = {}
        inside = Starlette(
            routes=[
                Route("/open/{link}", self._enter, methods=["GET"])
                if login is None
                else Route(gate.LOGIN, self._take_token, methods=["POST"]),
                Route("/static/{path:path}", _static, methods=["GET"]),
                Route("/api/logout", self._leave, methods=["POST"]),
                Route("/api/ticket", self._ticket, methods=["POST"]),
                Route("/api/{name}", self._call, methods=["POST"]),
                Route("/download/{ticket}", self._download, methods=["GET"]),
                *(Route(path, self._shell, methods=["GET"]) for path in ("/", "/job/{job}", "/timeline")),
            ],
        )
        inside.router.redirect_slashes = False
        self.app = Gate(inside, sessions, hosts, is_valid=is_valid)

    # --- letting in ---

    async def _enter(self, request: Request) -> Response:
        """Take a one-time link. The answer is the page itself: a redirect would lose the cookie
        where another page links here (SameSite=Strict)."""
        if request.method == "HEAD":  # of a program that looks where a link leads
            return Response()
        opened = self._sessions.use_link(request.path_params["link"])
        if opened is None:
            return RedirectResponse("../", 303) if SESSION in request.scope else self._page(request, None, 403)
        return self._let_in(request, opened, self._page(request, opened.key))

    async def _take_token(self, request: Request) -> Response:
        assert self._login is not None
        body = await _body(request)
        if isinstance(body, Response):
            return body
        try:
            opened = self._login(request, taken(as_object(body), {"token": str}, "token")["token"])
        except OutliveError as error:
            return _json(400, envelope.failure(error))
        if isinstance(opened, Response):
            return opened
        return self._let_in(request, opened, _json(200, envelope.answer("ui.login", {"key": opened.key})))

    def _let_in(self, request: Request, opened: Opened, answer: Response) -> Response:
        """Return the answer with the cookie of a new session."""
        answer.set_cookie(
            COOKIE,
            opened.cookie,
            max_age=SESSION_S,
            path=_base(request),
            httponly=True,
            samesite="strict",
            secure=self._secure,
        )
        return answer

    async def _shell(self, request: Request) -> Response:
        return self._page(request, None, 200 if SESSION in request.scope else 401)

    async def _leave(self, request: Request) -> Response:
        self._sessions.end(request.scope[SESSION])
        answer = _json(200, envelope.answer("ui.logout", {}))
        answer.delete_cookie(COOKIE, path=_base(request), httponly=True, samesite="strict")
        return answer

    def _page(self, request: Request, key: str | None, status: int = 200) -> Response:
        """Return the page, with the key of the session if it has just been opened."""
        found = _file("page.html")
        assert found is not None
        text = found[0].decode()
        login = "link" if self._login is None else "token"
        known = {"KEY": key or "", "STATUS": str(status), "LOGIN": login, "BASE": html.escape(_base(request))}
        for name, value in known.items():
            text = text.replace(f"@{name}@", value)
        return Response(text, status, media_type=_KINDS["html"])

    # --- calls ---

    async def _call(self, request: Request) -> Response:
        session: Session = request.scope[SESSION]
        if self._open.get(session.id, 0) >= _CALLS:
            return PlainTextResponse("Too many calls at a time.", 429, {"retry-after": "1"})
        self._open[session.id] = self._open.get(session.id, 0) + 1
        try:
            body = await _body(request)
            if isinstance(body, Response):
                return body
            try:
                caller = self._caller_of(session)
            except OutliveError as error:
                return _json(403, envelope.failure(error))
            return await self._answer(request, caller, body)
        finally:
            self._open[session.id] -= 1
            if not self._open[session.id]:
                del self._open[session.id]

    async def _answer(self, request: Request, caller: Caller, body: bytes) -> Response:
        """Return the answer to a call, which ends when its page is gone."""
        found: list[Response] = []
        async with anyio.create_task_group() as group:

            async def gone() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            async def work() -> None:
                found.append(_json(*await self._api.call(request.path_params["name"], caller, body)))
                group.cancel_scope.cancel()

            group.start_soon(gone)
            group.start_soon(work)
        return found[0] if found else Response(status_code=499)

    # --- downloads ---

    async def _ticket(self, request: Request) -> Response:
        """Make an address for a download. A browser fetches files without our header, so the
        address itself is the second secret, good once."""
        body = await _body(request)
        if isinstance(body, Response):
            return body
        session: Session = request.scope[SESSION]
        try:
            given = taken(as_object(body), {"job_id": str, "stream": str}, "job_id")
            stream = given.get("stream", "both")
            with lookup.open_job(self._api.observer(self._caller_of(session)), given["job_id"]) as job:
                job_id = job.job_id
        except OutliveError as error:
            return _json(404 if error.code == "job_not_found" else 400, envelope.failure(error))
        now = time.monotonic()
        self._tickets = {name: one for name, one in self._tickets.items() if one[3] > now}
        while len(self._tickets) >= _TICKETS:
            del self._tickets[next(iter(self._tickets))]
        name = secrets.token_urlsafe(24)
        self._tickets[name] = (session.id, job_id, stream, now + _TICKET_S)
        return _json(200, envelope.answer("ui.ticket", {"job_id": job_id, "ticket": name}))

    async def _download(self, request: Request) -> Response:
        session: Session = request.scope[SESSION]
        owner, job_id, stream, until = self._tickets.pop(request.path_params["ticket"], ("", "", "", 0.0))
        if owner != session.id or until < time.monotonic():
            return PlainTextResponse("This download has expired; ask for it again on the page.", 404)
        only = {"stdout": 0, "stderr": 1}.get(stream)
        try:
            job = lookup.open_known(self._api.observer(self._caller_of(session)), job_id)
        except OutliveError as error:  # removed, or the token was revoked
            return PlainTextResponse(error.message, 404)

        async def pieces() -> AsyncIterator[bytes]:
            try:
                with Output(job) as output:
                    at = 0
                    while True:
                        begin, data = await anyio.to_thread.run_sync(output.take, at, _PIECE, only)
                        if not data:
                            return
                        yield data
                        at = begin + len(data)
            finally:
                job.close()

        name = f"outlive-{short_id(job_id)}{'' if only is None else '-' + stream}.log"
        return StreamingResponse(
            pieces(),
            media_type="application/octet-stream",  # no browser shows it, whatever is in it
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )


# --- files -------------------------------------------------------------------------------------------


@cache
def _file(path: str) -> tuple[bytes, str] | None:
    """Return the content of a file of the page and its tag; None if there is none."""
    import hashlib

    names = path.split("/")
    if any(name in ("", ".", "..") or "\\" in name for name in names) or names[-1].rpartition(".")[2] not in _KINDS:
        return None
    found = resources.files("outlive.web").joinpath("static", *names)
    if not found.is_file():
        return None
    data = found.read_bytes()
    return data, f'"{hashlib.sha256(data).hexdigest()[:32]}"'


async def _static(request: Request) -> Response:
    path = request.path_params["path"]
    found = _file(path) if len(path) < 200 and path != "page.html" else None
    if found is None:
        return PlainTextResponse("There is nothing here.", 404)
    data, tag = found
    headers = {"etag": tag, "cache-control": "no-cache"}  # asked for each time, sent when it has changed
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=_KINDS[path.rpartition(".")[2]], headers=headers)


def _base(request: Request) -> str:
    """Return the path below which the page is."""
    return f"{request.scope.get('root_path', '')}/"


def _json(status: int, found: dict[str, Any]) -> Response:
    return Response(envelope.encoded(found), status, media_type="application/json")


async def _body(request: Request) -> bytes | Response:
    """Return the body of a request, or the answer to a request that is no call of ours."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a form or a plain request of another page may send is none
        return PlainTextResponse("A call is JSON (Content-Type: application/json).", 415)
    found = b""
    with anyio.move_on_after(limits.HTTP_BODY_S):
        async for piece in request.stream():
            found += piece
            if len(found) > limits.HTTP_BODY_BYTES:
                return PlainTextResponse("The request is too large.", 413)
        return found
    return PlainTextResponse("The request did not arrive in time.", 408)
