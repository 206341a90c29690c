"""`outlive ui`, and what a page sends without a browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from support import http
from support.cli import environment
from support.mcp_client import BOUND_S
from support.preloaded import OUTLIVE
from support.server import Server

RANDOM_BYTES = 16


class Ui(Server):
    """A running `outlive ui`. Use as a context manager. `page` is the address for a browser, `base` that for a program,
    which may not know names below localhost."""

    def __init__(
        self, log: Path, *args: str, port: int | None = None, env: Mapping[str, str | None] | None = None
    ) -> None:
        where = () if port is None else ("--port", str(port))
        super().__init__(log, [*OUTLIVE, "ui", "--no-open", *where, *args], environment(env))

    def __enter__(self) -> Ui:
        self.launch()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"outlive ui ended with {self.process.wait(BOUND_S)}: {self.said()}"
        self.told: dict[str, Any] = json.loads(line)
        assert self.told["ok"], self.told
        self.link: str = self.told["url"]
        self.page = self.link.partition("/#link=")[0]
        self.port = int(self.page.rpartition(":")[2])
        self.base = f"http://127.0.0.1:{self.port}"
        return self

    def new_link(self) -> str:
        """Another one-time link, as a second `outlive ui` makes it."""
        done = subprocess.run(self.words, env=self.env, capture_output=True, timeout=BOUND_S, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        assert not found["serves"]
        url: str = found["url"]
        return url


class Sealed(NamedTuple):
    """A call as it is sent."""

    headers: dict[str, str]
    body: bytes


class Keys:
    """What a page keeps, and seals its calls with (docs/reference/page-api.md)."""

    def __init__(self, secret: bytes, post: Any) -> None:
        self.secret = secret
        self._post = post
        self._last = 0
        self.name, self._cipher, _ = exchanged(post, "tab", "session", secret)

    def seal(self, method: str, given: bytes | dict[str, Any]) -> Sealed:
        said = given if isinstance(given, bytes) else json.dumps({"method": method, "given": given}).encode()
        self._last += 1
        headers = {"x-outlive-tab": self.name, "x-outlive-number": str(self._last)}
        return Sealed(headers, self._cipher.encrypt(nonce(0, self._last), said, None))

    def opened(self, question: Sealed, answer: bytes) -> dict[str, Any]:
        said = self._cipher.decrypt(nonce(1, int(question.headers["x-outlive-number"])), answer, None)
        found: dict[str, Any] = json.loads(gzip.decompress(said) if said[:1] == b"\x1f" else said)
        return found


def nonce(direction: int, number: int) -> bytes:
    return bytes([direction]) + number.to_bytes(11, "big")


def name_of(secret: bytes) -> str:
    return hashlib.sha256(b"outlive id\0" + secret).hexdigest()[:32]


def key_of(secret: bytes, purpose: str, *parts: bytes) -> bytes:
    return hmac.digest(secret, b"outlive " + purpose.encode() + b"\0" + b"".join(parts), "sha256")


class NotLetIn(Exception):
    def __init__(self, answer: httpx2.Response) -> None:
        super().__init__(f"{answer.status_code} {answer.text}")
        self.answer = answer


def exchanged(post: Any, path: str, member: str, secret: bytes, **more: Any) -> tuple[str, AESGCM, dict[str, Any]]:
    """Ask for a key by the name of a secret: (name of the tab, what seals, what was said). Errors: NotLetIn."""
    page = os.urandom(RANDOM_BYTES)
    given = {member: name_of(secret), "nonce": page.hex(), **{name: one(page) for name, one in more.items()}}
    answer = post(path, given)
    if answer.status_code != 200:
        raise NotLetIn(answer)
    server, sealed = answer.content[:RANDOM_BYTES], answer.content[RANDOM_BYTES:]
    cipher = AESGCM(key_of(secret, path, page, server))
    return server.hex(), cipher, json.loads(cipher.decrypt(nonce(1, 0), sealed, None))


def decoded(secret: str) -> bytes:
    return base64.urlsafe_b64decode(secret + "=")


class Caller:
    """A page as far as HTTP goes: its calls below an address, sealed with what it kept."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.client = http.client()
        self.keys: Keys | None = None

    def __exit__(self, *exc: object) -> None:
        self.client.close()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.client.close()
            raise

    def ask(self, path: str, given: Any, **headers: str) -> httpx2.Response:
        """Ask what needs no seal. A header that is empty is left out. Names: with underscores."""
        content = given if isinstance(given, (str, bytes)) else json.dumps(given)
        return self._post(path, content, {"content_type": "application/json", **headers})

    def _post(self, path: str, content: str | bytes, headers: Mapping[str, str]) -> httpx2.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items() if value}
        return self.client.post(f"{self.base}/api/{path}", content=content, headers=sent)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.client.get(self.base + path, headers={name.replace("_", "-"): one for name, one in headers.items()})

    def keep(self, said: dict[str, Any]) -> None:
        self.keys = Keys(decoded(said["key"]), self.ask)

    def send(self, call: Sealed, **headers: str) -> httpx2.Response:
        return self._post("call", call.body, {**call.headers, **headers})

    def post(self, method: str, content: bytes | dict[str, Any] | None = None, **headers: str) -> httpx2.Response:
        """A call as it is sent, and its answer as it came. `content` as bytes is sealed as it is."""
        assert self.keys is not None
        return self.send(self.keys.seal(method, content if content is not None else {}), **headers)

    def asked(self, method: str, given: dict[str, Any] | bytes) -> tuple[int, dict[str, Any]]:
        """The status and the object of a call."""
        assert self.keys is not None
        call = self.keys.seal(method, given)
        answer = self.send(call)
        assert answer.headers["content-type"] == "application/octet-stream", f"{answer.status_code} {answer.text}"
        return answer.status_code, self.keys.opened(call, answer.content)

    def call(self, method: str, /, **given: Any) -> dict[str, Any]:
        """The object of a call that must be answered."""
        status, found = self.asked(method, given)
        assert status == 200 and found["ok"], found
        return found

    def refused(self, method: str, /, **given: Any) -> tuple[int, dict[str, Any]]:
        """The status and the error of a call that must fail."""
        status, found = self.asked(method, given)
        assert not found["ok"], found
        return status, found["error"]

    def run(self, action: str, /, **given: Any) -> dict[str, Any]:
        return self.call("process", action=action, **given)


class Browser(Caller):
    """A browser that a link has let in. Errors: NotLetIn."""

    def __init__(self, ui: Ui, link: str | None = None) -> None:
        super().__init__(ui.base)
        self.link = decoded((link or ui.link).partition("#link=")[2])
        with self.closed_on_error():
            self.keep(exchanged(self.ask, "enter", "link", self.link)[2])

    def __enter__(self) -> Browser:
        return self


class Visitor(Caller):
    """A browser at `/ui` of `outlive serve` that gave a token. Errors: NotLetIn."""

    def __init__(self, base: str, token: str) -> None:
        super().__init__(f"{base}/ui")
        with self.closed_on_error():
            self.login(token)

    def login(self, token: str) -> None:
        secret = hashlib.sha256(token.encode()).digest()

        def sealed(page: bytes) -> str:
            cipher = AESGCM(key_of(secret, "token", page))
            return base64.b64encode(cipher.encrypt(nonce(0, 0), token.encode(), None)).decode()

        self.keep(exchanged(self.ask, "login", "token", secret, sealed=sealed)[2])

    def __enter__(self) -> Visitor:
        return self
