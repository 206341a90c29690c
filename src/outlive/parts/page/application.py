"""The page as an ASGI application: its files, how a browser gets in, the API and downloads."""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import html
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import outlive
from outlive import limits
from outlive.core.ids import short_id
from outlive.core.members import text_of
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.mcp.caller import Caller
from outlive.parts.http.allowed_hosts import AllowedHosts
from outlive.parts.http.connections import ADMITTED, call
from outlive.parts.page.api import Api, as_object, status_of, taken
from outlive.parts.page.gate import Gate, unknown
from outlive.parts.page.sealing import MOST_CALLS, NONCE_BYTES
from outlive.parts.page.sessions import Foreign, Session, Sessions, Tab
from outlive.store.output.merged import Output
from outlive.verbs import envelope

_BODY_BYTES = 4 * 1024**2  # the page starts nothing
Login = Callable[[Request, str, bytes, bytes], bytes | Response]  # name of a token, page, sealed token

_KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_PAGE = "page.html"
_TICKET_S = 60.0  # a download has to begin within this
_TICKETS = 100
_PIECE = 1 << 18
_PACKED_BYTES = 8_192  # of an answer, from which on it is packed
_STOPPING_S = 0.5  # between two looks at whether the server ends, while a call waits
_CALLS = 64  # of one session at a time


class _Ticket(Value):
    session: Session
    job_id: str
    stream: str
    until: float


class Page:
    """The page of one server. `caller_of(session)` returns the caller in whose name a session
    acts. `login` lets a browser in that has a token; without it one-time links do. `is_own(request)`
    returns whether a process of this user sent it."""

    def __init__(
        self,
        api: Api,
        sessions: Sessions,
        hosts: AllowedHosts,
        *,
        caller_of: Callable[[Session], Caller],
        is_valid: Callable[[Session], bool] = lambda session: True,
        login: Login | None = None,
        is_own: Callable[[Request], bool] = lambda request: True,
    ) -> None:
        self._api = api
        self._sessions = sessions
        self._caller_of = caller_of
        self._is_valid = is_valid
        self._login = login
        self._is_own = is_own
        self._tickets: dict[str, _Ticket] = {}
        self._open: Counter[str] = Counter()  # calls of a session
        inside = Starlette(
            routes=[
                Route("/api/enter", self._enter, methods=["POST"])
                if login is None
                else Route("/api/login", self._take_token, methods=["POST"]),
                Route("/api/tab", self._new_tab, methods=["POST"]),
                Route("/api/call", self._call, methods=["POST"]),
                Route("/static/{path:path}", _static, methods=["GET"]),
                Route("/download/{ticket}", self._download, methods=["GET"]),
                *(Route(path, self._page, methods=["GET"]) for path in ("/", "/job/{job}", "/timeline")),
            ],
            exception_handlers={_Refused: _refused, OutliveError: _unreadable_tokens},
        )
        inside.router.redirect_slashes = False
        self.app = Gate(inside, hosts)

    async def _page(self, request: Request) -> Response:
        """Return the page, which is the same for everyone: whom it lets in is for its calls."""
        text = _files()[_PAGE][0].decode()
        base = f"{request.scope.get('root_path', '')}/"  # the path below which the page is
        known = {"LOGIN": "link" if self._login is None else "token", "BASE": html.escape(base)}
        for name, value in known.items():
            text = text.replace(f"@{name}@", value)
        return Response(text, media_type=_KINDS["html"])

    # --- letting in ---

    async def _enter(self, request: Request) -> Response:
        """Take a one-time link, of which the page sends the name alone."""
        given = await _object(request, {"link": str, "nonce": str}, "link", "nonce")
        try:
            answer = self._sessions.use_link(given["link"], _nonce(given), lambda: self._is_own(request))
        except Foreign:
            return unknown(
                "this link went to a browser of the user, and a process of another user has tried it",
                "`outlive ui --no-open` prints a link that any browser may use.",
            )
        return unknown("this link was used before, or is older than ten minutes") if answer is None else _bytes(answer)

    async def _take_token(self, request: Request) -> Response:
        assert self._login is not None
        kinds: dict[str, type] = {"token": str, "nonce": str, "sealed": str}
        given = await _object(request, kinds, *kinds)
        try:
            sealed = base64.b64decode(given["sealed"].encode(), validate=True)
        except (binascii.Error, UnicodeError):
            return PlainTextResponse("sealed is base64.", 400)
        answer = self._login(request, given["token"], _nonce(given), sealed)
        return answer if isinstance(answer, Response) else _bytes(answer)

    async def _new_tab(self, request: Request) -> Response:
        given = await _object(request, {"session": str, "nonce": str}, "session", "nonce")
        answer = self._sessions.open_tab(given["session"], _nonce(given), self._is_valid)
        return unknown() if answer is None else _bytes(answer)

    # --- calls ---

    async def _call(self, request: Request) -> Response:
        """Answer a sealed call: the tab and the number are in headers, which no form can send."""
        tab = self._sessions.tab(request.headers.get("x-outlive-tab", ""))
        if tab is None or not self._is_valid(tab.session):
            return unknown()
        name = tab.session.id
        self._open = +self._open  # without those that have none
        if self._open[name] >= _CALLS:
            return PlainTextResponse("Too many calls at a time.", 429, {"retry-after": "1"})
        self._open[name] += 1
        try:
            return await self._opened(request, tab)
        finally:
            self._open[name] -= 1

    async def _opened(self, request: Request, tab: Tab) -> Response:
        digits = request.headers.get("x-outlive-number", "")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 17 else 0
        said = tab.seal.open_question(number, await _body(request)) if 0 < number < MOST_CALLS else None
        if said is None:
            return unknown("this call was not sealed by this page")
        if not tab.numbers.take(number):
            return PlainTextResponse("This call came before.", 409)
        call(request.scope, ADMITTED)
        try:
            asked = taken(as_object(said), {"method": str, "given": dict, "gzip": bool}, "method")
            status, answer = await self._answer(request, tab.session, asked["method"], asked.get("given", {}))
        except OutliveError as error:
            asked, status, answer = {}, status_of(error.code), envelope.failure(error)
        text = envelope.encoded(answer)
        if asked.get("gzip") and len(text) > _PACKED_BYTES:  # before it is sealed: what is sealed does not get smaller
            text = gzip.compress(text, 1)
        return _bytes(tab.seal.answer(number, text), status)

    async def _answer(
        self, request: Request, session: Session, method: str, given: dict[str, object]
    ) -> tuple[int, dict[str, object]]:
        """Return the status and the envelope of a call, which ends when its page is gone. Errors:
        those of `_ticket`, denied."""
        if method == "logout":
            self._sessions.end(session)
            return 200, envelope.answer("ui.logout", {})
        if method == "ticket":
            return 200, self._ticket(session, given)
        caller = self._caller_of(session)
        answers: list[tuple[int, dict[str, object]]] = []
        async with anyio.create_task_group() as group:

            async def gone() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            async def work() -> None:
                answers.append(await self._api.call(method, caller, given))
                group.cancel_scope.cancel()

            async def stopping() -> None:
                while not self._api.is_stopping:
                    await anyio.sleep(_STOPPING_S)
                group.cancel_scope.cancel()

            group.start_soon(gone)
            group.start_soon(work)
            if given.get("wait_ms"):  # the server would wait for it, and cut it in the end
                group.start_soon(stopping)
        if not answers:
            raise _Refused(PlainTextResponse("The server ends.", 503))
        return answers[0]

    # --- downloads ---

    def _ticket(self, session: Session, given: Mapping[str, object]) -> dict[str, object]:
        """Make an address for a download. A browser fetches files without our seal, so the address
        itself is the secret, good once. Errors: invalid_argument, job_not_found, denied."""
        args = taken(given, {"job_id": str, "stream": str}, "job_id")
        with lookup.open_job(self._api.observer(self._caller_of(session)), args["job_id"]) as job:
            job_id = job.job_id
        now = time.monotonic()
        self._tickets = {name: one for name, one in self._tickets.items() if one.until > now}
        while len(self._tickets) >= _TICKETS:
            del self._tickets[next(iter(self._tickets))]
        name = secrets.token_urlsafe(24)
        self._tickets[name] = _Ticket(session, job_id, args.get("stream", "both"), now + _TICKET_S)
        return envelope.answer("ui.ticket", {"job_id": job_id, "ticket": name})

    async def _download(self, request: Request) -> Response:
        ticket = self._tickets.pop(request.path_params["ticket"], None)
        if ticket is None or ticket.until < time.monotonic() or not self._lets_in(ticket.session):
            return PlainTextResponse("This download has expired; ask for it again on the page.", 404)
        call(request.scope, ADMITTED)
        job_id, stream = ticket.job_id, ticket.stream
        only = {"stdout": 0, "stderr": 1}.get(stream)
        try:
            job = lookup.open_known(self._api.observer(self._caller_of(ticket.session)).caller, job_id)
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

    def _lets_in(self, session: Session) -> bool:
        return self._sessions.is_open(session) and self._is_valid(session)


# --- files -------------------------------------------------------------------------------------------


@cache
def _packed(path: str) -> bytes:
    return gzip.compress(_files()[path][0], mtime=0)


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Return the content and the tag of each file of the page, by its path. All are read at once: what strangers ask for
    is no name that the file system is asked for, and nothing that is remembered."""
    top = Path(outlive.DIRECTORY) / "parts/page/static"
    read = {str(file.relative_to(top)): file.read_bytes() for file in top.rglob("*") if file.suffix[1:] in _KINDS}
    return {path: (data, f'"{hashlib.sha256(data).hexdigest()[:32]}"') for path, data in read.items()}


async def _static(request: Request) -> Response:
    path = request.path_params["path"]
    if path == _PAGE or path not in _files():
        return PlainTextResponse("There is nothing here.", 404)
    data, tag = _files()[path]
    # Asked for each time, sent when it has changed
    headers = {"etag": tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        data, headers["content-encoding"] = _packed(path), "gzip"
    return Response(data, media_type=_KINDS[path.rpartition(".")[2]], headers=headers)


# --- what is sent ---------------------------------------------------------------------------------


class _Refused(Exception):
    """A request that is none of ours, and its answer."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


async def _refused(_request: Request, refused: Exception) -> Response:
    assert isinstance(refused, _Refused)
    return refused.answer


async def _unreadable_tokens(_request: Request, _error: Exception) -> Response:
    """Return the answer to a request whose token nobody can judge; `is_valid` and `login` raise nothing else."""
    return PlainTextResponse("This server cannot read its tokens; `outlive token list` says why.", 503)


def _bytes(said: bytes, status: int = 200) -> Response:
    return Response(said, status, media_type="application/octet-stream")


async def _body(request: Request) -> bytes:
    """Return the body of a request. Errors: _Refused."""
    body = b""
    with anyio.move_on_after(limits.HTTP_BODY_S):
        async for piece in request.stream():
            body += piece
            if len(body) > _BODY_BYTES:
                raise _Refused(PlainTextResponse("The request is too large.", 413))
        return body
    raise _Refused(PlainTextResponse("The request did not arrive in time.", 408))


async def _object(request: Request, kinds: dict[str, type], *required: str) -> dict[str, Any]:
    """Return the members of a request in plain JSON. Errors: _Refused."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a form or a plain request of another page may send is none
        raise _Refused(PlainTextResponse("This is asked in JSON (Content-Type: application/json).", 415))
    try:
        return taken(as_object(await _body(request)), kinds, *required)
    except OutliveError as error:
        raise _Refused(Response(envelope.encoded(envelope.failure(error)), 400, media_type=_KINDS["json"])) from error


def _nonce(given: Mapping[str, object]) -> bytes:
    """Return the random number of the page. Errors: _Refused."""
    text = text_of(given, "nonce")
    if len(text) == 2 * NONCE_BYTES and all(char in "0123456789abcdef" for char in text):
        return bytes.fromhex(text)
    raise _Refused(PlainTextResponse(f"nonce is {NONCE_BYTES} bytes in hexadecimal digits.", 400))
