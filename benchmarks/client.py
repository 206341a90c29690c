"""A minimal MCP client on stdio for any server: as little as possible stands between the clock and
the server.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROTOCOL = "2025-06-18"  # which every server of the comparison speaks
BOUND_S = 120  # no wait is longer


class Refused(Exception):
    """The server answered with an error."""


class Client:
    """One server, started here in a session of its own. Use as a context manager."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self.words = list(words)
        self.env = dict(env)
        self._how: dict[str, Any] = {"env": self.env, "cwd": cwd}
        self._ids = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self._half = b""

    def __enter__(self) -> Client:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.words, start_new_session=True, bufsize=0, **pipes, **self._how)
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()

    def kill(self) -> None:
        """SIGKILL to the server and its process group, as when a client's tree is ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def shake_hands(self) -> dict[str, Any]:
        client = {"name": "benchmarks", "version": "1"}
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        found = self.request("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return found

    def begin(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request. Return its number, for `answer`."""
        number = next(self._ids)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {})})
        return number

    def answer(self, number: int) -> dict[str, Any]:
        """Return the result. Errors: Refused; TimeoutError; EOFError: the server is gone."""
        deadline = time.monotonic() + BOUND_S
        while number not in self._answers:
            self._take(deadline)
        found = self._answers.pop(number)
        if "error" in found:
            raise Refused(str(found["error"]))
        result: dict[str, Any] = found["result"]
        return result

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.begin(method, params))

    def begin_call(self, tool: str, /, **arguments: Any) -> int:
        return self.begin("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool. Errors: Refused, also for a result that is an error."""
        return succeeded(self.answer(self.begin_call(tool, **arguments)))

    def structured(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the structured content of a tool's result."""
        found: dict[str, Any] = self.call(tool, **arguments)["structuredContent"]
        return found

    def text(self, tool: str, /, **arguments: Any) -> str:
        """Return what a model reads of a tool's result."""
        return "\n".join(part.get("text", "") for part in self.call(tool, **arguments)["content"])

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._in, data) :]

    def _take(self, deadline: float) -> None:
        """Read what has arrived, and keep the answers in it."""
        if not select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError(f"no answer from {self.words[0]}")
        data = os.read(self._out, 1 << 20)
        if not data:
            raise EOFError(f"{' '.join(self.words)} has ended")
        *lines, self._half = (self._half + data).split(b"\n")
        for text in lines:
            with contextlib.suppress(ValueError):  # some servers print more than JSON
                message = json.loads(text)
                if isinstance(message, dict) and "method" not in message and "id" in message:
                    self._answers[message["id"]] = message


def succeeded(result: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's result as it is. Errors: Refused."""
    if result.get("isError"):
        raise Refused(str(result.get("content")))
    return result
