"""A model on loopback that follows the script that its prompt names, whatever API it is asked over.

Which step comes next is counted from the conversation, so it keeps no state, and requests for titles or summaries do
no harm. A client may hide the tools: then the model searches for them in the way that this client wants.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

from clients.apis import CALL, CODE, LOOK, NAMESPACE, RESULT, USER, Call, Tool, Turn, of_path
from clients.script import SCRIPTS, Step, script_of

SEARCHING = (LOOK, "ToolSearch", "tool_search", "tool_describe")
SPOKEN = ("assistant", "model")  # the roles of the model
PAUSE = {"cmd": "sleep 1"}
MOST_SEARCHES = 12
DONE = "All steps are done."
_SERVERS = ("outlive", "plugin_outlive_outlive")  # as Claude Code names ours
# As an answer names a job, and as the list has one that runs
_ID = re.compile(
    r"\b0[0-9A-HJKMNP-TV-Z]{25}\b|(?:(?<=job_id=)|(?<=job ))[0-9A-HJKMNP-TV-Z]{8}\b|(?<![0-9A-Z])[0-9A-HJKMNP-TV-Z]{8}(?=  running\b)"
)


def asked(turns: list[Turn]) -> tuple[int, str | None]:
    """Return the place of the prompt, and the script that it names."""
    found = [(place, script_of(turn.text)) for place, turn in enumerate(turns) if turn.kind == USER]
    return max(((place, name) for place, name in found if name in SCRIPTS), default=(len(turns), None))


def _searches(call: Turn) -> bool:
    """Return whether the model looked for our tools, or passed the time until they were there."""
    if call.name == "exec_command":
        return bool(json.loads(call.text or "{}") == PAUSE)
    return call.name in SEARCHING


def steps_done(turns: list[Turn]) -> list[tuple[Turn, str]]:
    """Return the calls of our tools since the prompt, each with the result that the model was shown."""
    start, _ = asked(turns)
    found: list[tuple[Turn, str]] = []
    calls: list[Turn] = []
    for turn in turns[start:]:
        if turn.kind == CALL:
            calls.append(turn)
        elif turn.kind == RESULT and calls:
            call = calls.pop(0)
            if not _searches(call):
                found.append((call, re.sub(r"\n\n<system-reminder>.*", "", turn.text, flags=re.DOTALL)))
    return found


def woken(turns: list[Turn]) -> list[str]:
    """Return what the client said after the model had ended its turn, in which it called a tool."""
    spoke = max((at for at, turn in enumerate(turns) if turn.kind in SPOKEN), default=-1)
    behind = turns[spoke + 1 :]
    if not any(turn.kind == RESULT for turn in turns[: spoke + 1]) or any(turn.kind == CALL for turn in behind):
        return []
    return [turn.text for turn in behind if turn.kind == USER]


def is_over(steps: tuple[Step, ...], shown: list[str]) -> bool:
    """Return whether the last answer is one after which the steps end."""
    last = steps[len(shown) - 1].last if 0 < len(shown) <= len(steps) else ""
    return bool(last) and re.search(last, shown[-1]) is not None


def decide(turns: list[Turn], tools: list[Tool]) -> Call:
    """Return what the model does next."""
    _, script = asked(turns)
    if not tools or script is None:
        return Call()
    done = steps_done(turns)
    steps = SCRIPTS[script]
    if len(done) >= len(steps) or is_over(steps, [shown for _, shown in done]):
        return Call(text=DONE)
    step = steps[len(done)]
    ids = re.findall(step.handle or _ID, "\n".join(shown for _, shown in done))
    last = ids[-1] if ids else "NO-ID-WAS-SHOWN"
    args = {
        name: value.replace("{job}", last) if isinstance(value, str) else value for name, value in step.args.items()
    }
    if step.own:
        names = {tool.name for tool in tools}
        if (
            "ToolSearch" in names and step.tool not in names and turns[-1].kind == USER
        ):  # Claude Code hides some of its own
            return Call("ToolSearch", {"query": f"select:{step.tool}", "max_results": 1})
        return Call(step.tool, {name: int(last) if value == "{number}" else value for name, value in args.items()})
    return _called(step, args, turns, tools)


def _called(step: Step, args: dict[str, Any], turns: list[Turn], tools: list[Tool]) -> Call:
    for tool in tools:
        if "outlive" in tool.namespace + tool.name and re.search(rf"(?:^|[_.-]){step.tool}$", tool.name):
            return Call(tool.name, args, tool.namespace)
    names = {tool.name for tool in tools}
    searched = [turn.name for turn in turns if turn.kind == CALL and _searches(turn)]
    if {"tool_call", "tool_search"} <= names:  # OpenClaw: find, describe, then call by id
        if "tool_search" not in searched:
            return Call("tool_search", {"query": "run a shell command that survives restarts", "limit": 5})
        if "tool_describe" not in searched:
            return Call("tool_describe", {"id": f"outlive__{step.tool}"})
        return Call("tool_call", {"id": f"outlive__{step.tool}", "args": args})
    if len(searched) > MOST_SEARCHES:
        return Call(text=f"no tool {step.tool} among {sorted(names)}")
    if "ToolSearch" in names:  # Claude Code
        ours = [f"mcp__{server}__{tool}" for server in _SERVERS for tool in ("exec", "process")]
        return Call("ToolSearch", {"query": f"select:{','.join(ours)}", "max_results": 5})
    in_codex = _called_in_codex(step, args, turns, tools, searched)
    if in_codex is not None:
        return in_codex
    if "exec_command" in names:  # Codex did not wait for the server
        return Call("exec_command", PAUSE)
    return Call(text=f"no tool {step.tool} among {sorted(names)}")


def _called_in_codex(
    step: Step, args: dict[str, Any], turns: list[Turn], tools: list[Tool], searched: list[str]
) -> Call | None:
    names = {(tool.name, tool.namespace) for tool in tools}
    if ("exec", "functions") in names:  # its code mode: tools are called by a program
        if LOOK not in searched:
            return Call(LOOK, "text(ALL_TOOLS.filter(tool => tool.name.includes('outlive')))")
        return Call(CODE, f"text(await tools.{NAMESPACE}__{step.tool}({json.dumps(args)}));")
    if "tool_search" in {name for name, _ in names}:
        if any(NAMESPACE in turn.text for turn in turns if turn.kind == RESULT):
            return Call(step.tool, args, NAMESPACE)
        if searched[-1:] != ["tool_search"]:
            return Call("tool_search", {"query": "outlive exec process run a command", "limit": 8})
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._reply({})

    def do_GET(self) -> None:
        model = {"id": "fake-model", "object": "model", "type": "model"}
        self._reply({"object": "list", "data": [model], "models": []})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = json.loads(self._body() or b"{}")
        api = of_path(path)
        number = next(self.server.numbers)
        kind = "other" if api is None else api.__name__
        (self.server.log / f"{number:03}-{kind}.json").write_text(json.dumps(body, indent=1), encoding="utf-8")
        if api is None:
            return self._reply({"input_tokens": 10, "totalTokens": 10})
        call = decide(*api.read(body))
        if call.text == DONE:
            self.server.hold()
        answer = api.answer(body, call, number)
        if isinstance(answer, dict):
            return self._reply(answer)
        if kind == "Gemini" and "stream" not in path:
            return self._reply(answer[0][1])
        return self._stream(answer, done=kind == "Chat")

    def _body(self) -> bytes:
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            found = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            found = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(found) if self.headers.get("Content-Encoding") == "gzip" else found

    def _reply(self, answer: dict[str, Any]) -> None:
        self._send("application/json", json.dumps(answer).encode())

    def _stream(self, events: list[tuple[str, dict[str, Any]]], *, done: bool) -> None:
        text = "".join(f"event: {name}\n" * bool(name) + f"data: {json.dumps(event)}\n\n" for name, event in events)
        self._send("text/event-stream", (text + "data: [DONE]\n\n" * done).encode())

    def _send(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


class Model(ThreadingHTTPServer):
    """The model, from `with` on. Every request is kept in `log`, numbered, with the name of its API. It calls `hold` before it
    ends a turn."""

    daemon_threads = True

    def __init__(self, log: Path, hold: Callable[[], object] = lambda: None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.log = log
        self.hold = hold
        self.numbers = count(1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Model:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
