"""`outlive serve`, and its clients: the SDK's over each transport, and bare HTTP for what no client would do."""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from support import http, processes
from support.cli import Cli, environment
from support.mcp_client import BOUND_S, LEGACY_VERSION, MODERN_VERSION, START_S, McpSession
from support.preloaded import MAIN
from support.server import Server

TRANSPORTS = ("http", "sse")
INITIALIZE = {"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}


class Reply(NamedTuple):
    """An answer of bare HTTP. `headers` by lower-case name."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """Of a plain answer, or of the last event of a stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            found = [line[5:] for line in self.body.decode().splitlines() if line.startswith("data:")]
            decoded: dict[str, Any] = json.loads(found[-1])
        else:
            decoded = json.loads(self.body)
        return decoded


class Served(Server):
    """A running server. Use as a context manager. `tokens`: name → secret of those made through `token`."""

    def __init__(
        self,
        cli: Cli,
        log: Path,
        *args: str,
        env: Mapping[str, str | None] | None = None,
        first: bool = False,
        again: Served | None = None,
        patch: str = "",
    ) -> None:
        """`first`: the server itself has to make the first token. `again`: another server over the root of this one.
        `patch`: Python that changes `limits`, so that no test waits for half a minute."""
        self.cli = cli
        self.tokens: dict[str, str] = {} if again is None else again.tokens
        if not first and again is None:
            self.token("tests")
        where = () if "--socket" in args or "--port" in args else ("--port", "0")
        start = f"import sys; from outlive import limits; {patch}; {MAIN}"
        python = ["-c", start] if patch else ["-m", "outlive"]
        super().__init__(log, [sys.executable, *python, "serve", *where, *args], environment(env))

    def __enter__(self) -> Served:
        self.launch()
        deadline = time.monotonic() + START_S
        while not (found := re.search(r"listening on (\S+)/mcp", self.said())):
            assert self.process.poll() is None, f"outlive serve ended with {self.process.returncode}: {self.said()}"
            assert time.monotonic() < deadline, self.said()
            assert self.process.stdout
            select.select([self.process.stdout], [], [], 0.02)
        self.base = found[1]
        self.url = f"{self.base}/mcp"
        return self

    def end_test(self) -> None:
        """Take back all tokens but the first."""
        for name in self.tokens.keys() - {"tests"}:
            self.cli.run("token", "revoke", name)
            del self.tokens[name]

    def token(self, name: str, *words: str) -> str:
        """A new token of this root."""
        made: str = self.cli.ok("token", "add", name, *words)["token"]
        self.tokens[name] = made
        return made

    @property
    def address(self) -> tuple[str, int]:
        found = httpx2.URL(self.base)
        assert found.port is not None
        return found.host, found.port

    def connect(self, receive_bytes: int = 0) -> socket.socket:
        """Return a new connection. `receive_bytes`: how much the system keeps of what it does not take (socket(7))."""
        connection = socket.socket()
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)  # before the handshake, tcp(7)
        connection.settimeout(BOUND_S)
        connection.connect(self.address)
        return connection

    def ask(
        self,
        method: str,
        path: str = "/mcp",
        *,
        token: str | None = "",
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One exchange. `token`: None sends none, "" sends that of `tests`. Streams are read to their end."""
        secret = self.tokens["tests"] if token == "" else token
        found = {
            "accept": "application/json, text/event-stream",
            **({"authorization": f"Bearer {secret}"} if secret is not None else {}),
            **({"content-type": "application/json"} if body is not None else {}),
            **(headers or {}),
        }
        content = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        with http.client() as client:
            answer = client.request(method, self.base + path, headers=found, content=content)
        return Reply(answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, answer.content)

    def rpc(self, method: str, params: dict[str, Any], *, token: str | None = "", **headers: str) -> Reply:
        """One request of the era without sessions."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
        }
        named = params.get("name") or params.get("uri")
        sent = {
            "mcp-protocol-version": MODERN_VERSION,
            "mcp-method": method,
            **({"mcp-name": named} if named else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**params, "_meta": {**meta, **params.get("_meta", {})}},
        }
        return self.ask("POST", token=token, body=body, headers=sent)

    def tool(self, name: str, /, *, token: str | None = "", **arguments: Any) -> dict[str, Any]:
        """The structured content of one tool call."""
        found: dict[str, Any] = self.rpc(
            "tools/call", {"name": name, "arguments": {"detail": "full", **arguments}}, token=token
        ).json
        content: dict[str, Any] = found["result"]["structuredContent"]
        return content


class HttpSession(McpSession):
    """The SDK's client, connected to a server that runs. `transport`: "http" or "sse"."""

    def __init__(self, served: Served, *, transport: str = "http", token: str = "tests", **how: Any) -> None:
        super().__init__(log=served.log.with_name("client.log"), **how)
        self._served = served
        self._by = transport
        self._headers = {"Authorization": f"Bearer {served.tokens[token]}"}

    def _started(self, children: set[int]) -> None:
        assert not children

    def _transport(self, log: TextIO) -> Any:
        if self._by == "sse":
            return sse_client(f"{self._served.base}/sse", headers=self._headers, sse_read_timeout=BOUND_S)
        return self._streamable()

    @contextlib.asynccontextmanager
    async def _streamable(self) -> AsyncIterator[Any]:
        async with (
            http.async_client(headers=self._headers) as client,
            streamable_http_client(self._served.url, http_client=client) as streams,
        ):
            yield streams


def open_sockets(served: Served) -> int:
    return sum(target.startswith("socket:") for target in processes.open_files(served.process.pid).values())


def is_held(served: Served, connection: socket.socket) -> bool:
    """Does the server have the other end of this connection open? What it has closed has no owner: inode 0
    (/proc/net/tcp, proc_net(5)), though the kernel may still try to send what is left."""
    ports = served.address[1], connection.getsockname()[1]
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        if tuple(int(words[at].rpartition(":")[2], 16) for at in (1, 2)) == ports:
            return words[9] != "0"
    return False
