"""An update or a removal of outlive while jobs and servers of the old version run: they go on with their own code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive import verbs
from outlive.core.records import CONTROL, READ
from support import examples, pair, processes, tasks_client
from support.cli import Cli
from support.installed import Installed
from support.jobs import IS_CLEANED
from support.jobs import aged as aged_job
from support.mcp_client import RawMcp
from support.serve import INITIALIZE, Served
from support.tiers import first, slow
from support.wait import until

MARK = "until [ -e {0} ]; do sleep 0.1; done"
# More output than the quota, a line that is watched for, an end of its own
WORKER = f"echo begun; {MARK.format('go')}; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo needle; {MARK.format('end')}; exit 7"
QUOTA = 1_048_576
BOTH_CHANGES = pytest.mark.parametrize("change", first(1, ["removed", "replaced"]))


@pytest.fixture(autouse=True)
def collecting(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """The end of a job has those deleted that ended a week ago."""
    if IS_CLEANED:
        monkeypatch.setenv("OUTLIVE_GC_OLDER_THAN", "7d")


@pytest.fixture
def old(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


@pytest.fixture
def server(old: Installed, place: Path) -> Iterator[RawMcp]:
    """A server of the old version, which has answered nothing yet."""
    with RawMcp(log=place / "mcp.log", command=[*old.command, "mcp"], env=old.env) as raw:
        yield _holding(raw.start())


def _holding(server: RawMcp) -> RawMcp:
    """A server that holds its code: its first answers come before it does."""
    until(lambda: processes.descendants(server.pid), what="the fork server, right before the code is held")
    server.request("tools/list")
    return server


def _start(by: Cli | RawMcp, old: Installed, command: str, **arguments: Any) -> str:
    """Start a job by code of the old version."""
    if isinstance(by, RawMcp):
        return str(by.call("exec", command=command, yield_ms=0, **arguments)["job_id"])
    flags = [word for name, value in arguments.items() for word in _flag(name, value)]
    words = ["run", "--snapshot-after", "0", *flags, "--", "sh", "-c", command]
    return str(by.ok(*words, env=old.env)["job_id"])


def _flag(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    return [flag, json.dumps(value[0]) if isinstance(value, list) else str(value)]


def _begun(server: RawMcp, job: str) -> None:
    until(lambda: "begun" in server.call("process", action="poll", job_id=job, since_seq=0)["output"], what="begun")


def _kill_supervisor(job: str, both: bool) -> None:
    supervisor = pair.supervisor(job)
    if both:
        pair.end_both(supervisor)
        return
    guardian = pair.guardian(job)
    pair.end(supervisor)
    until(lambda: pair.supervisor_now(job) == guardian, what="the takeover")


@pytest.mark.parametrize(
    ("starter", "both", "change"),
    [
        slow(("cli", False, "removed")),
        ("cli", True, "replaced"),
        slow(("server", False, "replaced")),
        slow(("server", True, "removed")),
    ],
)
def test_a_job_goes_on_with_everything_that_it_was_asked_for(
    starter: str, both: bool, change: str, old: Installed, server: RawMcp, cli: Cli, work: Path
) -> None:
    watch = [{"pattern": "need[l]e", "match_type": "regex", "file": str(work / "hits")}]
    sinks = {"notify_file": str(work / "told"), "notify_command": f"cat > {work}/heard"}
    job = _start(cli if starter == "cli" else server, old, WORKER, watch=watch, quota_bytes=QUOTA, **sinks)
    _begun(server, job)
    aged = aged_job(cli, 2000)
    old.change(change)
    _kill_supervisor(job, both)
    assert server.call("process", action="status", job_id=job)["state"] == "running"
    (work / "go").touch()
    until((work / "hits").exists, what="the hit")
    (work / "end").touch()
    ended = server.call("process", action="wait", job_id=job, until=["exit"])
    assert ended["state"] in ("exited", "failed") if both else ended["exit_code"] == 7
    until((work / "heard").exists, what="the notification")
    assert json.loads((work / "told").read_text())["job_id"] == job
    kinds = {event["type"] for event in server.call("process", action="events", job_id=job)["events"]}
    assert {"started", "adopted", "watch_hit", "output_gap", "notification_delivered", "finished"} <= kinds
    assert "watch_failed" not in kinds
    until(lambda: not (IS_CLEANED and (cli.root / aged).exists()), what="the deletion of what is too old")
    server.call("process", action="remove", job_id=job)


@BOTH_CHANGES
def test_a_job_in_a_sandbox_ends_and_notifies_with_its_own_code(
    change: str, old: Installed, cli: Cli, work: Path
) -> None:
    if cli.run("run", "--sandbox", "read-only", "true").status:
        pytest.skip("no sandbox can be set up here")
    sinks = ("--notify-file", str(work / "told"), "--notify-command", f"cat > {work}/heard")
    words = ("--sandbox", "workspace-write", *sinks, "--", "sh", "-c", f"{MARK.format('go')}; exit 7")
    job = cli.ok("run", "--snapshot-after", "0", *words, env=old.env)["job_id"]
    old.change(change)
    (work / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 7
    until((work / "heard").exists, what="the notification")
    assert json.loads((work / "told").read_text())["job_id"] == job
    assert "fault" not in {event["type"] for event in cli.ok("events", job)["events"]}


@BOTH_CHANGES
def test_a_job_in_a_sandbox_whose_end_no_process_saw_is_left_to_one_that_has_the_code(
    change: str, old: Installed, cli: Cli, work: Path
) -> None:
    if cli.run("run", "--sandbox", "read-only", "true").status:
        pytest.skip("no sandbox can be set up here")
    words = ("run", "--sandbox", "workspace-write", "--snapshot-after", "0", "sleep", "600")
    lost = cli.ok(*words, env=old.env)["job_id"]
    plain = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", MARK.format("go"), env=old.env)["job_id"]
    first_process = json.loads((cli.root / lost / "state.json").read_text())["init"]["pid"]
    pair.end_both(pair.supervisor(lost))
    pair.end(first_process)
    aged = aged_job(cli, 2000)
    (cli.root / ".collected").unlink(missing_ok=True)  # the job before may have had jobs deleted
    old.change(change)
    (work / "go").touch()
    assert cli.ok("wait", plain)["exit_code"] == 0
    until(lambda: not (IS_CLEANED and (cli.root / aged).exists()), what="the deletion of what is too old")
    pair.until_free(cli.root, plain)
    assert "fault" not in {event["type"] for event in cli.ok("events", plain)["events"]}
    assert not list((cli.root / plain).glob("fault*"))
    ended = cli.ok("status", lost)
    assert ended["reason"] == "lost" and "was not checked" not in str(ended.get("message"))


@pytest.mark.parametrize(
    ("starter", "change"), [("cli", "removed"), slow(("server", "removed")), slow(("cli", "replaced"))]
)
def test_a_job_that_is_taken_over_keeps_its_limits(
    starter: str, change: str, old: Installed, server: RawMcp, cli: Cli, work: Path
) -> None:
    command = f"echo begun; {MARK.format('go')}; while :; do :; done"
    words = ("run", "--snapshot-after", "0", "--resource", "cpu_time=1s", "--", "sh", "-c", command)
    limited: dict[str, Any] = {"resources": {"cpu_time": "1s"}}
    job = cli.ok(*words, env=old.env)["job_id"] if starter == "cli" else _start(server, old, command, **limited)
    _begun(server, job)
    old.change(change)
    _kill_supervisor(job, both=False)
    (work / "go").touch()
    ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("killed", "limit")
    assert "its processes used" in ended["message"], "it was looked at, before the kernel ended it"


# Asks for its cursor, prints the answer without its escape, and echoes a line
ASKS = """
import os, sys, termios, tty
tty.setcbreak(0)
mode = termios.tcgetattr(0)
mode[0] |= termios.ICRNL  # which setcbreak of Python 3.12.0 and 3.12.1 clears: Enter would end no line
termios.tcsetattr(0, termios.TCSANOW, mode)
os.write(1, b"begun\\x1b[6n")
answer = b""
while not answer.endswith(b"R"):
    answer += os.read(0, 1)
print("cursor", answer[2:].decode())
while True:
    line = input("say: ")
    print("heard", line, os.get_terminal_size())
    if line == "end":
        sys.exit(7)
"""


@pytest.mark.parametrize(
    ("starter", "change"), [("cli", "replaced"), ("server", "removed"), slow(("server", "replaced"))]
)
def test_a_terminal_is_written_to_read_and_resized(
    starter: str, change: str, old: Installed, server: RawMcp, cli: Cli, work: Path
) -> None:
    (work / "asks.py").write_text(ASKS)
    command = f"{MARK.format('go')}; {sys.executable} asks.py"
    job = _start(cli if starter == "cli" else server, old, command, pty=True)
    old.change(change)
    _kill_supervisor(job, both=False)
    (work / "go").touch()

    def do(action: str, **arguments: Any) -> dict[str, Any]:
        answer = server.call("process", action=action, job_id=job, **arguments)
        assert not answer.is_error, answer.text
        return answer.result

    until(lambda: "cursor 1;6R" in do("log")["output"], what="the cursor as the emulator of the old version sees it")
    _waits(server, job)
    do("write", data="one\n")
    until(lambda: "heard one" in do("log")["output"], what="the answer to a line")
    do("resize", cols=99, rows=33)
    _waits(server, job)
    do("paste", text="two")
    do("send-keys", keys=["ENTER"])
    until(lambda: "columns=99, lines=33" in do("log")["output"], what="the new size")
    _waits(server, job)
    assert any(line.startswith("say:") for line in do("screen")["lines"])
    do("write", data="end")
    do("submit")
    assert do("wait", until=["exit"])["exit_code"] == 7
    do("remove")


def _waits(server: RawMcp, job: str) -> None:
    status = "waiting_for_input"
    until(lambda: server.call("process", action="status", job_id=job).result.get(status), what="a job that waits")


@BOTH_CHANGES
def test_a_call_that_waits_answers_with_its_own_code(change: str, old: Installed, cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", f"{MARK.format('go')}; echo out")["job_id"]
    with cli.spawn("--human", "wait", job, "--until", "exit", env=old.env) as call:
        until(lambda: _waits_for_long(call.pid), what="a call that waits without end")
        old.change(change)
        (work / "go").touch()
        out, error = call.communicate(timeout=60)
    assert b"out" in out and not error, (out, error)


def _waits_for_long(pid: int) -> bool:
    """Is it in a poll(2) without end? The third argument is the time (proc_pid_syscall(5))."""
    words = Path(f"/proc/{pid}/syscall").read_text().split()
    return len(words) > 3 and words[3] in ("0xffffffff", "0xffffffffffffffff", "0x0")  # poll or ppoll


@BOTH_CHANGES
def test_a_fork_server_that_was_killed_comes_back_with_the_old_code(
    change: str, old: Installed, server: RawMcp, work: Path
) -> None:
    first = server.call("exec", command=MARK.format("go"), yield_ms=0)["job_id"]
    old.change(change)
    pair.end(pair.fork_server(first))
    # Warm pairs of the server are used up before it asks a fork server
    jobs = [server.call("exec", command=MARK.format("go"), yield_ms=0)["job_id"] for _ in range(3)]
    _kill_supervisor(jobs[-1], both=False)
    (work / "go").touch()
    for job in (first, *jobs):
        assert server.call("process", action="wait", job_id=job, until=["exit"])["exit_code"] == 0
        server.call("process", action="remove", job_id=job)


@BOTH_CHANGES
def test_every_feature_of_a_server_can_be_used_for_the_first_time(
    change: str, old: Installed, server: RawMcp, work: Path
) -> None:
    begun = server.call("exec", command=f"echo begun; {MARK.format('go')}; echo; cat", background=True, stdin="open")
    old.change(change)
    job = begun["job_id"]
    uri = f"job://{job}/output"
    assert server.request("resources/list")["resources"]
    assert server.request("resources/templates/list")["resourceTemplates"]
    server.request("resources/subscribe", {"uri": uri})
    (work / "go").touch()
    server.read_until(lambda: _updated(server, uri), "an update")
    assert server.request("resources/read", {"uri": uri})["contents"][0]["text"] == "begun\n\n"
    more: dict[str, dict[str, Any]] = {
        "log": {"search": "beg[u]n"},
        "wait": {"until": ["output"], "timeout_ms": 100},
        "restart": {"background": True},
        "gc": {"dry_run": True},
    }
    for verb in (*(name for name in verbs.names() if _reads_or_changes(name)), "kill", "restart", "gc", "clear"):
        arguments = examples.arguments(verb, job)
        answer = server.call("process", **arguments, **more.get(verb, {}))
        assert not answer.is_error, (verb, answer.text)
    made = server.call("process", action="create", command="true")
    assert server.call("process", action="start", job_id=made["job_id"])["exit_code"] == 0
    for one in server.call("process", action="list", all=True)["jobs"]:
        server.call("process", action="remove", job_id=one["job_id"])


def _reads_or_changes(name: str) -> bool:
    """Is this an action for a job that runs without a terminal?"""
    verb = verbs.load(name)
    if name in {"help", "send-keys", "submit", "paste", "screen", "resize", "kill", "remove", "clear"}:
        return False
    return verb.right == READ or (verb.right == CONTROL and examples.takes_job(verb))


@BOTH_CHANGES
@pytest.mark.slow
def test_tasks_and_progress_can_be_used_for_the_first_time(
    change: str, old: Installed, place: Path, cli: Cli, work: Path
) -> None:
    with RawMcp(log=place / "mcp.log", era="modern", command=[*old.command, "mcp"], env=old.env) as server:
        server.start().request("tools/list")
        _holding(server)
        old.change(change)
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {tasks_client.IDENTIFIER: {}}}
        }

        def begin(command: str, yield_ms: int, **more: Any) -> int:
            arguments = {"command": command, "yield_ms": yield_ms}
            return server.begin("tools/call", {"name": "exec", "arguments": arguments, "_meta": more})

        told = begin(MARK.format("go"), 40_000, progressToken="mine")
        server.read_until(lambda: server.others, "progress")
        assert {one["method"] for one in server.others} == {"notifications/progress"}
        task = server.answer(begin(f"{MARK.format('go')}; echo out", 0, **meta))
        assert (task["resultType"], task["status"]) == ("task", "working")
        checks = {one["name"]: one["status"] for one in cli.ok("doctor")["checks"]}
        assert checks["supervision"] == "ok", "a doctor from elsewhere finds its jobs looked after"
        (work / "go").touch()
        assert server.tool_answer(told)["exit_code"] == 0
        asked = {"taskId": task["taskId"], "_meta": meta}
        until(lambda: server.request("tasks/get", asked)["status"] == "completed", what="the end of the task")
        assert server.request("tasks/cancel", asked)["resultType"] == "complete"
        for one in server.call("process", action="list", all=True)["jobs"]:
            server.call("process", action="remove", job_id=one["job_id"])


@BOTH_CHANGES
@pytest.mark.slow
def test_a_server_over_http_answers_its_first_request(
    change: str, old: Installed, serve: Callable[..., Served], work: Path
) -> None:
    served = serve(env=old.env)
    old.change(change)
    assert served.rpc("tools/list", {}, token="wrong").status == 401
    hello = served.ask("POST", body={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
    assert hello.json["result"]["serverInfo"]["name"] == "outlive"
    done = served.tool("exec", command="echo out; exit 7", workdir=str(work))
    assert (done["exit_code"], done["output"]) == (7, "out\n")
    assert served.tool("process", action="log", job_id=done["job_id"], search="o[u]t")["output"]
    served.tool("process", action="remove", job_id=done["job_id"])


def _updated(server: RawMcp, uri: str) -> bool:
    return any(
        one["method"] == "notifications/resources/updated" and one["params"]["uri"] == uri for one in server.others
    )
