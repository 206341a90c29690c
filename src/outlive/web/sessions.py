"""Who may use the page: one-time links and the sessions that they open.

They are kept in `.ui.json` in the root (mode 0600), so that a page goes on after its server was
killed and started again. The file holds hashes, never the secrets.

A session has two secrets. The browser sends the cookie by itself, and to every port of this
machine; the key is kept by the page's own script, in storage that belongs to one port. A request
needs both, so that neither a foreign page that makes the browser send a request nor a server on
another port that is sent the cookie can use the session.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from outlive.errors import from_os
from outlive.store import atomic_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from outlive.store.root import Store

NAME, LOCK = ".ui.json", ".ui.lock"
LINK_S = 600  # a one-time link is good for this long
SESSION_S = 30 * 86_400  # a session ends this long after it began
_MOST = 64  # sessions and links that are kept; the oldest go first
_BYTES = 1 << 20


class Session(NamedTuple):
    """A browser that was let in. `token`: the hash of the token that it came with, None for a
    one-time link. `person`: the link was made for a person; a job that made it itself approves
    nothing through it."""

    id: str
    token: str | None
    person: bool


class Opened(NamedTuple):
    """A new session and its secrets."""

    cookie: str
    key: str


class Sessions:
    """The sessions and one-time links of a root."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._cached: tuple[tuple[int, ...], dict[str, Any]] = (), _nothing()

    def new_link(self, *, person: bool = True) -> str:
        """Make a one-time link and return its secret. `person`: see `Session`. Errors:
        io_error."""
        secret = secrets.token_urlsafe(24)
        with self._changed() as found:
            found["links"].append({"hash": _hash(secret), "until": self._now() + LINK_S, "person": person})
        return secret

    def use_link(self, secret: str) -> Opened | None:
        """Open a session with a one-time link; return None if the link is not known, was used or
        has expired. Errors: io_error."""
        wanted = _hash(secret)
        with self._changed() as found:
            used = [one for one in found["links"] if hmac.compare_digest(one["hash"], wanted)]
            if not used:
                return None
            found["links"] = [one for one in found["links"] if one is not used[0]]
            return self._open(found, None, person=used[0].get("person") is True)

    def open_by_token(self, token: str) -> Opened:
        """Open a session for the holder of a token, by the token's hash. Errors: io_error."""
        with self._changed() as found:
            return self._open(found, token, person=False)

    def match(self, cookie: str, key: str | None) -> Session | None:
        """Return the session with this cookie and this key. `key` None asks for the cookie alone,
        which is enough for nothing but the empty page."""
        wanted, wanted_key = _hash(cookie), None if key is None else _hash(key)
        for one in self._read()["sessions"]:
            if hmac.compare_digest(one["cookie"], wanted) and one["until"] > self._now():
                if wanted_key is None or hmac.compare_digest(one["key"], wanted_key):
                    return Session(one["cookie"], one["token"], one.get("person") is True)
        return None

    def end(self, session: Session) -> None:
        """End a session. Errors: io_error."""
        with self._changed() as found:
            found["sessions"] = [one for one in found["sessions"] if one["cookie"] != session.id]

    def _open(self, found: dict[str, Any], token: str | None, *, person: bool) -> Opened:
        opened = Opened(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        hashes = {"cookie": _hash(opened.cookie), "key": _hash(opened.key)}
        found["sessions"].append({**hashes, "token": token, "person": person, "until": self._now() + SESSION_S})
        return opened

    # --- the file ---

    def _read(self) -> dict[str, Any]:
        """Return what the file holds; nothing where it is missing or makes no sense: then the
        person needs a new link."""
        try:
            stat = os.stat(NAME, dir_fd=self._store.fd, follow_symlinks=False)
            version = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            if version != self._cached[0]:
                found = atomic_file.load(atomic_file.read(self._store.fd, NAME, _BYTES))
                self._cached = version, found if _makes_sense(found) and not stat.st_mode & 0o077 else _nothing()
        except (OSError, atomic_file.Damaged):
            return _nothing()
        return self._cached[1]

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Any]]:
        """Yield the content for a change, and write it if the block ends without an error."""
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(LOCK, flags, 0o600, dir_fd=self._store.fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                now = self._now()
                before = self._read()
                found = {kind: [one for one in before[kind] if one["until"] > now] for kind in ("links", "sessions")}
                yield found
                kept = {kind: some[-_MOST:] for kind, some in found.items()}
                atomic_file.write_atomic(self._store.fd, NAME, atomic_file.dump({"format": 1, **kept}))
            finally:
                os.close(fd)
        except OSError as error:
            raise from_os(f"changing {os.path.join(self._store.path, NAME)}", error, on="store") from error


def _nothing() -> dict[str, Any]:
    return {"links": [], "sessions": []}


def _makes_sense(found: dict[str, Any]) -> bool:
    wanted = {"links": {"hash": str}, "sessions": {"cookie": str, "key": str}}
    return found.get("format") == 1 and all(
        isinstance(found.get(kind), list)
        and all(
            isinstance(one, dict)
            and isinstance(one.get("until"), (int, float))
            and all(isinstance(one.get(name), of) for name, of in members.items())
            and (kind == "links" or isinstance(one.get("token", 0), (str, type(None))))
            for one in found[kind]
        )
        for kind, members in wanted.items()
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
