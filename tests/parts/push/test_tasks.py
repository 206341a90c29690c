"""A job is a task for each client that declares the Tasks extension, on any server process, whichever process dies."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError, types

from outlive.store.job_dir import STATE
from outlive.system import tree
from support import pair
from support.cli import Cli, environment
from support.commands import GATE
from support.mcp_client import MODERN_VERSION, McpRefusal, McpSession, RawMcp
from support.tasks_client import IDENTIFIER, OVER, Created, Detailed, TasksClient, get, start, tell
from support.tiers import MODERN_FIRST, ONE_ERA
from support.wait import until

UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
LOST = "The outcome is lost: nothing was left to read it from. It may have run to its end."
MONTH_MS = 30 * 86_400_000
DECLARED: dict[str, Any] = {"extensions": {IDENTIFIER: {}}}
ASKING = {**DECLARED, "elicitation": {}}
OF_A_TASK: dict[str, dict[str, Any]] = {"get": {}, "cancel": {}, "update": {"inputResponses": {}}}


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    return {"extensions": [TasksClient()]}


@pytest.fixture
def session(shared_session: McpSession) -> McpSession:
    """A client that declares tasks, connected to a server that this module's tests share."""
    return shared_session


@pytest.fixture
def raw(shared_raw: RawMcp) -> RawMcp:
    """A server that this module's tests share, each of whose requests says of itself what its client can."""
    return shared_raw


def ended(session: McpSession, task_id: str) -> Detailed:
    def look() -> Detailed | None:
        found = get(session, task_id)
        return found if found.status in OVER else None

    found = until(look, what=f"the end of task {task_id}")
    assert found is not None
    return found


def gated(session: McpSession, command: str = "echo begun", **arguments: Any) -> str:
    """The id of a task that goes on until the file `go` is there."""
    found = start(session, f"{command}; {GATE}; echo done", yield_ms=0, **arguments)
    assert isinstance(found, Created), found
    return found.task_id


# --- who gets a task -------------------------------------------------------------------------------------------------


@ONE_ERA
def test_a_client_that_declares_tasks_gets_one_whose_id_is_the_jobs(session: McpSession, cli: Cli, work: Path) -> None:
    assert session.client.server_capabilities.extensions == {IDENTIFIER: {}}
    for yield_ms in (300, 3_000, 30_000):  # enough for a shell to start and to print
        found = start(session, f"echo begun; {GATE}", yield_ms=yield_ms)
        assert isinstance(found, Created)
        if found.status_message:
            break
    assert (found.status, found.status_message) == ("working", "begun")
    assert found.ttl_ms is not None and found.ttl_ms >= MONTH_MS
    assert found.poll_interval_ms == 1_000
    job = cli.ok("status", found.task_id)
    assert (job["job_id"], job["state"], job["created_at"]) == (found.task_id, "running", found.created_at)
    (work / "go").touch()
    ended(session, found.task_id)


@MODERN_FIRST
def test_a_client_that_declares_nothing_never_gets_one(mcp_session: McpSession, work: Path) -> None:
    found = mcp_session.call("exec", command=GATE, yield_ms=100)
    assert (found["state"], found.is_error) == ("running", False)
    assert found["job_id"] in found.text
    (work / "go").touch()
    mcp_session.ok("process", action="wait", job_id=found["job_id"], timeout_ms=50_000)


def test_a_handshake_gives_no_task_whatever_the_client_declares_in_it(
    raw_mcp: Callable[..., RawMcp], work: Path
) -> None:
    raw = raw_mcp(start=False)
    hello = {"protocolVersion": "2025-11-25", "capabilities": DECLARED, "clientInfo": {"name": "x", "version": "1"}}
    told = raw.request("initialize", hello)
    raw.notify("notifications/initialized")
    assert IDENTIFIER not in (told["capabilities"].get("extensions") or {})
    found = raw.call("exec", command=GATE, yield_ms=50)
    assert found["state"] == "running"
    with pytest.raises(McpRefusal) as refused:
        raw.request("tasks/get", {"taskId": found["job_id"]})
    assert refused.value.code == types.METHOD_NOT_FOUND
    (work / "go").touch()
    raw.call("process", action="wait", job_id=found["job_id"], timeout_ms=50_000)


@ONE_ERA
def test_a_request_declares_for_itself_only(raw: RawMcp, work: Path) -> None:
    arguments = {"command": GATE, "yield_ms": 50}
    task = raw.request("tools/call", {"name": "exec", "arguments": arguments, **declaring(DECLARED)})
    assert (task["resultType"], task["status"]) == ("task", "working")
    assert not {"result", "error", "inputRequests", "content", "structuredContent"} & set(task)
    plain = raw.request("tools/call", {"name": "exec", "arguments": arguments})
    assert (plain["resultType"], plain["structuredContent"]["state"]) == ("complete", "running")
    for method, more in OF_A_TASK.items():
        with pytest.raises(McpRefusal) as refused:
            raw.request(f"tasks/{method}", {"taskId": task["taskId"], **more})
        assert refused.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        assert refused.value.data == {"requiredCapabilities": DECLARED}
    (work / "go").touch()
    for job in (task["taskId"], plain["structuredContent"]["job_id"]):
        raw.call("process", action="wait", job_id=job, timeout_ms=50_000)


def declaring(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {"_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}}


@ONE_ERA
def test_what_ends_in_time_or_was_put_into_the_background_is_answered_directly(session: McpSession, work: Path) -> None:
    quick = start(session, "echo hi", yield_ms=20_000)
    assert isinstance(quick, types.CallToolResult)
    assert quick.structured_content["state"] == "exited"
    behind = start(session, GATE, background="true")
    assert isinstance(behind, types.CallToolResult)
    assert behind.structured_content["state"] == "running"
    wrong = start(session, "true", yield_ms="soon")
    assert wrong.is_error
    (work / "go").touch()
    assert ended(session, behind.structured_content["job_id"]).status == "completed"  # a job is a task all the same


def test_exec_alone_gives_a_task_instead_of_a_call_without_end(place: Path, work: Path) -> None:
    alone: dict[str, Any] = {"args": ("--tools", "exec"), "env": {"OUTLIVE_EXEC_BACKGROUND_MS": "100"}}
    with McpSession(log=place / "mcp.log", extensions=[TasksClient()], **alone) as session:
        for more in ({}, {"background": True}, {"stdin": "open", "timeout": 0.7}):
            command = "printf 'Go on? '; read a; exit 5" if "stdin" in more else f"{GATE}; rm go; exit 5"
            found = start(session, command, **more)
            assert isinstance(found, Created), found
            if "stdin" not in more:
                (work / "go").touch()
            result = ended(session, found.task_id).result
            assert result is not None
            assert result["structuredContent"]["state"] == ("killed" if "stdin" in more else "exited")
            assert "process" not in result["content"][0]["text"]


@ONE_ERA
def test_a_model_behind_such_a_client_reads_the_whole_result(
    session: McpSession, cli: Cli, root: Path, work: Path
) -> None:
    call = session.begin("exec", command=f"echo one; {GATE}; echo two; exit 3", yield_ms=50)
    job = until(lambda: [path.name for path in root.glob("01*")] if root.exists() else [], what="the job")[0]
    cli.ok("wait", job, "--until", "output")
    (work / "go").touch()
    found = call.result()
    assert (found["type"], found["state"], found["exit_code"], found["output"]) == ("run", "exited", 3, "one\ntwo\n")
    assert found.text == f"Command exited with code 3 (job {job[-8:]})\n\none\ntwo"
    assert not found.is_error


# --- what a task tells -----------------------------------------------------------------------------------------------


@ONE_ERA
def test_a_task_tells_its_last_line_and_then_the_result(session: McpSession, work: Path) -> None:
    task = gated(session)
    working = until(lambda: (found := get(session, task)).status_message == "begun" and found, what="its first line")
    assert (working.status, working.result, working.error) == ("working", None, None)
    assert working.created_at <= working.last_updated_at
    (work / "go").touch()
    found = ended(session, task)
    assert (found.status, found.status_message, found.poll_interval_ms) == ("completed", "rc=0. Last line: done", None)
    assert found.last_updated_at > working.last_updated_at
    assert found.result is not None and found.result["isError"] is False
    assert found.result["content"] == [{"type": "text", "text": "rc=0\n\nbegun\ndone"}]
    assert found.result["structuredContent"]["exit_code"] == 0


@ONE_ERA
def test_a_task_and_a_call_that_waits_have_the_same_result(session: McpSession, work: Path) -> None:
    command = "echo out; echo err >&2; exit 4"
    direct = start(session, command, yield_ms=20_000).model_dump(by_alias=True, exclude_none=True)
    task = start(session, f"{GATE}; {command}", yield_ms=0).task_id
    (work / "go").touch()
    later = ended(session, task).result
    assert later is not None
    for one in (direct, later):
        job = one["structuredContent"].pop("job_id")
        one["content"][0]["text"] = one["content"][0]["text"].replace(job[-8:], "JOB")
    assert later["structuredContent"] == direct["structuredContent"]
    assert (later["content"], later["isError"]) == (direct["content"], direct["isError"])


@ONE_ERA
def test_a_command_that_could_not_be_launched_is_completed(session: McpSession, cli: Cli) -> None:
    job = cli.run("run", "--wait", "--", "no-such-program-at-all", "x")["job_id"]
    found = get(session, job)
    assert found.status == "completed"
    assert found.result is not None and found.result["structuredContent"]["reason"] == "launch"
    assert "could not be started" in found.result["content"][0]["text"]


@ONE_ERA
def test_a_lost_outcome_is_completed_with_all_output_up_to_then(session: McpSession) -> None:
    task = gated(session)
    until(lambda: get(session, task).status_message == "begun", what="its first line")
    pid = session.ok("process", action="status", job_id=task)["pid"]
    pair.end(pair.guardian(task), pair.supervisor(task))
    pair.end(pid)
    until(lambda: not tree.with_cookie(task), what="the end of the command's last sleep")  # else it is adopted
    found = ended(session, task)
    assert (found.status, found.status_message) == ("completed", f"{LOST} Last line: begun")
    assert found.result is not None and found.result["isError"] is False
    assert found.result["structuredContent"]["reason"] == "lost"
    assert "The outcome is lost" in found.result["content"][0]["text"]


@ONE_ERA
def test_a_job_that_cannot_be_read_is_a_failed_task(session: McpSession, cli: Cli, root: Path) -> None:
    job = cli.ok("run", "--wait", "--", "true")["job_id"]
    pair.until_free(root, job)  # which writes the state
    (root / job / "events.ndjson").unlink()  # which would know the end
    (root / job / STATE).write_text("{ rubbish", encoding="utf-8")
    found = get(session, job)
    assert (found.status, found.result) == ("failed", None)
    assert found.error is not None and found.error["code"] == types.INTERNAL_ERROR
    assert STATE in found.error["message"]
    assert tell(session, "tasks/cancel", job) == {"resultType": "complete"}


@ONE_ERA
def test_only_a_whole_id_of_a_job_that_is_there_is_a_task(session: McpSession, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--", "true")["job_id"]
    assert get(session, job).task_id == job
    cli.ok("remove", job)
    for task in (job, UNKNOWN, UNKNOWN[:10], "../..", ""):
        for ask in (
            lambda task=task: get(session, task),
            lambda task=task: tell(session, "tasks/cancel", task),
            lambda task=task: tell(session, "tasks/update", task, inputResponses={}),
        ):
            with pytest.raises(MCPError) as refused:
                ask()
            assert refused.value.error.code == types.INVALID_PARAMS


# --- cancelling ------------------------------------------------------------------------------------------------------


@ONE_ERA
def test_cancelling_kills_the_job_in_the_callers_name(session: McpSession, cli: Cli) -> None:
    task = gated(session)
    assert tell(session, "tasks/cancel", task) == {"resultType": "complete"}
    found = ended(session, task)
    assert (found.status, found.result, found.error) == ("cancelled", None, None)
    assert found.status_message == "Command was killed on request of tests (SIGTERM)."
    job = cli.ok("status", task)
    assert (job["state"], job["reason"], job["ended_by"]) == ("killed", "kill", "tests")
    assert tell(session, "tasks/cancel", task) == {"resultType": "complete"}
    assert cli.ok("status", task)["finished_at"] == job["finished_at"]


@ONE_ERA
def test_cancelling_what_has_ended_leaves_alone_what_it_left_behind(session: McpSession, cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--wait", f"({GATE}; touch gone) >/dev/null 2>&1 &")["job_id"]
    assert tell(session, "tasks/cancel", job) == {"resultType": "complete"}
    (work / "go").touch()
    until((work / "gone").exists, what="the end of what was left behind")
    assert get(session, job).status == "completed"


# --- input -----------------------------------------------------------------------------------------------------------


def asking(raw: RawMcp, task: str, capabilities: dict[str, Any] = ASKING) -> dict[str, Any]:
    return raw.request("tasks/get", {"taskId": task, **declaring(capabilities)})


@ONE_ERA
def test_a_question_of_the_job_is_put_to_the_user_of_a_client_that_can(raw: RawMcp) -> None:
    command = "printf 'Delete? '; read a; printf 'Sure? '; read b; echo $a-$b"
    arguments = {"command": command, "stdin": "open", "yield_ms": 20_000, "title": "cleanup"}
    task = raw.request("tools/call", {"name": "exec", "arguments": arguments, **declaring(ASKING)})["taskId"]
    first = asking(raw, task)
    (key,) = first["inputRequests"]
    assert first["status"] == "input_required"
    request = first["inputRequests"][key]
    assert (request["method"], request["params"]["mode"]) == ("elicitation/create", "form")
    assert "'cleanup'" in request["params"]["message"] and request["params"]["message"].endswith("\nDelete?")
    for cannot in (DECLARED, {**DECLARED, "elicitation": {"url": {}}}):
        assert asking(raw, task, cannot)["status"] == "working"
    assert "Delete?" in asking(raw, task, DECLARED)["statusMessage"]
    yes = {"action": "accept", "content": {"input": "yes"}}
    for answers in ({"other": yes}, {key: {"action": "cancel"}}):
        assert answer(raw, task, answers)["resultType"] == "complete"
    assert list(asking(raw, task)["inputRequests"]) == [key]
    with pytest.raises(McpRefusal) as refused:
        answer(raw, task, {key: {"action": "accept", "content": {}}})
    assert refused.value.code == types.INVALID_PARAMS
    answer(raw, task, {key: yes})
    second = until(lambda: asking(raw, task).get("inputRequests"), what="the second question")
    assert second is not None and key not in second
    answer(raw, task, {key: yes})  # answered before: ignored
    answer(raw, task, {next(iter(second)): {"action": "accept", "content": {"confirm": True}}})
    found = until(lambda: (now := asking(raw, task))["status"] in OVER and now, what="the end")
    assert found["result"]["structuredContent"]["output"].endswith("yes-true\n")


def answer(raw: RawMcp, task: str, responses: dict[str, Any]) -> dict[str, Any]:
    return raw.request("tasks/update", {"taskId": task, "inputResponses": responses, **declaring(ASKING)})


@ONE_ERA
def test_a_job_that_does_not_take_its_answer_keeps_no_other_waiting(raw: RawMcp) -> None:
    """Over HTTP the other one may be of another token."""
    keys, tasks = [], []
    for after in ("sleep 300", "true"):
        command = f"printf 'Which? '; head -c 1 >/dev/null; exec {after}"
        arguments = {"command": command, "stdin": "open", "yield_ms": 20_000}
        tasks.append(raw.request("tools/call", {"name": "exec", "arguments": arguments, **declaring(ASKING)})["taskId"])
        keys += asking(raw, tasks[-1])["inputRequests"]
    stuck, other = [
        raw.begin(
            "tasks/update",
            {
                "taskId": task,
                "inputResponses": {key: {"action": "accept", "content": {"input": text}}},
                **declaring(ASKING),
            },
        )
        for task, key, text in zip(tasks, keys, ("y" * 1_000_000, "y"), strict=True)
    ]
    raw.answer(other)
    assert not raw.is_answered(stuck)
    raw.call("process", action="remove", job_id=tasks[0], grace_ms=0)


@ONE_ERA
def test_a_name_that_is_no_utf_8_ends_no_server(raw: RawMcp, cli: Cli) -> None:
    asks = ("--stdin", "open", "--", os.fsdecode(b"printf 'Which? '; : \xff; read a"))
    job = cli.ok("run", "--snapshot-after", "0", "--title", os.fsdecode(b"odd \xff"), *asks)["job_id"]
    asked = until(lambda: asking(raw, job).get("inputRequests"), what="the question")
    assert asked is not None
    (request,) = asked.values()
    assert "'odd ?'" in request["params"]["message"]
    cli.ok("kill", job)


@ONE_ERA
def test_who_declines_ends_the_input(raw: RawMcp) -> None:
    arguments = {"command": "printf 'Go on? '; read a || echo no answer", "stdin": "open", "yield_ms": 20_000}
    task = raw.request("tools/call", {"name": "exec", "arguments": arguments, **declaring(ASKING)})["taskId"]
    key = next(iter(asking(raw, task)["inputRequests"]))
    answer(raw, task, {key: {"action": "decline"}})
    found = until(lambda: (now := asking(raw, task))["status"] in OVER and now, what="the end")
    assert found["result"]["structuredContent"]["output"] == "Go on? no answer\n"


@ONE_ERA
def test_a_password_is_for_no_form_and_a_client_without_forms_is_told_directly(raw: RawMcp) -> None:
    secret = {"command": "printf 'Password: '; read -s a; echo", "pty": True, "shell": "bash -c", "yield_ms": 20_000}
    asked = {"command": "printf 'Name: '; read a", "stdin": "open", "yield_ms": 20_000}
    for arguments, capabilities in ((secret, ASKING), (asked, DECLARED)):
        found = raw.request("tools/call", {"name": "exec", "arguments": arguments, **declaring(capabilities)})
        assert found["resultType"] == "complete"
        assert found["structuredContent"]["waiting_for_input"] is True
        job = found["structuredContent"]["job_id"]
        assert asking(raw, job, capabilities)["status"] == "working"
        raw.call("process", action="kill", job_id=job)


# --- other servers ---------------------------------------------------------------------------------------------------


@ONE_ERA
def test_a_second_server_serves_the_task_and_so_does_one_after_a_kill(
    session: McpSession, place: Path, work: Path, cli: Cli
) -> None:
    declared: dict[str, Any] = {"log": place / "mcp.log", "extensions": [TasksClient()]}
    with McpSession(**declared, client_name="first") as first:
        task = gated(first)
        assert get(session, task).status == "working"
        first.kill()
        (work / "go").touch()
        found = ended(session, task)
    assert (found.status, found.result and found.result["structuredContent"]["output"]) == (
        "completed",
        "begun\ndone\n",
    )
    with McpSession(**declared) as third:
        assert get(third, task).result == found.result
    assert cli.ok("status", task)["owner"] == "first"


@ONE_ERA
def test_a_client_waits_on_though_a_server_dies_and_a_task_is_cancelled_by_another(
    session: McpSession, place: Path, cli: Cli
) -> None:
    with McpSession(log=place / "mcp.log", client_name="first", extensions=[TasksClient()]) as first:
        task = gated(first)
        first.kill()
    tell(session, "tasks/cancel", task)
    assert ended(session, task).status == "cancelled"
    assert cli.ok("status", task)["ended_by"].startswith("tests (session ")


# --- HTTP ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def http_url(place: Path) -> Any:
    words = [sys.executable, str(Path(__file__).parents[2] / "conformance"), "--serve", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment({"TMPDIR": str(place)})) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().decode().strip()
        finally:
            server.terminate()
            assert server.wait(60) == 0


def post(url: str, method: str, params: dict[str, Any], name: str | None) -> tuple[int, dict[str, Any]]:
    """(HTTP status, the JSON-RPC answer) of one request that declares tasks and has this Mcp-Name header."""
    about = {"protocolVersion": MODERN_VERSION, "clientCapabilities": DECLARED}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN_VERSION,
        "Mcp-Method": method,
        **({} if name is None else {"Mcp-Name": name}),
    }
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_over_http_the_name_header_must_name_the_task(http_url: str) -> None:
    compute = {"name": "slow_compute", "arguments": {"seconds": 60, "label": "x"}}
    status, answer = post(http_url, "tools/call", compute, "slow_compute")
    assert (status, answer["result"]["resultType"]) == (200, "task")
    task = answer["result"]["taskId"]
    encoded = f"=?base64?{base64.b64encode(task.encode()).decode()}?="
    for name in (task, encoded):
        status, answer = post(http_url, "tasks/get", {"taskId": task}, name)
        assert (status, answer["result"]["status"]) == (200, "working")
    for method, more in OF_A_TASK.items():
        for name in (UNKNOWN, None):
            status, answer = post(http_url, f"tasks/{method}", {"taskId": task, **more}, name)
            assert (status, answer["error"]["code"]) == (400, types.HEADER_MISMATCH)
    assert post(http_url, "tasks/get", {"taskId": task}, task)[1]["result"]["status"] == "working"


# --- notifications ---------------------------------------------------------------------------------------------------


def listening(
    raw: RawMcp, wanted: dict[str, Any], capabilities: dict[str, Any] = DECLARED
) -> tuple[int, dict[str, Any]]:
    """Open a subscription; its id, and what the server agreed to."""
    stream = raw.begin("subscriptions/listen", {"notifications": wanted, **declaring(capabilities)})

    def acknowledged() -> dict[str, Any] | None:
        raw.read_one(0.1)
        found = [one for one in raw.others if one["method"] == "notifications/subscriptions/acknowledged"]
        return found[-1]["params"]["notifications"] if found else None

    found = until(acknowledged, what="the acknowledgement")
    assert found is not None
    return stream, found


def told(raw: RawMcp, condition: Callable[..., bool]) -> dict[str, Any]:
    """The params of the first task notification for which `condition` holds."""

    def look() -> dict[str, Any] | None:
        raw.read_one(0.1)
        notified = [one["params"] for one in raw.others if one["method"] == "notifications/tasks"]
        return next((one for one in notified if condition(one)), None)

    found = until(look, what="the notification")
    assert found is not None
    return found


@ONE_ERA
def test_a_subscriber_is_told_of_its_tasks_until_they_end(raw: RawMcp, work: Path, cli: Cli) -> None:
    job, other = (cli.ok("run", "--snapshot-after", "0", f"echo begun; {GATE}")["job_id"] for _ in range(2))
    also = {"resourceSubscriptions": [f"job://{other}"]}
    stream, agreed = listening(raw, {"taskIds": [job, UNKNOWN, "x"], **also})
    assert agreed == {"taskIds": [job], **also}
    working = told(raw, lambda task: task.get("statusMessage") == "begun")
    assert (working["taskId"], working["status"]) == (job, "working")
    (work / "go").touch()
    over = told(raw, lambda task: task["status"] in OVER)
    assert over.pop("_meta") == {"io.modelcontextprotocol/subscriptionId": stream}
    now = raw.request("tasks/get", {"taskId": job, **declaring(DECLARED)})
    assert {name: now[name] for name in over} == over
    assert over["result"]["structuredContent"]["output"] == "begun\n"
    raw.request("tools/list")  # nothing more came before this answer
    assert {one["params"]["taskId"] for one in raw.others if one["method"] == "notifications/tasks"} == {job}
    cli.ok("wait", other)


@ONE_ERA
def test_a_chatty_task_is_told_of_at_most_four_times_a_second(raw: RawMcp, cli: Cli) -> None:
    script = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; sleep 0.01; done"
    job = cli.ok("run", "--snapshot-after", "0", script)["job_id"]
    listening(raw, {"taskIds": [job]})
    told(raw, lambda task: task["status"] == "completed")
    ran_s = cli.ok("status", job)["duration_ms"] / 1000
    notified = [one for one in raw.others if one["method"] == "notifications/tasks"]
    assert len(notified) <= ran_s * 4 + 2, "one at the start, one at the end, and four a second between"


@ONE_ERA
def test_a_task_that_is_removed_is_not_told_of_any_more_and_others_are(raw: RawMcp, cli: Cli) -> None:
    gone, job = (cli.ok("run", "--snapshot-after", "0", f"echo begun; {GATE}")["job_id"] for _ in range(2))
    listening(raw, {"taskIds": [gone, job]})
    for task in (gone, job):
        told(raw, lambda found, task=task: found["taskId"] == task and found.get("statusMessage") == "begun")
    cli.ok("remove", gone)
    Path("go").touch()
    told(raw, lambda found: found["taskId"] == job and found["status"] == "completed")
    told_of = {one["params"]["status"] for one in raw.others if one["params"].get("taskId") == gone}
    assert told_of <= {"working", "cancelled"}, "whether its end was seen before it was deleted is a race"


@ONE_ERA
def test_who_does_not_declare_tasks_may_not_subscribe_to_them(raw: RawMcp, cli: Cli) -> None:
    with pytest.raises(McpRefusal) as refused:
        raw.request("subscriptions/listen", {"notifications": {"taskIds": [UNKNOWN]}})
    assert refused.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    others = {"resourceSubscriptions": [f"job://{cli.ok('run', '--wait', '--', 'true')['job_id']}"]}
    assert listening(raw, others, {})[1] == others


# --- calls that wait -------------------------------------------------------------------------------------------------


def waiting(raw: RawMcp, tool: str = "process", **arguments: Any) -> dict[str, Any]:
    """The answer to a call that declares tasks."""
    given = {"name": tool, "arguments": {"action": "wait", **arguments} if tool == "process" else arguments}
    return raw.request("tools/call", {**given, **declaring(DECLARED)})


def at_its_end(raw: RawMcp, task_id: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found = raw.request("tasks/get", {"taskId": task_id, **declaring(DECLARED)})
        return found if found["status"] in OVER else None

    found = until(look, what=f"the end of task {task_id}")
    assert found is not None
    return found


@ONE_ERA
def test_a_call_that_waits_for_more_than_a_second_is_a_task_of_its_own(raw: RawMcp, cli: Cli, work: Path) -> None:
    job = str(cli.ok("run", "--snapshot-after", "0", "--", f"{GATE}; echo now ready; exec sleep 1000")["job_id"])
    begun = waiting(raw, job_id=job, until=["regex=ready"])
    assert begun["resultType"] == "task" and begun["status"] == "working", begun
    assert begun["taskId"].startswith(f"{job}-w") and "result" not in begun
    (work / "go").touch()
    found = at_its_end(raw, begun["taskId"])
    assert found["status"] == "completed" and found["result"]["structuredContent"]["fired"]["condition"] == "regex"
    assert found["statusMessage"] == found["result"]["content"][0]["text"].partition("\n")[0]
    assert raw.request("tasks/get", {"taskId": job, **declaring(DECLARED)})["status"] == "working", "the job goes on"
    quick = waiting(raw, job_id=job, until=["regex=now ready"])
    assert quick["structuredContent"]["fired"] and "taskId" not in quick
    cli.ok("kill", job)


@ONE_ERA
def test_a_start_that_waits_for_a_condition_is_over_when_that_holds(raw: RawMcp, cli: Cli, work: Path) -> None:
    more = {"command": f"{GATE}; echo now ready; exec sleep 1000", "until": ["regex=ready"]}
    begun = waiting(raw, "exec", **more)
    job, _, mark = begun["taskId"].partition("-")
    assert mark.startswith("u") and cli.ok("status", job)["state"] == "running"
    (work / "go").touch()
    found = at_its_end(raw, begun["taskId"])["result"]["structuredContent"]
    assert (found["job_id"], found["state"], found["fired"]["condition"]) == (job, "running", "regex")
    (work / "go").unlink()
    again = waiting(raw, "exec", **more)["taskId"]
    raw.request("tasks/cancel", {"taskId": again, **declaring(DECLARED)})
    assert at_its_end(raw, again)["status"] == "cancelled"
    assert cli.ok("wait", again.partition("-")[0])["state"] == "killed", "TaskStop ends a job that the task began"
    cli.ok("kill", job)


@ONE_ERA
def test_who_stops_waiting_ends_no_job_and_a_given_time_holds(raw: RawMcp, cli: Cli) -> None:
    job = str(cli.ok("run", "--snapshot-after", "0", "--", "sleep 1000")["job_id"])
    task = waiting(raw, job_id=job)["taskId"]
    raw.request("tasks/cancel", {"taskId": task, **declaring(DECLARED)})
    assert at_its_end(raw, task)["status"] == "cancelled"
    assert cli.ok("status", job)["state"] == "running"
    timed = at_its_end(raw, waiting(raw, job_id=job, timeout_ms=1_500)["taskId"])
    assert timed["status"] == "completed" and timed["result"]["structuredContent"]["timed_out"] is True
    cli.ok("kill", job)


@ONE_ERA
def test_only_so_many_calls_go_on_as_tasks_since_each_keeps_a_thread(raw: RawMcp, cli: Cli) -> None:
    job = str(cli.ok("run", "--snapshot-after", "0", "--", "sleep 1000")["job_id"])
    wait = {"name": "process", "arguments": {"action": "wait", "job_id": job, "timeout_ms": 3_000_000}}
    tasks = [
        raw.answer(number) for number in [raw.begin("tools/call", {**wait, **declaring(DECLARED)}) for _ in range(64)]
    ]
    assert {task["resultType"] for task in tasks} == {"task"}
    direct = waiting(raw, job_id=job, timeout_ms=1_500)
    assert "taskId" not in direct and direct["structuredContent"]["timed_out"] is True
    raw.request("tasks/cancel", {"taskId": tasks[0]["taskId"], **declaring(DECLARED)})
    assert at_its_end(raw, tasks[0]["taskId"])["status"] == "cancelled"
    assert waiting(raw, job_id=job)["resultType"] == "task"
    cli.ok("kill", job)


@ONE_ERA
def test_a_wait_goes_on_with_the_job_on_a_server_that_does_not_know_it(
    raw: RawMcp, cli: Cli, work: Path, raw_mcp: Callable[..., RawMcp]
) -> None:
    job = str(cli.ok("run", "--snapshot-after", "0", "--", f"{GATE}; exit 4")["job_id"])
    first = raw_mcp(era="modern")
    task = waiting(first, job_id=job)["taskId"]
    first.kill()
    assert raw.request("tasks/get", {"taskId": task, **declaring(DECLARED)})["status"] == "working"
    raw.request("tasks/cancel", {"taskId": task, **declaring(DECLARED)})
    (work / "go").touch()
    found = at_its_end(raw, task)
    assert found["taskId"] == task and found["result"]["structuredContent"]["exit_code"] == 4


@ONE_ERA
def test_a_subscriber_is_told_when_a_wait_is_over(raw: RawMcp, cli: Cli, work: Path) -> None:
    job = str(cli.ok("run", "--snapshot-after", "0", "--", f"{GATE}; exit 4")["job_id"])
    task = waiting(raw, job_id=job)["taskId"]
    stream = raw.begin("subscriptions/listen", {"notifications": {"taskIds": [task]}, **declaring(DECLARED)})
    raw.read_until(lambda: raw.others, what="the acknowledgement")
    (work / "go").touch()
    raw.read_until(lambda: raw.others[-1]["method"] == "notifications/tasks", what="the end of the wait")
    assert (raw.others[-1]["params"]["taskId"], raw.others[-1]["params"]["status"]) == (task, "completed")
    raw.cancel(stream)


def test_claude_code_goes_on_beside_what_it_put_into_the_background_and_gets_text(
    place: Path, work: Path, cli: Cli
) -> None:
    with RawMcp(log=place / "log", era="modern", client_name="claude-code", cwd=work, detail=None) as raw:
        raw.start()
        begun = waiting(raw, "exec", command=f"{GATE}; echo bad; exit 3", background=True)
        assert begun["resultType"] == "task" and len(begun["taskId"]) == 26, begun
        (work / "go").touch()
        found = at_its_end(raw, begun["taskId"])
        assert found["statusMessage"] == "Command exited with code 3. Last line: bad"
        assert (
            found["result"]["content"][0]["text"] == f"Command exited with code 3 (job {begun['taskId'][-8:]})\n\nbad"
        )
        assert "structuredContent" not in found["result"]
