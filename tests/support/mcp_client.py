"""Two MCP clients on stdio: the SDK's own, as clients use it, and a raw one for what no client would do."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, TextIO

import anyio
import anyio.from_thread
from mcp import types
from mcp.client.client import Client
from mcp.client.extension import ClientExtension
from mcp.client.stdio import StdioServerParameters, stdio_client

from support import processes, schema
from support.cli import environment

ERAS = ("legacy", "modern")  # initialize handshake; discover, 2026-07-28 and later
BOUND_S = 60  # no wait in here is longer, ...
# ... but for a server's start, which may wait until a preloaded process has loaded the SDK, in each worker at once
START_S = 180
_MODES = {"legacy": "legacy", "modern": "auto"}
LEGACY_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"


@dataclass(frozen=True)
class ToolAnswer:
    """What one tool call gave: structured content, the text a model reads, and whether the call failed. `answer["job_id"]`
    reads the structured content."""

    result: dict[str, Any]
    text: str
    is_error: bool

    def __getitem__(self, name: str) -> Any:
        return self.result[name]


class Progress(NamedTuple):
    """One progress notification."""

    done: float
    total: float | None
    message: str | None


def server_command(args: tuple[str, ...] = ()) -> list[str]:
    return [sys.executable, "-m", "outlive", "mcp", *args]


class McpSession:
    """A connection of the SDK's client to a server of its own, with blocking methods. Use as a context manager."""

    def __init__(
        self,
        *,
        log: Path,
        era: str = "modern",
        client_name: str = "tests",
        args: tuple[str, ...] = (),
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        command: list[str] | None = None,
        extensions: Sequence[ClientExtension] = (),
        detail: str | None = "full",
        elicitation: Any = None,
    ) -> None:
        """`elicitation(context, params)` answers forms of the server. `detail` goes with every call that says nothing of it; with None the server's default counts."""
        self.era = era
        self._detail = {"detail": detail} if detail else {}
        self.log = log
        self.pid = 0
        self._extensions = extensions
        self._elicitation = elicitation
        self.messages: list[Any] = []  # notifications of the server, as they came
        words = command or server_command(args)
        self._server = StdioServerParameters(
            command=words[0], args=words[1:], env=environment(env), cwd=None if cwd is None else os.fspath(cwd)
        )
        self._name = client_name
        self._stack = contextlib.ExitStack()
        self._ready: Future[Client] = Future()
        self._stop: anyio.Event
        self._held: Future[None]

    def __enter__(self) -> Self:
        with self._stack:
            before = set(processes.children())
            self._portal = self._stack.enter_context(anyio.from_thread.start_blocking_portal("asyncio"))
            self._held = self._portal.start_task_soon(self._hold)
            self._stack.callback(self._let_go)
            self.client = self._ready.result(START_S)
            self._started(set(processes.children()) - before)
            self._kept = self._stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._kept.close()

    def _started(self, children: set[int]) -> None:
        assert len(children) == 1, f"one server is expected among the new children: {children}"
        self.pid = children.pop()

    def _transport(self, log: TextIO) -> Any:
        return stdio_client(self._server, errlog=log)

    def call(self, tool: str, /, **arguments: Any) -> ToolAnswer:
        """One tool call; its structured content keeps the schemas."""
        return self.begin(tool, **arguments).result(BOUND_S)

    def begin(self, tool: str, /, **arguments: Any) -> Future[ToolAnswer]:
        """A tool call that goes on; `.cancel()` of the future cancels it as a client does."""
        return self._portal.start_task_soon(self._call, tool, arguments)

    def begin_told(self, tool: str, /, **arguments: Any) -> tuple[Future[ToolAnswer], list[Progress]]:
        """The same with a progress token: what is told comes into the list."""
        told: list[Progress] = []

        async def take(done: float, total: float | None, message: str | None) -> None:
            told.append(Progress(done, total, message))

        return self._portal.start_task_soon(self._call, tool, arguments, take), told

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that must not fail."""
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer.result

    def error(self, tool: str, /, *, code: str, **arguments: Any) -> ToolAnswer:
        """The answer of a call that must fail with this code, which its text names too."""
        answer = self.call(tool, **arguments)
        assert answer.is_error, f"{tool} {arguments} was answered: {answer.result}"
        assert answer.result["error"]["code"] == code, answer.result
        assert code in answer.text, f"the text does not say {code}: {answer.text!r}"
        return answer

    def tools(self) -> dict[str, types.Tool]:
        """name → tool, as listed."""
        return {tool.name: tool for tool in self.ask(lambda client: client.list_tools()).tools}

    def ask(self, question: Callable[..., Awaitable[Any]], timeout: float = BOUND_S) -> Any:
        """What the coroutine `question(client)` returns: everything of the SDK's client that has no method here."""

        async def asked() -> Any:
            return await question(self.client)

        return self._portal.start_task_soon(asked).result(timeout)

    @contextlib.contextmanager
    def subscribed(self, *uris: str) -> Iterator[None]:
        """Told of changes of these resources, in the way of this era; `updates` counts them."""
        if self.era == "modern":
            with self._portal.wrap_async_context_manager(self.client.listen(resource_subscriptions=uris)) as stream:
                assert stream.honored.resource_subscriptions == list(uris)
                yield
            return
        for uri in uris:
            self.ask(lambda client, uri=uri: client.session.send_request(_subscribing(uri), types.EmptyResult))
        yield
        for uri in uris:
            ended = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
            self.ask(lambda client, ended=ended: client.session.send_request(ended, types.EmptyResult))

    def updates(self, uri: str) -> int:
        """How many updates of a resource came so far."""
        found = (one for one in self.messages if isinstance(one, types.ResourceUpdatedNotification))
        return sum(one.params.uri == uri for one in found)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the server a signal. The session is of no use afterwards, but closes."""
        os.kill(self.pid, number)

    async def _hold(self) -> None:
        self._stop = anyio.Event()
        try:
            with self.log.open("a", encoding="utf-8") as log:
                transport = self._transport(log)
                info = types.Implementation(name=self._name, version="1")
                async with Client(
                    transport,
                    mode=_MODES[self.era],
                    client_info=info,
                    message_handler=self._take,
                    cache=None,
                    extensions=self._extensions,
                    elicitation_callback=self._elicitation,
                ) as client:
                    self._ready.set_result(client)
                    await self._stop.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                return
            raise

    async def _take(self, message: Any) -> None:
        self.messages.append(message)

    async def _call(self, tool: str, arguments: dict[str, Any], told: Any = None) -> ToolAnswer:
        arguments = {**self._detail, **arguments}
        found = await self.client.call_tool(tool, arguments, read_timeout_seconds=BOUND_S, progress_callback=told)
        return tool_answer(found.structured_content, found.content, found.is_error)

    def _let_go(self) -> None:
        if self._ready.done() and not self._ready.exception():
            self._portal.call(self._stop.set)
        else:
            self._held.cancel()
        with contextlib.suppress(Exception):  # the server may have been killed: then closing may complain
            self._held.result(BOUND_S)


def tool_answer(structured: Any, content: list[Any], is_error: bool | None) -> ToolAnswer:
    """Of one call's result: checked against the schemas, texts joined."""
    texts = [part["text"] if isinstance(part, dict) else getattr(part, "text", "") for part in content]
    result: dict[str, Any] = structured or {}
    if result:
        schema.check_answer(result)
        assert result["ok"] is not bool(is_error), f"isError {is_error} with {result}"
    return ToolAnswer(result, "\n".join(texts), bool(is_error))


def _subscribing(uri: str) -> types.SubscribeRequest:
    return types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))


class McpRefusal(Exception):
    """A JSON-RPC error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")
        self.data = error.get("data")


class RawMcp:
    """Lines of JSON-RPC to a server and back, nothing done behind the test's back. Use as a context manager."""

    def __init__(
        self,
        *,
        log: Path,
        era: str = "legacy",
        client_name: str = "tests",
        args: tuple[str, ...] = (),
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        command: list[str] | None = None,
        detail: str | None = "full",
    ) -> None:
        self.era = era
        self._detail = {"detail": detail} if detail else {}
        self.log = log
        self.others: list[dict[str, Any]] = []  # notifications and requests of the server
        self._client = {"name": client_name, "version": "1"}
        self._how: dict[str, Any] = {"env": environment(env), "cwd": cwd}
        self._words = command or server_command(args)
        self._answers: dict[Any, dict[str, Any]] = {}
        self._open: set[Any] = set()  # requests without an answer
        self.greeting: dict[str, Any] = {}  # what a server of the handshake era says of itself
        self._half = b""
        self._ended = False
        self._last_id = 0

    def __enter__(self) -> Self:
        with self.log.open("ab") as log:
            # A session of its own, as every client starts its servers: `kill_group` reaches the server's group only.
            self.process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                bufsize=0,
                **self._how,
            )
        self.pid = self.process.pid
        return self

    def __exit__(self, *exc: object) -> None:
        self.close_stdin()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(60)
        assert self.process.stdout
        self.process.stdout.close()

    def start(self) -> Self:
        """Shake hands, where this era does."""
        if self.era == "legacy":
            hello = {"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": self._client}
            self.greeting = self.request("initialize", hello)
            self.notify("notifications/initialized")
        return self

    def send_bytes(self, data: bytes) -> None:
        """Anything, as it stands."""
        assert self.process.stdin
        left = memoryview(data)
        while left:  # a write that is interrupted wrote a part (write(2))
            left = left[self.process.stdin.write(left) :]

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def begin(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request; its id, for `answer` and `cancel`."""
        self._last_id += 1
        params = dict(params or {})
        if self.era == "modern":
            about = {"protocolVersion": MODERN_VERSION, "clientInfo": self._client, "clientCapabilities": {}}
            meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
            params["_meta"] = meta | params.get("_meta", {})
        self._open.add(self._last_id)
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def begin_call(self, tool: str, /, **arguments: Any) -> int:
        return self.begin("tools/call", {"name": tool, "arguments": {**self._detail, **arguments}})

    def cancel(self, request: int) -> None:
        self.notify("notifications/cancelled", {"requestId": request, "reason": "the test says so"})

    def cancel_all(self) -> None:
        """Take back every request that has no answer yet, subscriptions included."""
        for request in self._open:
            self.cancel(request)
        self._open.clear()

    def answer(self, request: int | str | None, timeout: float = BOUND_S) -> dict[str, Any]:
        """The result of a request, None: of one whose id could not be read; McpRefusal if it is an error."""
        deadline = time.monotonic() + timeout
        while request not in self._answers:
            assert self.read_one(deadline - time.monotonic()), f"no answer to request {request}: {self._state()}"
        found = self._answers.pop(request)
        if "error" in found:
            raise McpRefusal(found["error"])
        result: dict[str, Any] = found["result"]
        return result

    def is_answered(self, request: int | None) -> bool:
        """Did its answer come while others were waited for?"""
        return request in self._answers

    def request(self, method: str, params: dict[str, Any] | None = None, timeout: float = BOUND_S) -> dict[str, Any]:
        return self.answer(self.begin(method, params), timeout)

    def call(self, tool: str, /, **arguments: Any) -> ToolAnswer:
        return self.tool_answer(self.begin_call(tool, **arguments))

    def tool_answer(self, request: int | str, timeout: float = BOUND_S) -> ToolAnswer:
        """The answer to `begin_call`."""
        result = self.answer(request, timeout)
        return tool_answer(result.get("structuredContent"), result.get("content", []), result.get("isError"))

    def read_one(self, timeout: float) -> bool:
        """Take in one message; False when there came none in time, or never will."""
        line = self._line(timeout)
        if line is None:
            return False
        message = json.loads(line)  # a server writes nothing else to stdout
        assert isinstance(message, dict), message
        if "method" not in message:
            self._answers[message.get("id")] = message
            self._open.discard(message.get("id"))
        else:
            self.others.append(message)
        return True

    def read_until(self, condition: Callable[[], Any], what: str, timeout: float = BOUND_S) -> None:
        """Take in messages until the condition is true. AssertionError naming `what` if none comes any more."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.read_one(deadline - time.monotonic()), f"{what}: {self._state()}"

    def close_stdin(self) -> None:
        """What a client does that goes away in good order."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """A signal to the server alone, waited for if it is SIGKILL."""
        self.process.send_signal(number)
        self._wait_if(number)

    def kill_group(self, number: int = signal.SIGKILL) -> None:
        """A signal to the server's process group."""
        os.killpg(self.pid, number)
        self._wait_if(number)

    def kill_tree(self, number: int = signal.SIGKILL) -> None:
        """A signal to the server and to everything below it, the way thorough clients clean up."""
        for pid in [self.pid, *processes.descendants(self.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        self._wait_if(number)

    def wait(self, timeout: float = BOUND_S) -> int:
        """The server's exit status."""
        return self.process.wait(timeout)

    def _wait_if(self, number: int) -> None:
        if number == signal.SIGKILL:
            self.process.wait(BOUND_S)

    def _line(self, timeout: float) -> bytes | None:
        assert self.process.stdout
        deadline = time.monotonic() + timeout
        while b"\n" not in self._half:
            left = deadline - time.monotonic()
            if self._ended or left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            self._ended = not piece
            self._half += piece
        line, _, self._half = self._half.partition(b"\n")
        return line

    def _state(self) -> str:
        said = self.log.read_text(errors="replace")[-2000:]
        ended = "it closed its output" if self._ended else "its output is open"
        return f"{ended}, exit status {self.process.poll()}, stderr {said!r}"
