"""Clients that are not ours, each with the same two methods: `tools()` and `call(tool, **arguments)`."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from conformance import npm
from support.mcp_client import ToolAnswer, server_command, tool_answer

BOUND_S = 180  # one step of a client: several programs start in it
TOOL_FAILED = 5  # the Inspector's exit status for a result that is an error
SCRIPT = Path(__file__).with_name("client.mjs")
_PASSED = ("OUTLIVE_ROOT", "PYTHONPATH")
_READ_BYTES = 1 << 16


class Face(NamedTuple):
    """Where a server is to be found. `transport`: stdio (then a client starts its own), http or sse."""

    transport: str
    url: str = ""
    token: str = ""


class Client(Protocol):
    def tools(self) -> set[str]: ...

    def call(self, tool: str, /, **arguments: Any) -> ToolAnswer: ...


class Inspector:
    """The Inspector's command line: each step is a process and a connection of its own."""

    def __init__(self, packages: npm.Packages, face: Face, era: str, home: Path) -> None:
        self._era = era
        self._home = home
        self._words = list(packages.inspector)
        if face.transport == "stdio":
            # It hands on as little as other clients do; the tests' store and modules lie elsewhere
            passed = [f"{name}={os.environ[name]}" for name in _PASSED if name in os.environ]
            self._words += [word for pair in passed for word in ("-e", pair)] + server_command()
        else:
            self._words += [face.url, "--transport", face.transport, "--header", f"Authorization: Bearer {face.token}"]

    def tools(self) -> set[str]:
        """With --strict, which ends with 6 for a schema that not every client takes."""
        return {tool["name"] for tool in self._said("--method", "tools/list", "--strict")["tools"]}

    def call(self, tool: str, /, **arguments: Any) -> ToolAnswer:
        given = json.dumps({"detail": "full", **arguments})
        found = self._said("--method", "tools/call", "--tool-name", tool, "--tool-args-json", given)
        return tool_answer(found.get("structuredContent"), found["content"], found.get("isError"))

    def _said(self, *words: str) -> Any:
        done = npm.bounded(
            [*self._words, "--protocol-era", self._era, "--format", "json", "-q", *words],
            BOUND_S,
            cwd=self._home,
            env={**os.environ, "NO_COLOR": "1"},
        )
        assert done.status in (0, TOOL_FAILED), f"the Inspector ended with {done.status}: {done.out} {done.said}"
        return json.loads(done.out)["result"]


class TypeScript:
    """A client of a TypeScript SDK. Use as a context manager. `version`: what was negotiated, where it says so."""

    def __init__(self, packages: npm.Packages, package: str, face: Face, era: str, home: Path) -> None:
        (home / "node_modules").symlink_to(packages.folder)  # where a script's imports are looked for
        script = home / SCRIPT.name
        script.write_bytes(SCRIPT.read_bytes())
        how = {"package": package, "era": era, **face._asdict(), "command": server_command(), "env": dict(os.environ)}
        self._command = [str(packages.node), str(script), json.dumps(how)]
        self._log = home / "client.log"
        self._half = b""

    def __enter__(self) -> TypeScript:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0
            )
        try:
            self.version = self._answer()["version"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(BOUND_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()

    def tools(self) -> set[str]:
        return set(self._ask({"tools": True}))

    def call(self, tool: str, /, **arguments: Any) -> ToolAnswer:
        found = self._ask({"name": tool, "arguments": {"detail": "full", **arguments}})
        return tool_answer(found.get("structuredContent"), found["content"], found.get("isError"))

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        deadline = time.monotonic() + BOUND_S
        while b"\n" not in self._half:
            ready = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]
            piece = os.read(self._process.stdout.fileno(), _READ_BYTES) if ready else b""
            assert piece, f"no answer within {BOUND_S} s: {self._log.read_text(errors='replace')}"
            self._half += piece
        line, _, self._half = self._half.partition(b"\n")
        return json.loads(line)
