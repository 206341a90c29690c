"""What a token without all rights may do: less than is asked of it, on every path that leads to a job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from heart.mcp.test_rights import STARTING
from outlive.core.records import READ
from outlive.mcp.tools.offer import process_verbs
from outlive.parts.sandbox.confinement import bubblewrap
from outlive.store import atomic_file
from support import examples
from support.cli import Cli, Jobs
from support.serve import HttpSession, Served
from support.tasks_client import TasksClient, tell
from support.tiers import ONE_ERA
from support.wait import until

READING = {action for action, verb in process_verbs().items() if verb.right == READ}


@pytest.fixture
def served(shared_serve: Served) -> Iterator[Served]:
    shared_serve.begin_test()
    yield shared_serve
    shared_serve.end_test()


def limited(served: Served, *words: str) -> Callable[..., dict[str, Any]]:
    """Return what makes a tool call with a token of these rights, in the scope of the token `tests`."""
    secret = served.token("limited", "--scope", "tests", *words)
    return lambda name, /, **arguments: served.tool(name, token=secret, **arguments)


def actions(served: Served, name: str) -> tuple[list[str], list[str], dict[str, Any]]:
    """Return the tools that a token is offered, the actions of process, and its annotations."""
    tools = served.rpc("tools/list", {}, token=served.tokens[name]).json["result"]["tools"]
    process = next(tool for tool in tools if tool["name"] == "process")
    names = [tool["name"] for tool in tools]
    return names, process["inputSchema"]["properties"]["action"]["enum"], process["annotations"]


def test_an_action_with_the_right_to_read_changes_nothing(served: Served, work: Path, jobs: Jobs) -> None:
    call = limited(served, "--read-only")
    for words in ({"command": "exec cat", "stdin": "open"}, {"command": "exec cat", "pty": True}):
        served.tool("exec", workdir=str(work), until="input", **words)
    before = kept(served)
    assert len(before) == 2
    for action in READING:
        for job in before:
            found = call("process", **examples.arguments(process_verbs()[action].name, job))
            assert found["ok"] or found["error"]["code"] == "not_a_pty", (action, found)
    assert kept(served) == before
    for job in before:
        assert served.tool("process", action="kill", job_id=job)["state"] == "killed"
    jobs.end()


def kept(served: Served) -> dict[str, list[bytes]]:
    """What each job is, and what it put out."""
    names = ("meta.json", "stdout.log", "stderr.log")
    return {job.name: [(job / name).read_bytes() for name in names] for job in served.cli.root.glob("01*")}


def test_a_token_that_only_reads_is_offered_and_may_do_nothing_else(served: Served, work: Path, jobs: Jobs) -> None:
    job = served.tool("exec", command="echo seen; exec sleep 300", workdir=str(work), background=True)["job_id"]
    call = limited(served, "--read-only")
    names, offered, annotations = actions(served, "limited")
    assert (names, set(offered)) == (["process"], READING)
    assert (annotations["readOnlyHint"], annotations["destructiveHint"]) == (True, False)
    assert call("process", action="wait", job_id=job, until="output", since_seq=0)["output"] == "seen\n"
    assert [one["job_id"] for one in call("process", action="list", all=True)["jobs"]] == [job]
    for action, verb in process_verbs().items():
        if action in READING:
            continue
        found = call("process", **examples.arguments(verb.name, job))
        assert found["error"]["code"] == "denied", (action, found)
    denied = call("exec", command="touch made", workdir=str(work))["error"]
    assert denied["details"] == {"right": "exec", "token": "limited"}
    assert "outlive token add" in denied["hint"] and "--read-only" in denied["hint"]
    assert call("process", action="wait", job_id=job, until=[{"port": 1}])["error"]["details"]["right"] == "control"
    assert not (work / "made").exists()
    assert served.tool("process", action="status", job_id=job)["state"] == "running"
    served.tool("process", action="kill", job_id=job)
    jobs.end()


@ONE_ERA
def test_a_task_is_not_cancelled_and_not_answered_by_a_token_that_only_reads(
    served: Served, work: Path, era: str, jobs: Jobs
) -> None:
    job = served.tool("exec", command="exec sleep 300", workdir=str(work), background=True)["job_id"]
    served.token("limited", "--scope", "tests", "--read-only")
    with HttpSession(served, token="limited", era=era, extensions=(TasksClient(),)) as client:
        with pytest.raises(MCPError, match="denied: tasks/cancel needs the right to control jobs"):
            tell(client, "tasks/cancel", job)
        with pytest.raises(MCPError, match="denied: tasks/update"):
            tell(client, "tasks/update", job, inputResponses={})
        read = client.ask(lambda sdk: sdk.read_resource(f"job://{job}"))
        assert json.loads(read.contents[0].text)["state"] == "running"
    served.tool("process", action="kill", job_id=job)
    jobs.end()


def test_a_token_without_exec_controls_jobs_and_finds_no_way_to_a_command(
    served: Served, work: Path, jobs: Jobs
) -> None:
    ended = served.tool("exec", command="true", workdir=str(work))["job_id"]
    job = served.tool("exec", command="exec cat", workdir=str(work), background=True, stdin="open")["job_id"]
    call = limited(served, "--no-exec")
    names, offered, _ = actions(served, "limited")
    assert names == ["process"]
    assert set(process_verbs()) - set(offered) == STARTING
    run = f"touch {work}/made"
    watch = {"pattern": ".", "command": run}
    for tool, asked in (
        ("exec", {"command": run, "workdir": str(work)}),
        ("process", {"action": "spawn", "command": run, "workdir": str(work)}),
        ("process", {"action": "create", "command": run, "workdir": str(work)}),
        ("process", {"action": "restart", "job_id": ended}),
        ("process", {"action": "notify_set", "job_id": job, "notify_command": run}),
        ("process", {"action": "notify_set", "job_id": job, "notify_file": f"{work}/made"}),
        ("process", {"action": "notify_set", "job_id": job, "watch": [watch]}),
        ("process", {"action": "notify_set", "job_id": job, "watch": [{**watch, "command": None, "file": "made"}]}),
        ("process", {"action": "notify_set", "job_id": job, "output_pattern": ".", "output_command": run}),
    ):
        assert call(tool, **asked)["error"]["details"]["right"] == "exec", asked
    assert call("process", action="notify_set", job_id=job, watch=["typed"])["ok"]
    assert call("process", action="write", job_id=job, data="typed\n")["output"] == "typed\n"
    assert call("process", action="kill", job_id=job)["state"] == "killed"
    assert not (work / "made").exists()
    jobs.end()


def test_the_jobs_of_a_token_with_a_directory_run_in_it_or_below(served: Served, work: Path) -> None:
    inside, outside = work / "inside", work / "inside-not"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    (inside / "out").symlink_to(outside)
    call = limited(served, "--workdir", str(inside))
    assert call("exec", command="pwd")["output"] == f"{inside}\n"
    assert call("exec", command="pwd", workdir=f"{inside}/deep")["output"] == f"{inside}/deep\n"
    assert call("exec", command="pwd", workdir="deep")["output"] == f"{inside}/deep\n"
    for directory in (str(outside), f"{inside}/out", f"{inside}/../inside-not", "/"):
        denied = call("exec", command="touch made", workdir=directory)["error"]
        assert (denied["code"], denied["details"]["right"]) == ("denied", "workdir"), directory
    elsewhere = served.tool("exec", command="touch made", workdir=str(work))["job_id"]
    (work / "made").unlink()
    assert call("process", action="restart", job_id=elsewhere)["error"]["code"] == "denied"
    assert not list(work.rglob("made"))


def test_the_jobs_of_a_token_with_a_sandbox_run_in_it_or_a_stricter_one(served: Served, cli: Cli, work: Path) -> None:
    call = limited(served, "--sandbox", "read-only", "--network", "none", "--workdir", str(work))
    (shown,) = [one for one in cli.ok("token", "list")["tokens"] if one["name"] == "limited"]
    assert shown["sandbox"] == {"mode": "read-only", "network": "none"}
    for asked in ({"sandbox": "workspace-write"}, {"sandbox": "off"}, {"elevated": True}, {"network": "open"}):
        denied = call("exec", command="touch made", **asked)["error"]
        assert denied["code"] == "denied", asked
    ended = served.tool("exec", command="touch before", workdir=str(work))["job_id"]
    assert call("process", action="restart", job_id=ended)["error"]["code"] == "denied", "it had no sandbox"
    found = call("exec", command="touch made")
    if "error" in found:  # no bwrap on this machine: it fails closed
        assert found["error"]["code"] == "sandbox_unavailable"
    else:
        assert (found["sandbox"], found["exit_code"] != 0) == (
            {"mode": "read-only", "network": "none", "git": "read"},
            True,
        )
    assert not (work / "made").exists()


def test_the_arguments_of_a_sandbox_are_offered_where_one_can_be_made_and_to_a_token_that_has_one(
    served: Served,
) -> None:
    limited(served, "--sandbox", "read-only")

    def offered(token: str) -> set[str]:
        tools = served.rpc("tools/list", {}, token=served.tokens[token]).json["result"]["tools"]
        return {"sandbox", "network", "elevated"} & set(tools[0]["inputSchema"]["properties"])

    assert offered("limited") == {"sandbox", "network", "elevated"}
    assert offered("tests") == ({"sandbox", "network"} if bubblewrap.can_work(None) else set())


def test_an_expired_token_opens_nothing_and_the_log_says_why(served: Served, cli: Cli) -> None:
    secret = served.token("brief", "--expires", "1s")
    stream = until(lambda: served.rpc("tools/list", {}, token=secret).status == 401, what="the refusal")
    assert stream
    answer = served.rpc("tools/list", {}, token=secret)
    assert "The token brief expired at " in answer.json["error"]["message"]
    assert "invalid_token" in answer.headers["www-authenticate"]
    assert "the token brief expired at " in served.said()
    (shown,) = [one for one in cli.ok("token", "list")["tokens"] if one["name"] == "brief"]
    assert shown["expired"] is True


def test_the_open_streams_of_a_token_end_when_it_expires(served: Served, root: Path) -> None:
    secret = served.token("brief", "--expires", "1h")
    path = root / ".tokens.json"
    with served.connect() as stream:
        head = f"GET /sse HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {secret}\r\n\r\n"
        stream.sendall(head.encode())
        assert b" 200 " in stream.recv(100)
        written = atomic_file.load(path.read_bytes())
        for token in written["tokens"]:
            if token["name"] == "brief":
                token["expires_at"] = "2026-01-01T00:00:00.000Z"
        path.write_bytes(atomic_file.dump(written))
        while stream.recv(10_000):  # the server ends it; else this would time out
            pass
    assert served.rpc("tools/list", {}, token=secret).status == 401


def test_a_list_of_tokens_shows_their_rights_and_old_files_have_all(cli: Cli, root: Path) -> None:
    cli.ok("token", "add", "all")
    cli.ok("token", "add", "reader", "--read-only", "--expires", "30d")
    cli.ok("token", "add", "controller", "--no-exec")
    cli.ok("token", "add", "here", "--workdir", str(root))
    shown = {one["name"]: one for one in cli.ok("token", "list")["tokens"]}
    rights = {name: one["rights"] for name, one in shown.items()}
    everything = ["read", "control", "exec"]
    assert rights == {"all": everything, "reader": ["read"], "controller": ["read", "control"], "here": everything}
    assert shown["here"]["workdir"] == str(root)
    assert (shown["all"]["expires_at"], shown["reader"]["expired"]) == (None, False)
    assert shown["reader"]["expires_at"] > shown["reader"]["created_at"]
    path = root / ".tokens.json"
    written = atomic_file.load(path.read_bytes())
    old = ("name", "scope", "hash", "created_at")
    written["tokens"] = [{name: token[name] for name in old} for token in written["tokens"]]
    path.write_bytes(atomic_file.dump(written))
    assert {tuple(one["rights"]) for one in cli.ok("token", "list")["tokens"]} == {tuple(everything)}
    for later in ({"level": "some right of a later version"}, {"sandbox": {"mode": "some sandbox of a later version"}}):
        newer = {"format": 1, "tokens": [{**written["tokens"][0], **later}]}
        path.write_bytes(atomic_file.dump(newer))
        cli.error("token", "list", code="config_error")


@pytest.mark.parametrize(
    "words",
    [
        ("--expires", "30"),
        ("--expires", "0s"),
        ("--workdir", "/dev/null/nowhere"),
        ("--workdir", "/tmp", "--no-exec"),
        ("--sandbox", "read-only", "--read-only"),
        ("--sandbox", "off"),
        ("--network", "none"),
    ],
)
def test_rights_that_make_no_sense_make_no_token(cli: Cli, words: tuple[str, ...]) -> None:
    cli.error("token", "add", "odd", *words, code="invalid_argument")
    assert cli.ok("token", "list")["tokens"] == []


def test_a_token_with_a_sandbox_types_into_no_job_that_may_do_more(served: Served, work: Path, jobs: Jobs) -> None:
    pipe = served.tool("exec", command="exec cat", stdin="open", workdir=str(work), background=True)["job_id"]
    screen = served.tool("exec", command="exec cat", pty=True, workdir=str(work), background=True)["job_id"]
    call = limited(served, "--sandbox", "read-only", "--workdir", str(work))
    write = {"action": "write", "data": "x\n"}
    keyboard = {"job_id": screen, "tab": "one", "take": True, "force": True, "size": [80, 24]}
    found = [
        call("process", **write, job_id=pipe),
        call("process", action="paste", job_id=screen, text="x"),
        call("process", action="resize", job_id=screen, cols=90, rows=20),
        # the tools of a view, which any client can call
        called(served, "job_control", {"method": "process", "given": {**write, "job_id": pipe}}),
        called(served, "job_control", {"method": "process", "given": {**write, "job_id": screen}}),
        called(served, "job_control", {"method": "keyboard", "given": keyboard}),
        # in the name of a session of the token that the jobs are of
        called(served, "process", {**write, "job_id": pipe}, sessionId="token:tests"),
        called(served, "process", {**write, "job_id": screen}, threadId="token:tests"),
    ]
    assert [one["error"]["code"] for one in found] == ["denied"] * len(found)
    for job in (pipe, screen):
        assert served.tool("process", action="log", job_id=job)["output"] == ""
        served.tool("process", action="kill", job_id=job)
    jobs.end()


def called(served: Served, tool: str, arguments: dict[str, Any], **meta: str) -> dict[str, Any]:
    """The answer to a call of the token `limited` with such metadata."""
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    found: dict[str, Any] = served.rpc("tools/call", params, token=served.tokens["limited"]).json
    content: dict[str, Any] = found["result"]["structuredContent"]
    return content


def test_a_session_is_no_other_tokens_whatever_it_is_called(served: Served, work: Path, jobs: Jobs) -> None:
    job = served.tool("exec", command="exec sleep 300", title="build", workdir=str(work), background=True)["job_id"]
    limited(served)
    for meta in ({}, {"sessionId": "token:tests"}, {"threadId": "token:tests"}):
        found = called(served, "process", {"action": "status", "job_id": "build"}, **meta)
        assert found["error"]["details"]["candidates"] == [job], meta
        assert "belongs to tests" in called(served, "process", {"action": "status", "job_id": job}, **meta)["hint"]
    served.tool("process", action="kill", job_id=job)
    jobs.end()


def test_a_token_that_is_made_anew_with_a_sandbox_types_into_no_job_of_the_former_one(
    served: Served, cli: Cli, work: Path, jobs: Jobs
) -> None:
    job = limited(served)("exec", command="exec cat", stdin="open", workdir=str(work), background=True)["job_id"]
    cli.ok("token", "revoke", "limited")
    call = limited(served, "--sandbox", "read-only", "--workdir", str(work))
    assert call("process", action="write", job_id=job, data="x\n")["error"]["code"] == "denied"
    served.tool("process", action="kill", job_id=job)
    jobs.end()
