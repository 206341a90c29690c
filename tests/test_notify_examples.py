"""The notification commands of examples/notify do what they say: the text of each file, run by a real job.

The commands they call are stand-ins that write down what they were given; curl is also tried for real.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from outlive import limits
from support.cli import Cli, environment
from support.mcp_client import McpSession, RawMcp
from support.notified import (
    CALLERS,
    CALLS,
    EVIL,
    EXAMPLES,
    PAGE,
    README,
    SCRIPTS,
    Host,
    Play,
    Told,
    deliveries,
    needs_curl,
    needs_flock,
    needs_jq,
    nothing_was_run,
    tell,
    text_of,
    tools_in,
)
from support.tiers import MODERN_FIRST, first
from support.wait import until


@pytest.fixture
def tools(place: Path) -> Path:
    return tools_in(place)


@pytest.fixture
def host(place: Path, tools: Path) -> Callable[[str], Host]:
    return lambda name: Host(name, place)


@pytest.fixture(autouse=True)
def jq(tools: Path) -> None:
    if where := shutil.which("jq"):
        (tools / "jq").symlink_to(where)


# --- all of them -----------------------------------------------------------------------------------------------------


def test_every_example_is_tried_and_named() -> None:
    names = {path.name for path in SCRIPTS}
    assert names == {*CALLS, "queue-worker.sh"}
    assert all(f"[{name}]({name})" in README for name in names)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_an_example_says_what_it_does_needs_and_how_to_test_it(path: Path) -> None:
    header = re.split(r"\n(?!#)", path.read_text(encoding="utf-8"), maxsplit=1)[0]
    assert all(f"\n# {word}:" in header for word in ("Needs", "Use", "Test"))
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0


# By default each caller once, by text and by path in turn
_USUAL = dict(zip(CALLS, itertools.cycle(("text", "path")), strict=False))


@pytest.mark.fault("S16")
@pytest.mark.parametrize(
    ("name", "by"),
    [
        pytest.param(name, by, marks=[needs_jq] * (name == "desktop.sh") + [pytest.mark.slow] * (by != _USUAL[name]))
        for name in CALLS
        for by in ("text", "path")
    ],
)
def test_nothing_that_a_value_holds_is_run(
    name: str, by: str, host: Play, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what the caller says, nor the job's title and words, nor where its files are; not even bytes."""
    command, variables = CALLS[name]
    played = host(command)
    root = place / f"jobs {EVIL}".replace("/", "_")
    monkeypatch.setenv("OUTLIVE_ROOT", str(root))
    cli = Cli(root)
    title = EVIL + os.fsdecode(b"\xff\xfe")
    told = tell(cli, name, variables, by=by, title=title)
    assert told.success, told.result
    assert nothing_was_run(place)
    if command in ("openclaw", "claude", "codex"):
        words = " ".join(played.argv)
        assert f"job.finished job_id={told.job} event_path={told.path}" in words
        assert "it's" not in words.replace(EVIL, "").replace(str(root), ""), "the title was passed on"


@pytest.mark.parametrize("name", first(2, CALLERS))
def test_a_command_that_is_not_there_is_a_failed_delivery(name: str, cli: Cli, tools: Path) -> None:
    command, variables = CALLS[name]
    assert not (tools / command).exists()
    told = tell(cli, name, variables)
    assert not told.success
    assert told.result["exit_code"]


@pytest.mark.parametrize("name", first(2, CALLERS))
def test_a_command_that_fails_is_a_failed_delivery(name: str, cli: Cli, host: Play) -> None:
    command, variables = CALLS[name]
    played = host(command)
    played.fails_with(9)
    told = tell(cli, name, variables)
    assert played.was_called
    assert not told.success
    assert told.result["error"]


@pytest.mark.parametrize("name", [name for name, (_, variables) in CALLS.items() if "SESSION_ID" in str(variables)])
def test_without_outlive_on_the_path_a_turn_is_a_failed_delivery(name: str, cli: Cli, host: Play, tools: Path) -> None:
    command, variables = CALLS[name]
    played = host(command)
    (tools / "outlive").unlink()
    assert not tell(cli, name, variables).success
    assert not played.was_called


@pytest.mark.parametrize("name", ["openclaw-agent.sh", "claude-code.sh", "codex.sh", "webhook.sh"])
def test_without_its_variables_nobody_is_called(name: str, cli: Cli, host: Play) -> None:
    played = host(CALLS[name][0])
    assert not tell(cli, name, {}).success
    assert not played.was_called


# --- OpenClaw --------------------------------------------------------------------------------------------------------


def test_a_system_event_wakes_the_session_that_is_named(cli: Cli, host: Play) -> None:
    openclaw = host("openclaw")
    told = tell(cli, "openclaw-event.sh", {"OPENCLAW_SESSION_KEY": "agent:main:a b"})
    text = f"job.finished job_id={told.job} event_path={told.path}"
    assert openclaw.argv == [
        *("system", "event", "--mode", "now", "--session-key", "agent:main:a b", "--text", text),
    ]


def test_a_system_event_wakes_the_main_session_otherwise(cli: Cli, host: Play) -> None:
    openclaw = host("openclaw")
    told = tell(cli, "openclaw-event.sh", {})
    text = f"job.finished job_id={told.job} event_path={told.path}"
    assert openclaw.argv == ["system", "event", "--mode", "now", "--text", text]


def test_a_turn_of_openclaw_is_a_job_of_its_own(cli: Cli, host: Play) -> None:
    openclaw = host("openclaw")
    told = tell(cli, "openclaw-agent.sh", CALLS["openclaw-agent.sh"][1])
    assert openclaw.argv == [
        *("agent", "--deliver", "--reply-channel", "a channel", "--session-id", EVIL, "-m"),
        f"job.finished job_id={told.job} event_path={told.path}",
    ]
    assert openclaw.stdin == b""
    (delivery,) = deliveries(cli)
    assert (delivery["state"], delivery["exit_code"]) == ("exited", 0)
    assert delivery["job_id"] != told.job


def test_a_turn_that_fails_can_be_looked_into(cli: Cli, host: Play) -> None:
    host("openclaw").fails_with(7)
    tell(cli, "openclaw-agent.sh", CALLS["openclaw-agent.sh"][1])
    (delivery,) = deliveries(cli)
    assert (delivery["state"], delivery["exit_code"]) == ("exited", 7)


@pytest.mark.parametrize("name", ["openclaw-agent.sh", "claude-code.sh"])
def test_a_turn_that_takes_long_counts_as_delivered_and_goes_on(name: str, cli: Cli, tools: Path, work: Path) -> None:
    """Told by a shorter patience: the same text, with 0 s in place of 25."""
    command, variables = CALLS[name]
    os.mkfifo(work / "over")
    (tools / command).write_text('#!/bin/sh\nread -r _ < "$OVER"\nexit 4\n')
    (tools / command).chmod(0o755)
    text = text_of(name)
    assert "--snapshot-after 25s" in text
    env = {**variables, "OVER": str(work / "over")}
    words = ["--notify-command", text.replace("25s", "0"), "--", "sh", "-c", "exit 3"]
    assert Told(cli, cli.ok("run", *words, env=env)["job_id"]).success
    (delivery,) = deliveries(cli)
    assert delivery["state"] == "running"
    (work / "over").write_text("now\n")
    assert cli.ok("wait", delivery["job_id"])["exit_code"] == 4


def test_the_patience_of_a_turn_ends_before_the_command_would_be_killed() -> None:
    for name in ("openclaw-agent.sh", "claude-code.sh"):
        found = re.findall(r"--snapshot-after (\d+)s", text_of(name))
        assert [float(seconds) < limits.SINK_TIMEOUT_S - 3 for seconds in found] == [True]


# --- Claude Code -----------------------------------------------------------------------------------------------------


def test_a_turn_of_claude_goes_on_with_the_session_in_the_directory_it_belongs_to(
    cli: Cli, host: Play, place: Path
) -> None:
    claude = host("claude")
    project = place / "a project"
    project.mkdir()
    given = {"CLAUDE_CODE_SESSION_ID": "1-2-3", "CLAUDE_PROJECT_DIR": str(project), "CLAUDECODE": "1"}
    told = tell(cli, "claude-code.sh", given)
    flag, prompt, *rest = claude.argv
    assert (flag, rest) == ("-p", ["--resume", "1-2-3", "--allowedTools", "Read,mcp__outlive__process"])
    assert prompt.startswith(f"job.finished job_id={told.job} event_path={told.path}\n")
    assert claude.around == [str(project), "unset"]
    assert claude.stdin == b""


@MODERN_FIRST
def test_over_mcp_claude_is_found_by_what_the_server_was_given(
    mcp_connect: Callable[..., McpSession], cli: Cli, host: Play, work: Path
) -> None:
    """Claude Code tells the servers it starts which session they belong to."""
    claude = host("claude")
    given = {"CLAUDE_CODE_SESSION_ID": "1-2-3", "CLAUDE_PROJECT_DIR": str(work), "CLAUDECODE": "1", "SHELL": "/bin/sh"}
    session = mcp_connect(env=given)
    command = f"sh {shlex.quote(str(EXAMPLES / 'claude-code.sh'))}"
    job = session.call("exec", command="exit 3", notify_command=command)["job_id"]
    assert Told(cli, job).success
    assert "1-2-3" in claude.argv
    assert claude.around == [str(work), "unset"]


# --- Codex ------------------------------------------------------------------------------------------------------------


@MODERN_FIRST
@pytest.mark.parametrize(("thread", "known"), [("01a21f6a-0bb6-73d1", True), ("a\nb", False), (7, False)])
def test_over_mcp_codex_is_found_by_the_thread_that_the_call_names(
    thread: object, known: bool, raw_mcp: Callable[..., RawMcp], cli: Cli, host: Play, era: str
) -> None:
    codex = host("codex")
    command = f"sh {shlex.quote(str(EXAMPLES / 'codex.sh'))}"
    arguments = {"command": "exit 3", "notify_command": command, "detail": "full"}
    raw = raw_mcp(era=era)
    params = {"name": "exec", "arguments": arguments, "_meta": {"threadId": thread}}
    job = raw.answer(raw.begin("tools/call", params))["structuredContent"]["job_id"]
    assert (Told(cli, job).success, codex.was_called) == (known, known)
    assert not known or codex.argv[:3] == ["queue", "--thread", thread]


# --- the PATH --------------------------------------------------------------------------------------------------------

SHOW_PATH = 'printf "%s" "$PATH" > path'


@pytest.mark.parametrize(("shell", "whose"), [("sh -lc", "the profile's"), ("sh -c", "the caller's")])
def test_the_path_on_the_command_line(shell: str, whose: str, cli: Cli, tools: Path, work: Path) -> None:
    callers = f"/opt/mine:{os.environ['PATH']}"
    words = ["--shell-wrapper", shell, "--notify-command", SHOW_PATH, "exit 3"]
    Told(cli, cli.ok("run", *words, env={"PATH": callers})["job_id"])
    assert (work / "path").read_text() == {"the profile's": str(tools), "the caller's": callers}[whose]


def test_the_path_on_the_command_line_is_by_default_the_profiles(cli: Cli, tools: Path, work: Path) -> None:
    Told(cli, cli.ok("run", "--notify-command", SHOW_PATH, "exit 3")["job_id"])
    assert (work / "path").read_text() == str(tools)


@MODERN_FIRST
def test_the_path_over_mcp_is_the_login_shells_and_then_the_servers(
    mcp_connect: Callable[..., McpSession], cli: Cli, tools: Path, work: Path
) -> None:
    servers = f"/opt/mine:{os.environ['PATH']}"
    session = mcp_connect(env={"PATH": servers, "SHELL": "/bin/sh"}, cwd=work)
    Told(cli, session.call("exec", command="exit 3", notify_command=SHOW_PATH)["job_id"])
    login, *own = (work / "path").read_text().split(":")
    assert login == str(tools)
    assert own == [entry for entry in dict.fromkeys(servers.split(":")) if entry and entry != login]


# --- webhook ---------------------------------------------------------------------------------------------------------


def test_a_webhook_gets_the_event_and_nothing_of_it_is_on_the_command_line(cli: Cli, host: Play) -> None:
    curl = host("curl")
    told = tell(cli, "webhook.sh", {"WEBHOOK_URL": "https://example.org/a b"})
    assert json.loads(curl.stdin) == told.event
    assert curl.argv[-2:] == ["--url", "https://example.org/a b"]
    assert told.job not in " ".join(curl.argv)


def test_all_tries_of_a_webhook_end_before_the_command_would_be_killed(cli: Cli, host: Play) -> None:
    curl = host("curl")
    tell(cli, "webhook.sh", {"WEBHOOK_URL": "https://example.org/"})
    one, last_start = (int(curl.argv[curl.argv.index(flag) + 1]) for flag in ("--max-time", "--retry-max-time"))
    assert one + last_start < limits.SINK_TIMEOUT_S - 2


class Receiver(BaseHTTPRequestHandler):
    """Answers with the next of `codes`, the last one for ever."""

    codes: ClassVar[list[int]] = []
    got: ClassVar[list[tuple[dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((dict(self.headers), body))
        self.send_response(self.codes.pop(0) if len(self.codes) > 1 else self.codes[0])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def receive(tools: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """`receive(503, 200)` is the URL of a server on loopback; the real curl is on the PATH."""
    (tools / "curl").symlink_to(shutil.which("curl") or "curl")
    monkeypatch.setenv("NO_PROXY", "*")
    with contextlib.ExitStack() as stack:

        def on(*codes: int) -> str:
            Receiver.codes, Receiver.got = list(codes), []
            server = stack.enter_context(HTTPServer(("127.0.0.1", 0), Receiver))
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}/hook?a=b%20c"

        yield on


@needs_curl
def test_a_real_webhook_receives_the_event(cli: Cli, receive: Callable[..., str], work: Path) -> None:
    (work / "headers").write_text("Authorization: Bearer s3cret\n")
    told = tell(cli, "webhook.sh", {"WEBHOOK_URL": receive(204), "WEBHOOK_HEADERS": str(work / "headers")}, by="path")
    assert told.success, told.result
    ((headers, body),) = Receiver.got
    assert json.loads(body) == told.event
    assert headers["Content-Type"] == "application/json"
    assert headers["Authorization"] == "Bearer s3cret"


@needs_curl
def test_a_webhook_that_is_busy_is_asked_again_with_the_same_event(cli: Cli, receive: Callable[..., str]) -> None:
    told = tell(cli, "webhook.sh", {"WEBHOOK_URL": receive(503, 200)})
    assert told.success, told.result
    assert [json.loads(body) for _, body in Receiver.got] == [told.event] * 2


@needs_curl
@pytest.mark.parametrize(("code", "tries"), [(404, 1), (500, 3)])
def test_a_webhook_that_refuses_is_a_failed_delivery(
    code: int, tries: int, cli: Cli, receive: Callable[..., str]
) -> None:
    told = tell(cli, "webhook.sh", {"WEBHOOK_URL": receive(code)})
    assert (told.success, told.result["exit_code"]) == (False, 22)
    assert len(Receiver.got) == tries


@needs_curl
@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/", "file:///etc/hostname"])
def test_a_webhook_that_is_not_there_is_a_failed_delivery(url: str, cli: Cli, receive: Callable[..., str]) -> None:
    import socket

    with socket.socket() as sock:  # bound, and no process listens
        sock.bind(("127.0.0.1", 0))
        told = tell(cli, "webhook.sh", {"WEBHOOK_URL": url.format(port=sock.getsockname()[1])})
    assert not told.success
    assert told.result["exit_code"] in (1, 7)  # a protocol that is not allowed; no connection


# --- the desktop -----------------------------------------------------------------------------------------------------


@needs_jq
def test_a_desktop_notification_shows_the_name_and_no_markup(cli: Cli, host: Play) -> None:
    shown = host("notify-send")
    tell(cli, "desktop.sh", {}, title="--help & <b>$(touch pwned)</b>")
    assert shown.argv == [*("--app-name", "outlive", "--", "--help & <b>$(touch pwned)</b>"), "exited 3 after 0 s"]


@needs_jq
@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            {"state": "killed", "signal": "SIGKILL", "exit_code": None, "duration_ms": 61_500},
            "killed SIGKILL after 61 s",
        ),
        ({"state": "failed", "signal": None, "exit_code": None, "reason": "launch"}, "failed launch after 0 s"),
        ({"event_type": "job.output.matched"}, "job.output.matched  after 0 s"),
        ({"state": "<i>"}, "&lt;i&gt;  after 0 s"),
    ],
)
def test_every_end_can_be_shown(event: dict[str, Any], text: str, host: Play, tools: Path) -> None:
    shown = host("notify-send")
    data = json.dumps({"job_id": "01J", **event}).encode()
    subprocess.run(["sh", EXAMPLES / "desktop.sh"], input=data, env=environment({"PATH": str(tools)}), check=True)
    assert shown.argv[-2:] == ["01J", text]


# --- the queue -------------------------------------------------------------------------------------------------------


def work_off(tools: Path, *words: str) -> int:
    env = environment({"PATH": str(tools)})
    return subprocess.run(["sh", EXAMPLES / "queue-worker.sh", *words], env=env, check=False).returncode


@needs_flock
def test_a_queue_is_worked_off_in_order_and_goes_on_where_it_failed(cli: Cli, tools: Path, work: Path) -> None:
    assert work_off(tools, "events", "false") == 0, "there is no queue yet"
    jobs = [cli.ok("run", "--notify-file", "events", "--title", EVIL, f"exit {code}")["job_id"] for code in range(3)]
    until(lambda: (work / "events").exists() and (work / "events").read_bytes().count(b"\n") == len(jobs))
    worker = tools / "deliver"
    worker.write_text('#!/bin/sh\n[ ! -e down ] || exit 1\ncat >> "out $1"\n')
    worker.chmod(0o755)

    def delivered() -> list[str]:
        path = work / "out a b"
        return [json.loads(line)["job_id"] for line in path.read_text().splitlines()] if path.exists() else []

    (work / "down").touch()
    assert work_off(tools, "events", "deliver", "a b") == 1
    assert delivered() == []
    (work / "down").unlink()
    assert work_off(tools, "events", "deliver", "a b") == 0
    assert sorted(delivered()) == sorted(jobs)
    assert work_off(tools, "events", "deliver", "a b") == 0
    assert len(delivered()) == len(jobs), "an event is done once"
    with (work / "events").open("a") as file:
        file.write('{"job_id":"half')
        file.flush()
        assert work_off(tools, "events", "deliver", "a b") == 0
        assert len(delivered()) == len(jobs), "half an event is none"
        file.write('"}\n')
    assert work_off(tools, "events", "deliver", "a b") == 0
    assert delivered()[-1] == "half"
    assert not list(work.rglob("pwned"))


@needs_flock
def test_an_event_that_fails_in_the_middle_is_the_next_ones_first(tools: Path, work: Path) -> None:
    (work / "events").write_text("".join(f"{number}\n" for number in range(5)))
    worker = tools / "deliver"
    worker.write_text('#!/bin/sh\nread -r event\n[ "$event" != 2 ] || [ -e up ] || exit 1\necho "$event" >> out\n')
    worker.chmod(0o755)
    assert work_off(tools, "events", "deliver") == 1
    assert (work / "out").read_text().split() == ["0", "1"]
    (work / "up").touch()
    assert work_off(tools, "events", "deliver") == 0
    assert (work / "out").read_text().split() == ["0", "1", "2", "3", "4"]


@needs_flock
def test_two_passes_at_a_time_do_not_tell_twice(tools: Path, work: Path) -> None:
    (work / "events").write_text("one\n")
    os.mkfifo(work / "go")
    worker = tools / "deliver"
    worker.write_text("#!/bin/sh\ncat >> out\n[ ! -e begun ] || exit 0\ntouch begun\nread -r _ < go\n")
    worker.chmod(0o755)
    words = ["sh", str(EXAMPLES / "queue-worker.sh"), "events", "deliver"]
    with subprocess.Popen(words, env=environment({"PATH": str(tools)})) as first:
        until((work / "begun").exists)
        assert work_off(tools, "events", "deliver") == 0
        (work / "go").write_text("\n")
    assert first.returncode == 0
    assert (work / "out").read_text() == "one\n"


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_names_what_a_command_gets(cli: Cli, work: Path) -> None:
    words = ["--shell-wrapper", "sh -c", "--notify-command", "env > told", "exit 3"]
    Told(cli, cli.ok("run", *words, env={"OUTLIVE_ROOT": str(cli.root)})["job_id"])
    given = {line.partition("=")[0] for line in (work / "told").read_text().splitlines() if line.startswith("OUTLIVE_")}
    assert given
    assert all(f"`{name}`" in PAGE for name in given), given
    assert f"killed after {limits.SINK_TIMEOUT_S:.0f} s" in PAGE
