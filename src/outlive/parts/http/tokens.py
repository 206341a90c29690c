"""The tokens that authenticate HTTP clients: `.tokens.json` in the root, mode 0600. It holds their
hashes, never the tokens.

Tokens belong to the root and not to a server, so that all servers over one root admit the same
clients. A token is 32 random bytes, so one round of SHA-256 is enough: a slow hash protects only
secrets that can be guessed.
"""

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from outlive.core.record import Record
from outlive.core.records import EXEC, GIT, NETWORKS, RIGHTS, SANDBOXES
from outlive.core.rights import Rights, identity_of
from outlive.core.units import timestamp
from outlive.errors import OutliveError, from_os, invalid
from outlive.store import atomic_file
from outlive.store.root import Store

_NAME_CHARS = 40
_MOST_TOKENS = 100
NAME, LOCK = ".tokens.json", ".tokens.lock"
EVERYTHING = "*"  # the scope that sees the jobs of all others
PREFIX = "outlive_"  # scanners for leaked secrets find tokens by such a prefix
_SECRET_BYTES = 32
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,%d}" % (_NAME_CHARS - 1))


class Token(Record):
    """`name`: the client that the token was made for. `scope`: whose jobs it sees and touches; `*`:
    all jobs. `level`, `workdir`, `approves`: its rights (core/rights.py). `expires_at`: None for
    never."""

    name: str = ""
    scope: str = ""
    hash: str = ""
    created_at: str = ""
    level: str = EXEC  # tokens that were made before there were rights have all
    workdir: str | None = None
    workdir_id: list[int] | None = None  # device and inode of that directory
    sandbox: dict[str, str] | None = None
    # Without it a client would answer the questions about its own commands
    approves: bool = False
    expires_at: str | None = None

    @property
    def rights(self) -> Rights:
        return Rights(
            level=self.level,
            workdir=self.workdir,
            workdir_id=self.workdir_id,
            sandbox=self.sandbox,
            approves=self.approves,
            token=self.name,
        )

    @property
    def expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timestamp()

    def shown(self) -> "dict[str, Any]":
        return {
            "name": self.name,
            "scope": self.scope,
            "rights": list(RIGHTS[: RIGHTS.index(self.level) + 1]),
            "workdir": self.workdir,
            "sandbox": self.sandbox,
            "approves": self.approves,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "expired": self.expired,
        }


class Tokens:
    """The tokens of a root. Every method checks whether the file has changed, so a revoked token is
    refused at once."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._reopened = False
        # What stat(2) said of the file when it was read, and its tokens. One attribute, because
        # threads share it
        self._cached: tuple[tuple[int, ...], list[Token]] = (), []

    def all(self) -> list[Token]:
        """Return the tokens in the order they were made. Errors: config_error, io_error,
        store_unsafe."""
        store = self._store_in_place()
        if store is None:
            return []
        try:
            status = os.stat(NAME, dir_fd=store.fd, follow_symlinks=False)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise from_os(f"looking for {self._path}", error, on="store") from error
        version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        cached, tokens = self._cached
        if version != cached:
            tokens = self._read(store, status)
            self._cached = version, tokens
        return tokens

    def match(self, secret: str) -> Token | None:
        """Return the token with this secret, expired or not, or None. Takes as long for a wrong
        secret as for a right one."""
        wanted = _hash(secret)
        matching = None
        for token in self.all():
            if hmac.compare_digest(token.hash, wanted):
                matching = token
        return matching

    def is_valid(self, hashed: str) -> bool:
        """Return whether there is a token with this hash that has not expired."""
        return any(one.hash == hashed and not one.expired for one in self.all())

    def add(
        self,
        name: str,
        scope: str | None = None,
        *,
        level: str = EXEC,
        workdir: str | None = None,
        sandbox: dict[str, str] | None = None,
        approves: bool = False,
        lifetime_ms: int | None = None,
    ) -> tuple[Token, str]:
        """Make a token and return it with its secret, which is stored nowhere. The scope is the
        name unless it is given.

        Errors: invalid_argument, config_error, io_error.
        """
        scope = name if scope is None else scope
        _check_name("name", name)
        if scope != EVERYTHING:
            _check_name("scope", scope)
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        expires_at = None if lifetime_ms is None else timestamp(time.time() + lifetime_ms / 1000)
        made: Token = Token(
            name=name,
            scope=scope,
            hash=_hash(secret),
            created_at=timestamp(),
            level=level,
            workdir=workdir,
            workdir_id=None if workdir is None else identity_of(workdir),
            sandbox=sandbox,
            approves=approves,
            expires_at=expires_at,
        )

        def added(old: list[Token]) -> list[Token]:
            if any(token.name == name for token in old):
                hint = f"Choose another name, or revoke it first: outlive token revoke {name}"
                raise invalid("name", f"there is a token named {name} already", hint=hint)
            if len(old) >= _MOST_TOKENS:
                raise invalid("name", f"there are {_MOST_TOKENS} tokens already", hint="Revoke some.")
            return [*old, made]

        self._change(added)
        return made, secret

    def revoke(self, name: str) -> Token:
        """Delete the token with this name and return it. Errors: invalid_argument, config_error,
        io_error."""
        gone: list[Token] = []

        def without(old: list[Token]) -> list[Token]:
            gone.extend(token for token in old if token.name == name)
            if not gone:
                names = ", ".join(token.name for token in old)
                hint = f"Tokens: {names}." if names else "There are none."
                raise invalid("name", f"no token named {name!r}", hint=hint)
            return [token for token in old if token.name != name]

        self._change(without)
        return gone[0]

    # --- the file ---

    def _store_in_place(self) -> "Store | None":
        """Return the root that the path names now, or None if there is none: the tokens of a root
        that was moved away must not open the one that took its place. Errors: store_unsafe.

        Work with the store that this returns: another thread may replace `_store` meanwhile.
        """
        store = self._store
        if store.is_in_place():
            return store
        try:
            newer = store.existing(store.path)
        except OSError:
            return None
        if self._reopened:
            store.close_when_unused()
        self._store, self._reopened = newer, True
        return newer

    @property
    def _path(self) -> str:
        return os.path.join(self._store.path, NAME)

    def _read(self, store: "Store", status: os.stat_result) -> list[Token]:
        if not stat.S_ISREG(status.st_mode):  # opening a FIFO would wait for a writer
            raise OutliveError("config_error", f"{self._path} is no file", hint="Remove it and make new tokens.")
        if status.st_mode & 0o077:
            raise OutliveError(
                "config_error",
                f"{self._path} can be read by others (mode {status.st_mode & 0o7777:04o})",
                hint=f"Run: chmod 600 {self._path}",
            )
        try:
            listed = atomic_file.load(atomic_file.read(store.fd, NAME))["tokens"]
            tokens = [Token.of(one) for one in listed]
        except (atomic_file.Damaged, KeyError, TypeError) as error:
            raise OutliveError(
                "config_error",
                f"{self._path} cannot be read: {error}",
                hint="Delete it and make new tokens: outlive token add NAME",
            ) from error
        except OSError as error:
            raise from_os(f"reading {self._path}", error, on="store") from error
        if any(
            Token.misfit(one) or not token.name or not token.hash or not _known(token)
            for one, token in zip(listed, tokens, strict=True)
        ):
            raise OutliveError("config_error", f"{self._path} holds a token that makes no sense")
        return tokens

    def _change(self, change: "Callable[[list[Token]], list[Token]]") -> None:
        store = self._store_in_place() or self._store
        try:
            with _locked(store):
                tokens = change(list(self.all()))
                content = {"format": 1, "tokens": [token.to_dict() for token in tokens]}
                atomic_file.write_atomic(store.fd, NAME, atomic_file.dump(content))
                atomic_file.sync(store.fd)
        except OSError as error:
            raise from_os(f"changing {self._path}", error, on="store") from error


@contextmanager
def _locked(store: "Store") -> "Iterator[None]":
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(LOCK, flags, 0o600, dir_fd=store.fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _known(token: Token) -> bool:
    """Return whether this version knows the rights of a token: others may mean less than all."""
    sandbox = token.sandbox or {"mode": SANDBOXES[0]}
    return (
        token.level in RIGHTS
        and sandbox.get("mode") in SANDBOXES
        and sandbox.get("network", "open") in NETWORKS
        and sandbox.get("git", "read") in GIT
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _check_name(field: str, text: str) -> None:
    if not _PLAIN.fullmatch(text):
        hint = f"At most {_NAME_CHARS} letters, digits, dots, hyphens and underscores."
        raise invalid(field, f"not a {field} of a token: {text[:80]!r}", hint=hint)
