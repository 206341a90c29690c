"""What every client asks first is answered before the SDK is imported, and as the SDK's server would answer it."""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import version

import outlive
from outlive import config, parts, verbs
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.stdio import first_answers, serving, transport
from outlive.mcp.stdio.first_answers import FirstAnswers
from outlive.mcp.stdio.session import Session, Settings
from outlive.mcp.stdio.wire import Wire
from outlive.mcp.tools.offer import offered
from support.cli import Jobs, environment
from support.installed import Installed
from support.mcp_client import LEGACY_VERSION, MODERN_VERSION, McpRefusal, RawMcp, server_command
from support.tiers import first
from support.wait import until

pytestmark = pytest.mark.real_start  # what a server answers before it has imported the SDK

BOUND_S = 60
SDK = "pydantic_core"
NOBODY = {"name": "tests", "version": "1"}
# What clients say of themselves, as they were seen to
CLIENTS: dict[str, dict[str, Any]] = {
    "tests": {"capabilities": {}, "clientInfo": NOBODY},
    "Claude Code": {
        "capabilities": {"roots": {"listChanged": True}, "elicitation": {"form": {}, "url": {}}},
        "clientInfo": {
            "name": "claude-code",
            "title": "Claude Code",
            "version": "2.1.330",
            "description": "Anthropic's agentic coding tool",
            "websiteUrl": "https://claude.com/claude-code",
        },
    },
    "Codex": {
        "capabilities": {"experimental": {"codex/auth-change": {}}, "elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "codex-mcp-client", "title": "Codex", "version": "0.169.0"},
    },
    "Gemini CLI": {
        "capabilities": {"roots": {"listChanged": True}},
        "clientInfo": {"name": "gemini-cli-mcp-client", "version": "0.61.0"},
    },
    "OpenCode": {"capabilities": {}, "clientInfo": {"name": "opencode", "version": "1.18.33"}},
    "OpenClaw": {"capabilities": {}, "clientInfo": {"name": "openclaw-bundle-mcp", "version": "0.0.0"}},
    "an app host": {
        "capabilities": {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}},
        "clientInfo": {"name": 'ütf-8 \\ "quoted" \u0001', "version": ""},
    },
}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "exec alone": {"tools": "exec"},
    "process alone": {"tools": "process"},
    "channel": {"channel": True},
    "isolate": {"isolate": True},
    "text": {"answers": "text"},
    "both": {"answers": "both"},
    "configured": {
        "env": {
            "OUTLIVE_EXEC_BACKGROUND_MS": "1234",
            "OUTLIVE_EXEC_TIMEOUT_SEC": "90.5",
            "OUTLIVE_EXEC_MAX_OUTPUT_BYTES": "5000",
        }
    },
}
# Resources are offered by a part
RESOURCES = any(part.name == "push" for part in parts.every())
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def session_with(
    tools: str = "exec,process",
    *,
    channel: bool = False,
    isolate: bool = False,
    answers: str | None = None,
    env: Any = None,
) -> Session:
    settings = Settings(offered(tools), channel=channel, isolate=isolate, answers=answers)
    made = Session(settings, config.load(env or {}), Wire(-1, -1))
    made.environment = JobEnvironment({})
    return made


def encoded(message: dict[str, Any] | list[dict[str, Any]]) -> bytes:
    return json.dumps(message).encode()


def request(number: Any, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    found = {"jsonrpc": "2.0", "id": number, "method": method}
    return found if params is None else {**found, "params": params}


def legacy(client: dict[str, Any], protocol: str = LEGACY_VERSION) -> list[dict[str, Any]]:
    progress = {"_meta": {"progressToken": 2}}
    return [
        request(0, "initialize", {"protocolVersion": protocol, **client}),
        INITIALIZED,
        request("ünï", "tools/list"),
        request(2, "tools/list", progress),
        request(2**60, "ping"),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}},
        request(4, "tools/list", {}),
        *([request(5, "resources/list")] if RESOURCES else []),
    ]


def modern(client: dict[str, Any]) -> list[dict[str, Any]]:
    meta = {
        first_answers.VERSION: MODERN_VERSION,
        first_answers.CLIENT: client["clientInfo"],
        first_answers.CAPABILITIES: client["capabilities"],
        "progressToken": "t",
    }
    nameless = {name: value for name, value in meta.items() if name != first_answers.CLIENT}
    return [
        request("a", "server/discover", {"_meta": meta}),
        request("b", "tools/list", {"_meta": meta}),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "b"}},
        request("c", "tools/list", {"_meta": nameless}),
        *([request("d", "resources/list", {"_meta": meta})] if RESOURCES else []),
    ]


def by_sdk(session: Session, messages: list[dict[str, Any]]) -> list[bytes]:
    """What the SDK's server answers to each of these requests."""

    async def talk() -> list[bytes]:
        calls, built = serving.build(session)
        to, received = anyio.create_memory_object_stream[Any]()
        sent, of = anyio.create_memory_object_stream[SessionMessage]()
        answers = []
        with anyio.fail_after(BOUND_S), contextlib.closing(calls):
            async with anyio.create_task_group() as group, to, of:
                group.start_soon(built.run, received, sent, built.create_initialization_options())
                for message in messages:
                    await to.send(transport.message_of(encoded(message)))
                    if "id" in message:
                        answers.append(transport.line_of(await of.receive()))
                await to.aclose()
        return answers

    return anyio.run(talk)


def compared(options: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    session = session_with(**options)
    answers = [session.front.to(encoded(message), has_jobs=session._has_jobs) for message in messages]
    assert None not in answers, messages[answers.index(None)]
    assert [json.loads(answer) for answer in answers if answer] == [*map(json.loads, by_sdk(session, messages))]
    assert all(bool(answer) is ("id" in message) for answer, message in zip(answers, messages, strict=True))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("era", [legacy, modern])
def test_the_first_answers_are_those_of_the_sdk_but_for_the_order_of_members(era: Any, options: dict[str, Any]) -> None:
    compared(options, era(CLIENTS["tests"]))


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
@pytest.mark.parametrize("era", [legacy, modern])
def test_each_known_client_gets_the_answers_of_the_sdk(era: Any, client: dict[str, Any]) -> None:
    compared({}, era(client))


@pytest.mark.parametrize("protocol", [*version.KNOWN_PROTOCOL_VERSIONS, "2024-01-01", "latest", ""])
def test_each_version_is_negotiated_as_by_the_sdk(protocol: str) -> None:
    compared({}, legacy(CLIENTS["tests"], protocol))


def test_the_versions_are_those_of_the_sdk() -> None:
    assert first_answers.LEGACY_VERSIONS == version.HANDSHAKE_PROTOCOL_VERSIONS
    assert (first_answers.MODERN_VERSION,) == version.MODERN_PROTOCOL_VERSIONS


HELLO = request(0, "initialize", {"protocolVersion": LEGACY_VERSION, **CLIENTS["tests"]})
ENVELOPE = modern(CLIENTS["tests"])[0]["params"]


def changed(message: dict[str, Any], **params: Any) -> dict[str, Any]:
    return {**message, "params": {**message["params"], **params}}


LEFT = {
    "parameters that are null": encoded({**request(1, "ping"), "params": None}),
    "an unknown member": encoded({**request(1, "ping"), "more": 1}),
    "an answer": encoded({"jsonrpc": "2.0", "id": 1, "result": {}}),
    "a call": encoded(request(1, "tools/call", {"name": "exec", "arguments": {"command": "true"}})),
    "an unknown method": encoded(request(1, "tools/lists")),
    "tools before the handshake": encoded(request(1, "tools/list")),
    "a notification before the handshake": encoded(INITIALIZED),
    "an unknown notification": encoded({"jsonrpc": "2.0", "method": "notifications/odd"}),
    "a client without a name": encoded(changed(HELLO, clientInfo={"version": "1"})),
    "a client whose name is no text": encoded(changed(HELLO, clientInfo={"name": 1, "version": "1"})),
    "a client with icons": encoded(changed(HELLO, clientInfo={**NOBODY, "icons": []})),
    "capabilities that are a list": encoded(changed(HELLO, capabilities=[])),
    "a capability that is true": encoded(changed(HELLO, capabilities={"roots": True})),
    "a member of a capability that is a text": encoded(changed(HELLO, capabilities={"roots": {"listChanged": "yes"}})),
    "a version that is no text": encoded(changed(HELLO, protocolVersion=1)),
    "an unknown parameter": encoded(changed(HELLO, more=1)),
    "a handshake with metadata": encoded(changed(HELLO, _meta={})),
    "an unknown modern version": encoded(
        request(1, "tools/list", {"_meta": {**ENVELOPE["_meta"], first_answers.VERSION: "2027-01-01"}})
    ),
    "a page": encoded(request(1, "tools/list", {**ENVELOPE, "cursor": "x"})),
    "a log level": encoded(
        request(1, "tools/list", {"_meta": {**ENVELOPE["_meta"], "io.modelcontextprotocol/logLevel": "odd"}})
    ),
    "a progress token that is a list": encoded(
        request(1, "tools/list", {"_meta": {**ENVELOPE["_meta"], "progressToken": []}})
    ),
    "no capabilities": encoded(request(1, "tools/list", {"_meta": {first_answers.VERSION: MODERN_VERSION}})),
    "metadata that is a list": encoded(request(1, "ping", {"_meta": []})),
    "a ping of the modern era": encoded(request(1, "ping", ENVELOPE)),
}


@pytest.mark.parametrize("line", LEFT.values(), ids=LEFT)
def test_what_is_not_exactly_known_is_left_to_the_sdk(line: bytes) -> None:
    assert session_with().front.to(line) is None


def front_after(*messages: dict[str, Any]) -> FirstAnswers:
    front = session_with().front
    for message in messages:
        assert front.to(encoded(message)) is not None
    return front


def test_a_connection_stays_in_its_era() -> None:
    assert front_after(HELLO).to(encoded(request(1, "tools/list", ENVELOPE))) is None
    assert front_after(request(1, "tools/list", ENVELOPE)).to(encoded(HELLO)) is None
    assert front_after(request(1, "ping")).to(encoded(request(2, "tools/list", ENVELOPE))) is None
    assert front_after(HELLO).to(encoded(HELLO)) is None, "a second handshake"


def test_while_something_waits_for_the_sdk_no_notification_is_taken_from_it() -> None:
    cancelled = encoded({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
    front = front_after(HELLO)
    assert front.to(cancelled) == b""
    assert front.to(cancelled, waiting=True) is None
    assert front.to(encoded(INITIALIZED), waiting=True) is None
    assert front.replay == [encoded(HELLO)]
    assert front.to(encoded(request(6, "ping")), waiting=True)


def test_only_what_the_session_needs_is_said_again_to_the_sdk() -> None:
    front = front_after(request(7, "ping"), HELLO, INITIALIZED, INITIALIZED, *(request(n, "ping") for n in range(20)))
    assert front.replay == [encoded(request(7, "ping")), encoded(HELLO), encoded(INITIALIZED)]
    assert front.repeated == [7, 0]
    first, *others, _resources = modern(CLIENTS["tests"])
    assert front_after(first, *others).replay == [encoded(first)]


def test_only_verbs_of_the_command_line_are_not_loaded_for_the_list() -> None:
    assert [name for name in verbs.names() if verbs.load(name).right] == verbs.offered()


# --- the server ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=first(1, ["legacy", "modern"]))  # legacy: the handshake is said again to the SDK
def server(request: pytest.FixtureRequest, place: Path) -> Iterator[RawMcp]:
    with RawMcp(log=place / "mcp.log", era=request.param) as raw:
        yield raw


BOTH_ERAS = pytest.mark.parametrize("server", ["legacy", "modern"], indirect=True)


def has_sdk(server: RawMcp) -> bool:
    return SDK in Path(f"/proc/{server.pid}/maps").read_text()


def begun(server: RawMcp) -> RawMcp:
    """A server after the first request of every client."""
    server.start()
    if server.era == "modern":
        assert server.request("server/discover")["supportedVersions"] == [MODERN_VERSION]
    return server


@BOTH_ERAS
def test_the_sdk_is_imported_at_the_first_request_that_it_has_to_answer(server: RawMcp) -> None:
    begun(server)
    assert len(server.request("tools/list")["tools"]) == 2
    assert server.request("resources/list")["resources"] == []
    assert len(server.request("tools/list")["tools"]) == 2
    assert not has_sdk(server)
    assert server.call("exec", command="echo one")["output"] == "one\n"
    assert has_sdk(server)
    assert len(server.request("tools/list")["tools"]) == 2
    assert not server.others


def test_the_list_of_tools_takes_at_most_ten_megabytes(server: RawMcp) -> None:
    # pip does this at an installation; a checkout has bytecode of what was imported only
    compileall.compile_dir(Path(outlive.__file__).parent, quiet=1)
    server.start().request("tools/list")
    rollup = Path(f"/proc/{server.pid}/smaps_rollup").read_text()
    assert int(rollup.partition("Pss:")[2].split()[0]) <= 10 * 1024, rollup


def test_the_fork_server_starts_when_the_client_has_the_tools(server: RawMcp) -> None:
    server.start().request("tools/list")
    until(lambda: "socket:" in " ".join(links(server.pid)), what="the socket of the fork server")
    assert not has_sdk(server)


def links(pid: int) -> list[str]:
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(entry.readlink()))
    return found


def test_requests_that_come_at_once_are_each_answered_once(server: RawMcp) -> None:
    sent: list[int] = []
    lines: list[Any] = []
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(server, "send", lines.append)
        if server.era == "legacy":
            hello = {"protocolVersion": LEGACY_VERSION, **CLIENTS["tests"]}
            sent.append(server.begin("initialize", hello))
            server.notify("notifications/initialized")
        sent += [server.begin("tools/list"), server.begin_call("exec", command="echo one")]
        server.notify("notifications/cancelled", {"requestId": sent[0]})
        sent += [server.begin("tools/list"), server.begin("resources/templates/list"), server.begin("resources/list")]
    together = b"".join(encoded(line) + b"\n" for line in lines)
    cut = len(together) // 2
    server.send_bytes(together[:cut])
    server.send_bytes(together[cut:])
    answers = {number: server.answer(number) for number in sent}
    assert answers[sent[-5]] == answers[sent[-3]], "the list before and after the import"
    assert server.call("exec", command="true")["exit_code"] == 0
    assert not server._answers, "an answer came twice"


def test_a_line_may_come_in_pieces(server: RawMcp) -> None:
    server.start()
    line = encoded(request(70, "ping") if server.era == "legacy" else request(70, "tools/list", ENVELOPE)) + b"\r\n"
    for piece in (line[:1], line[1:9], line[9:-1], line[-1:]):
        server.send_bytes(piece)
    assert server.answer(70) is not None
    assert server.call("exec", command="true")["exit_code"] == 0


def test_a_client_that_goes_at_once_leaves_nothing_behind(server: RawMcp) -> None:
    server.close_stdin()
    assert server.wait() == 0


def test_a_client_that_goes_after_the_list_leaves_nothing_behind(server: RawMcp) -> None:
    server.start().request("tools/list")
    server.close_stdin()
    assert server.wait() == 0
    assert not server.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_call_ends_the_server(server: RawMcp, number: int) -> None:
    server.start().request("tools/list")
    server.kill(number)
    assert server.wait() == -number


def test_a_request_that_is_cancelled_during_the_import_is_not_answered(server: RawMcp, jobs: Jobs) -> None:
    server.start().request("tools/list")
    call = server.begin_call("exec", command="sleep 600", timeout=60)
    server.cancel(call)
    other = server.begin("resources/templates/list")
    assert server.answer(other)["resourceTemplates"]
    assert server.call("process", action="list")["ok"]
    assert not server.is_answered(call)
    server.close_stdin()
    assert server.wait() == 0
    jobs.end()  # its command, which was starting when the call was cancelled


def test_a_configuration_that_is_wrong_is_told_on_stderr_since_stdout_is_the_clients(place: Path) -> None:
    done = subprocess.run(
        server_command(),
        env=environment({"OUTLIVE_EXEC_TIMEOUT_SEC": "x"}),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert re.fullmatch(rb"outlive mcp: config_error: .*OUTLIVE_EXEC_TIMEOUT_SEC.*\n", done.stderr)


# --- what stdin and stdout may be ------------------------------------------------------------------------------------

TALK = [
    HELLO,
    INITIALIZED,
    request(1, "tools/list"),
    request(2, "tools/call", {"name": "exec", "arguments": {"command": "seq 3000", "max_bytes": 50_000}}),
]


def told(found: bytes) -> dict[Any, dict[str, Any]]:
    return {line["id"]: line for line in map(json.loads, found.splitlines())}


def check(found: dict[Any, dict[str, Any]]) -> None:
    assert found.keys() == {0, 1, 2}
    assert found[0]["result"]["serverInfo"]["name"] == "outlive"
    assert "\n2999\n" in found[2]["result"]["content"][0]["text"]


def test_stdin_and_stdout_may_be_regular_files(place: Path) -> None:
    (place / "in").write_bytes(
        b"".join(encoded(one) + b"\n" for one in TALK[:3]) + encoded(request(9, "resources/list"))
    )
    with (place / "in").open() as stdin, (place / "out").open("w") as stdout:
        subprocess.run(server_command(), env=environment(), stdin=stdin, stdout=stdout, check=True, timeout=BOUND_S)
    found = told((place / "out").read_bytes())
    assert found.keys() == {0, 1, 9}


def test_stdout_may_be_a_regular_file_that_a_call_is_answered_into(place: Path) -> None:
    with (place / "out").open("wb") as stdout:
        served = subprocess.Popen(server_command(), env=environment(), stdin=subprocess.PIPE, stdout=stdout)
    assert served.stdin is not None
    served.stdin.write(b"".join(encoded(one) + b"\n" for one in TALK))
    served.stdin.flush()
    until(lambda: (place / "out").read_bytes().count(b"\n") == 3, what="three answers", timeout=BOUND_S)
    served.stdin.close()
    assert served.wait(BOUND_S) == 0
    check(told((place / "out").read_bytes()))


@pytest.mark.parametrize("kind", first(1, ["socket", "terminal"]))
def test_stdin_and_stdout_may_be_one_socket_or_terminal(kind: str) -> None:
    if kind == "socket":
        pair = socket.socketpair()
        ours, theirs = pair[0].detach(), pair[1].detach()
    else:
        ours, theirs = pty.openpty()
        subprocess.run(["stty", "raw", "-echo"], stdin=theirs, check=True)
    served = subprocess.Popen(server_command(), env=environment(), stdin=theirs, stdout=theirs)
    os.close(theirs)
    found = b""
    try:
        for one in TALK:
            os.write(ours, encoded(one) + b"\n")
            lines = found.count(b"\n") + ("id" in one)
            while found.count(b"\n") < lines:
                found += os.read(ours, 1 << 16)
    finally:
        os.close(ours)
    assert served.wait(BOUND_S) in (0, -signal.SIGHUP)
    check(told(found))


# --- an update before the first call ---------------------------------------------------------------------------------


@pytest.mark.parametrize("change", first(1, ["removed", "replaced"]))
def test_an_update_before_the_first_call_leaves_the_server_its_own_code(
    change: str, place: Path, tmp_path: Path
) -> None:
    old = Installed(tmp_path)
    with RawMcp(log=place / "mcp.log", command=[*old.command, "mcp"], env=old.env) as server:
        server.start().request("tools/list")
        until(lambda: "socket:" in " ".join(links(server.pid)), what="the fork server, right before the code is held")
        server.request("ping")
        old.change(change)
        assert server.call("exec", command="echo kept")["output"] == "kept\n"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_tools_are_listed_before_the_sdk_is_imported_for_what_came_right_before(
    era: str, place: Path, tmp_path: Path
) -> None:
    old = Installed(tmp_path)
    (old.package.parent / "mcp.py").write_text("raise ImportError('this is where the SDK would be')\n")
    with RawMcp(log=place / "mcp.log", era=era, command=[*old.command, "mcp"], env=old.env) as server:
        begun(server)
        first, second = server.begin("resources/templates/list"), server.begin("tools/list")
        assert len(server.answer(second)["tools"]) == 2
        assert not server.is_answered(first)
        with pytest.raises(McpRefusal, match="where the SDK would be"):
            server.answer(first)


def test_without_the_sdk_each_call_is_refused_with_the_reason(place: Path, tmp_path: Path) -> None:
    old = Installed(tmp_path)
    with RawMcp(log=place / "mcp.log", command=[*old.command, "mcp"], env=old.env) as server:
        listed = server.start().request("tools/list")
        (old.package.parent / "mcp.py").write_text("raise ImportError('being replaced')\n")
        for _ in range(2):
            with pytest.raises(McpRefusal, match=r"updated or removed.*being replaced.*Start the server again"):
                server.call("exec", command="true")
        assert server.request("tools/list") == listed
