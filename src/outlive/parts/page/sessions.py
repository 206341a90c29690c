"""Who may use the page: one-time links, the sessions that they open, and the tabs of a session.

All of it is in the memory of one server, and ends with it: after a restart a page needs a new link.
A link is used once, because it is seen: in the history of a browser, in a terminal, and for a
moment in the list of processes. It opens a session with a secret of its own, which the page keeps.
Each tab gets a key from that secret (sealing.py).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from outlive.core.record import Value
from outlive.parts.page.sealing import NONCE_BYTES, Numbers, Seal, id_of, key_of

HOSTS = ("127.0.0.1", "::1")  # a name below localhost may mean either, so no other program may listen on one of them
ASK_S = 10.0  # for the process that gives a new link, or wants one
LINK_S = 600  # a one-time link is good for this long
_MOST = 64  # links, and sessions, that are kept; the oldest go first
_MOST_TABS = 256  # the tab that has been quiet for longest goes first, and asks for a new key
_SECRET_BYTES = 32
_FIRST = 0  # the number of the answer that brings a secret


class Session(Value):
    """A browser that was let in. `token`: the hash of the token that it came with, None for a
    one-time link. `person`: the link was made for a person; a job that made it itself approves
    nothing through it."""

    id: str
    secret: bytes
    token: str | None
    person: bool


class Tab(Value):
    """One page of a session, and what seals its calls."""

    session: Session
    seal: Seal
    numbers: Numbers


class LinkKind(Value):
    """`person`: see `Session`. `own`: the link goes through the list of processes, so only a process
    of this user may use it."""

    person: bool = True
    own: bool = False


class _Link(Value):
    secret: bytes
    until: float
    kind: LinkKind


class Foreign(Exception):
    """A process of another user has tried a link that only one of this user may use."""


class Sessions:
    """The links, sessions and tabs of one server."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._links: dict[str, _Link] = {}
        self._sessions: dict[str, Session] = {}
        self._tabs: OrderedDict[str, Tab] = OrderedDict()

    def new_link(self, kind: LinkKind = LinkKind()) -> str:
        """Make a one-time link and return its secret."""
        secret = secrets.token_bytes(_SECRET_BYTES)
        _room(self._links)
        self._links[id_of(secret)] = _Link(secret, self._now() + LINK_S, kind)
        return encoded(secret)

    def use_link(self, name: str, page: bytes, is_own: Callable[[], bool]) -> bytes | None:
        """Open a session with a one-time link, by its name, and return the answer that brings the
        session's secret to who knows the link; None if the link is not known, was used or has
        expired. Errors: Foreign."""
        link = self._links.get(name)
        if link is None or link.until <= self._now():
            return None
        if link.kind.own and not is_own():
            raise Foreign
        del self._links[name]
        return self._opened(link.secret, "enter", page, None, person=link.kind.person)

    def use_token(self, hashed: str, page: bytes) -> bytes:
        """Open a session for the holder of a token, by the token's hash, and return the answer that
        brings its secret."""
        return self._opened(bytes.fromhex(hashed), "login", page, hashed, person=False)

    def open_tab(self, name: str, page: bytes, is_valid: Callable[[Session], bool]) -> bytes | None:
        """Make a key for a tab of a session, and return the answer that proves this server to it;
        None if there is no such session."""
        session = self._sessions.get(name)
        if session is None or not is_valid(session):
            return None
        server = secrets.token_bytes(NONCE_BYTES)
        seal = Seal(key_of(session.secret, "tab", page, server))
        if len(self._tabs) >= _MOST_TABS:
            self._tabs.popitem(last=False)
        self._tabs[server.hex()] = Tab(session, seal, Numbers())
        return server + seal.answer(_FIRST, b"{}")

    def tab(self, name: str) -> Tab | None:
        """Return a tab by its name."""
        opened = self._tabs.get(name)
        if opened is None or not self.is_open(opened.session):
            return None
        self._tabs.move_to_end(name)
        return opened

    def is_open(self, session: Session) -> bool:
        return session.id in self._sessions

    def end(self, session: Session) -> None:
        self._sessions.pop(session.id, None)

    def _opened(self, known: bytes, purpose: str, page: bytes, token: str | None, *, person: bool) -> bytes:
        secret, server = secrets.token_bytes(_SECRET_BYTES), secrets.token_bytes(NONCE_BYTES)
        _room(self._sessions)
        self._sessions[id_of(secret)] = Session(id_of(secret), secret, token, person)
        said = json.dumps({"key": encoded(secret)}).encode()
        return server + Seal(key_of(known, purpose, page, server)).answer(_FIRST, said)


def token_in(sealed: bytes, hashed: str, page: bytes) -> bool:
    """Return whether the page knows the token itself, of which this is the hash."""
    said = Seal(key_of(bytes.fromhex(hashed), "token", page)).open_question(_FIRST, sealed)
    return said is not None and hmac.compare_digest(hashlib.sha256(said).hexdigest(), hashed)


def encoded(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).rstrip(b"=").decode()


def _room(kept: dict[str, _Link] | dict[str, Session]) -> None:
    if len(kept) >= _MOST:
        del kept[next(iter(kept))]
