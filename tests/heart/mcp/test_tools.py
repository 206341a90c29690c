"""Both tools through the SDK's own client, in both eras of the protocol."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError

from support import pair
from support.cli import Cli, Jobs
from support.commands import GATE
from support.jobs import job_ids
from support.mcp_client import McpRefusal, McpSession, RawMcp, ToolAnswer
from support.tiers import MODERN_FIRST, ONE_ERA, first
from support.tools import background, ended, instructions
from support.wait import until

Connect = Callable[..., McpSession]


@pytest.fixture
def mcp_session(shared_session: McpSession) -> McpSession:
    return shared_session


# --- what is offered -----------------------------------------------------------------------------------------------


def test_two_tools_are_offered_with_schemas_annotations_and_short_instructions(mcp_session: McpSession) -> None:
    tools = mcp_session.tools()
    assert sorted(tools) == ["exec", "process"]
    texts = [mcp_session.ask(instructions)]
    for name, tool in tools.items():
        assert tool.title and tool.description
        texts.append(tool.description)
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema and tool.annotations
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert "additionalProperties" not in tool.input_schema, "aliases are accepted"
        assert not {"oneOf", "anyOf", "allOf", "$ref"} & set(tool.input_schema), "no client takes these at the top"
        assert tool.annotations.read_only_hint is False
        assert tool.annotations.destructive_hint is True
        assert tool.annotations.open_world_hint is (name == "exec")
    assert sum(len(text.encode()) for text in texts) < 2048
    assert "sleep" in texts[0] and "wait" in texts[0]
    assert tools["exec"].input_schema["required"] == ["command"]
    assert tools["process"].input_schema["required"] == ["action"]
    wanted = "status poll log tail wait write kill list tag_set notify_set clear remove create start restart"
    assert set(wanted.split()) <= set(tools["process"].input_schema["properties"]["action"]["enum"])
    assert (mcp_session.client.protocol_version >= "2026") is (mcp_session.era == "modern")
    with pytest.raises(MCPError):
        mcp_session.call("execute", command="true")


@MODERN_FIRST
def test_a_description_speaks_of_no_argument_that_is_not_there(mcp_session: McpSession) -> None:
    tools = mcp_session.tools()
    taken = {name: set(tool.input_schema["properties"]) for name, tool in tools.items()}
    said = {name: set(re.findall(r"\b([a-z_]+)=", tool.description or "")) for name, tool in tools.items()}
    assert said["exec"] <= taken["exec"]
    assert said["process"] <= taken["process"]
    assert set(re.findall(r"\b([a-z_]+)=", mcp_session.ask(instructions))) <= taken["exec"] | taken["process"]


# --- exec ----------------------------------------------------------------------------------------------------------


@pytest.mark.fault("S18")
@MODERN_FIRST
def test_exec_answers_with_the_output_in_prose_and_the_same_in_fields(mcp_session: McpSession, work: Path) -> None:
    found = mcp_session.call("exec", command="echo hello; echo oops >&2")
    assert (found["type"], found["state"], found["exit_code"], found["reason"]) == ("run", "exited", 0, "exit")
    assert sorted(found["output"].splitlines()) == ["hello", "oops"]
    assert found["snapshot"]["stdout_tail"] == "hello\n"
    words, output = found.text.split("\n\n")
    assert (words, sorted(output.splitlines())) == ("rc=0", ["hello", "oops"])
    assert found["cwd"] == str(work) and found["owner"].startswith("tests")
    quiet = mcp_session.call("exec", command="true")
    assert quiet.text == "rc=0\n(no output)"
    failed = mcp_session.call("exec", command="echo no; exit 3")
    assert (failed.is_error, failed["ok"], failed["exit_code"]) == (False, True, 3)
    assert failed.text == f"Command exited with code 3 (job {failed['job_id'][-8:]})\n\nno"
    gone = mcp_session.call("exec", command="kill -9 $$")
    assert (gone.is_error, gone["state"], gone["signal"], gone["exit_code"]) == (False, "killed", "SIGKILL", None)
    assert "SIGKILL" in gone.text
    missing = mcp_session.call("exec", command=["no-such-program-anywhere"])
    assert (missing.is_error, missing["state"], missing["reason"]) == (False, "failed", "launch")
    assert (missing["errno"], missing["exit_code"]) == ("ENOENT", None)
    for answer in (found, quiet, failed, gone, missing):
        _is_prose(answer.text)


def _is_prose(text: str) -> None:
    assert not text.lstrip().startswith(("{", "[{")), text
    assert "schema_version" not in text


@MODERN_FIRST
def test_exec_goes_on_as_a_job_when_it_takes_longer_than_the_call(mcp_session: McpSession, work: Path) -> None:
    for yield_ms in (300, 3_000, 30_000):  # enough for a shell to start and to print
        found = mcp_session.call("exec", command=f"echo begun; {GATE}; echo done; exit 4", yield_ms=yield_ms)
        if found["output"]:
            break
    assert (found["state"], found["exit_code"] if "exit_code" in found.result else None) == ("running", None)
    assert found["output"] == "begun\n"
    assert found["job_id"] in found.text and str(found["pid"]) in found.text and "process" in found.text
    assert found["timeout_ms"] == 1_800_000, "the default is 30 minutes, and every answer of a running job says so"
    _is_prose(found.text)
    at_once = mcp_session.call("exec", command=GATE, background=True)
    assert (at_once["state"], at_once["output"]) == ("running", "")
    also = mcp_session.call("exec", command=GATE, yield_ms=0)
    assert also["state"] == "running"
    (work / "go").touch()
    for job, code in ((found["job_id"], 4), (at_once["job_id"], 0), (also["job_id"], 0)):
        assert ended(mcp_session, job)["exit_code"] == code
    assert mcp_session.ok("process", action="log", job_id=found["job_id"])["output"] == "begun\ndone\n"


@MODERN_FIRST
def test_exec_takes_what_models_write(mcp_session: McpSession, work: Path) -> None:
    exec_ = mcp_session.ok
    assert exec_("exec", command="pwd", cwd=str(work))["cwd"] == str(work)
    assert exec_("exec", command='echo "$OUTLIVE_SHELL"')["output"] == "exec\n"
    both = exec_("exec", command="true", description="d" * 200, title="Say  true")
    assert both["name"] == "Say true"
    assert exec_("exec", command="true", description="d" * 200)["name"] == "d" * 120
    for lost, instead in (("cd /tmp", "workdir"), ("export A=1", "env")):
        assert f"lasts for no other one. Pass {instead} " in exec_("exec", command=lost)["hint"]
    assert "hint" not in exec_("exec", command="cd /tmp && pwd")
    raised = mcp_session.call("exec", command="true", elevated=True)
    assert "elevated" in raised["hint"] and "elevated" in raised.text
    assert exec_("exec", command="echo $0; [[ a == a ]]")["output"] == "bash\n", "as every model writes"
    broken = exec_("exec", command="if [ a; then", shell="sh -c")
    assert broken["hint"] == "The shell was `sh -c`."
    assert "hint" not in exec_("exec", command="echo 'other: syntax error' >&2; exit 2")
    bytes_ = exec_("exec", command=[sys.executable, "-c", "import os; os.write(1, b'a\\xff\\x00b')"])
    assert bytes_["output"].startswith("a\N{REPLACEMENT CHARACTER}")


@ONE_ERA
def test_timeout_is_in_seconds_with_fractions(mcp_session: McpSession, work: Path) -> None:
    for limit in (0.4, 4.5, 20.5):
        found = mcp_session.call("exec", command="echo begun; sleep 60", timeout=limit)
        if found["output"]:
            break
    assert (found["state"], found["reason"], found["timeout_ms"]) == ("killed", "timeout", limit * 1000)
    assert (found.is_error, found["output"]) == (False, "begun\n")
    assert f"timed out after {limit:g} s" in found.text
    assert mcp_session.ok("exec", command="true", timeoutSeconds="1.5")["timeout_ms"] == 1_500
    hint = mcp_session.call("exec", command="true", timeout=120_000)["hint"]
    assert "timeout is in seconds: 120000 ends the job after 33.3 h" in hint
    assert "hint" not in mcp_session.ok("exec", command="true", timeout=9_999)
    endless = background(mcp_session, GATE, timeout=0)
    assert mcp_session.ok("process", action="status", job_id=endless)["timeout_ms"] == 0
    (work / "go").touch()
    assert ended(mcp_session, endless)["state"] == "exited"


@ONE_ERA
def test_a_job_in_the_background_that_dies_at_once_is_answered_as_dead(mcp_session: McpSession, work: Path) -> None:
    def dies() -> ToolAnswer:
        return mcp_session.call("exec", command="echo port in use; exit 1", background=True)

    # On a busy machine even this command may take longer than the call looks
    dead = until(lambda: (found := dies())["state"] == "exited" and found, what="an end that the call sees")
    assert (dead["state"], dead["exit_code"], dead["output"]) == ("exited", 1, "port in use\n")
    assert f"(job {dead['job_id'][-8:]})" in dead.text.splitlines()[0], "which log, compare and restart take"
    alive = mcp_session.ok("exec", command=GATE, background=True)
    assert (alive["state"], alive["timeout_ms"]) == ("running", 0)
    (work / "go").touch()
    assert ended(mcp_session, alive["job_id"])["exit_code"] == 0


@ONE_ERA
def test_what_ran_in_the_background_is_restarted_there(mcp_session: McpSession, work: Path) -> None:
    first = mcp_session.ok("exec", command=GATE, background=True)
    again = mcp_session.ok("process", action="restart", job_id=first["job_id"])
    assert (again["state"], again["restarted_from"]) == ("running", first["job_id"])
    (work / "go").touch()
    assert ended(mcp_session, again["job_id"])["exit_code"] == 0
    front = mcp_session.ok("process", action="restart", job_id=first["job_id"], background=False)
    assert (front["state"], front["exit_code"]) == ("exited", 0)


# --- process -------------------------------------------------------------------------------------------------------


class Actions:
    """Calls of `process`, each held against what every one of them promises."""

    def __init__(self, session: McpSession) -> None:
        self._session = session
        self._promised = Draft202012Validator(session.tools()["process"].output_schema)

    def __call__(self, action: str, /, **arguments: Any) -> ToolAnswer:
        answer = self._session.call("process", action=action, **arguments)
        self._promised.validate(answer.result)
        assert answer.text
        _is_prose(answer.text)
        for field in ("output", "hint"):  # some clients show only the text
            shown = str(answer.result.get(field) or "").strip()
            known = shown in ("", "start runs it.") or shown.startswith("It still runs")  # the text has its own words
            assert known or shown in answer.text
        return answer


@pytest.fixture
def act(mcp_session: McpSession) -> Actions:
    return Actions(mcp_session)


@MODERN_FIRST
def test_every_action_on_a_running_job_answers_in_its_schema_and_in_prose(
    act: Actions, mcp_session: McpSession, root: Path, work: Path
) -> None:
    spawned = act("spawn", command=f"echo first; echo err >&2; {GATE}; cat; exit 5", stdin="open", tags=["t"])
    job = spawned["job_id"]
    assert (spawned["type"], spawned["state"]) == ("run", "running")
    for name in ("stdout.log", "stderr.log"):  # either may come first
        until((root / job / name).read_bytes, what="its first output")
    status = act("status", job_id=job)
    assert (status["state"], status["stdout_bytes"], status["stderr_bytes"]) == ("running", 6, 4)
    assert act("poll", job_id=job, since_seq=0)["next_seq"] == 10
    assert act("log", job_id=job, stream="stdout")["output"] == "first\n"
    assert act("log", job_id=job, search="^e")["matches"] == 1
    tail = act("tail", job_id=job, tail_lines=1)
    assert (tail["stdout_tail"], tail["stderr_tail"]) == ("first\n", "err\n")
    late = act("wait", job_id=job, timeout_ms=50)
    assert (late["timed_out"], late["fired"], late["state"]) == (True, None, "running")
    assert act("write", job_id=job, data="in\n")["bytes_written"] == 3
    assert act("tag_set", job_id=job, tags=["a.b", "c"])["tags"] == ["a.b", "c"]
    set_ = act("notify_set", job_id=job, notify_file=str(work / "ends"))
    assert set_["notification"]["notify_file"] == str(work / "ends")
    assert [one["job_id"] for one in act("list")["jobs"]] == [job]
    assert mcp_session.error("process", action="clear", code="invalid_state", job_id=job)
    (work / "go").touch()
    assert act("write", job_id=job, eof=True)["stdin"] == "closed"
    ended = act("wait", job_id=job, timeout_ms=50_000, since_seq=0)
    assert (ended["state"], ended["exit_code"], ended["fired"]["condition"]) == ("exited", 5, "exit")
    assert "Command exited with code 5" in ended.text
    assert mcp_session.error("process", action="write", code="stdin_closed", job_id=job, data="x")
    until((work / "ends").exists, what="the notification")


@MODERN_FIRST
def test_every_action_that_starts_or_ends_jobs_answers_in_its_schema_and_in_prose(
    act: Actions, mcp_session: McpSession, root: Path
) -> None:
    created = act("create", command="echo made", title="made")
    assert created["state"] == "created"
    assert mcp_session.error("process", action="kill", code="invalid_state", job_id=created["job_id"])
    started = act("start", job_id=created["job_id"])
    assert (started["state"], started["output"]) == ("exited", "made\n")
    again = act("restart", job_id=created["job_id"])
    assert (again["restarted_from"], again["output"]) == (created["job_id"], "made\n")
    assert again["job_id"] != created["job_id"]

    running = act("spawn", command="sleep 60")["job_id"]
    killed = act("kill", job_id=running)
    assert (killed["state"], killed["reason"]) == ("killed", "kill")
    assert (killed["signal"], killed["survivors"]) == ("SIGTERM", [])
    _settled(root)
    assert act("clear", job_id=running)["freed_bytes"] > 0
    assert mcp_session.error("process", action="status", code="job_not_found", job_id=running)
    assert act("remove", job_id=act("spawn", command="sleep 60")["job_id"])["type"] == "remove"
    _settled(root)
    assert len(act("clear", job_id="all")["jobs"]) == 2
    assert job_ids(root) == set()
    assert act("list").text == act("list", all=True).text == "There is no job to list."


def _settled(root: Path) -> None:
    """No supervisor is left: gc lets a job alone whose lock is held."""
    until(lambda: not any(pair.is_supervised(root, job) for job in job_ids(root)), what="the supervisors' ends")


@pytest.mark.parametrize("times", first(1, [3, 15]))
@ONE_ERA
def test_a_job_that_was_said_to_have_ended_can_be_handled_at_once(shared_raw: RawMcp, times: int) -> None:
    server = shared_raw
    refused = []
    for action in ("clear", "restart", "remove") * times:
        job = server.call("exec", command="true")["job_id"]
        answer = server.call("process", action=action, job_id=job)
        if answer.is_error:
            refused.append(answer.text)
    assert not refused


@ONE_ERA
def test_a_wait_that_asks_for_too_long_says_so(mcp_session: McpSession, work: Path) -> None:
    job = background(mcp_session, GATE)
    call = mcp_session.begin("process", action="wait", job_id=job, timeout_ms=600_000)
    (work / "go").touch()
    found = call.result(60)
    assert (found["requested_ms"], found["effective_ms"], found["timed_out"]) == (600_000, 50_000, False)


# --- whose jobs, whose position ------------------------------------------------------------------------------------


@pytest.mark.fault("F06")
@ONE_ERA
def test_poll_goes_on_from_where_this_client_was_also_with_a_new_server(
    mcp_session: McpSession, mcp_connect: Connect, cli: Cli, root: Path, work: Path
) -> None:
    session, other = mcp_connect(client_name="one"), mcp_session
    step = "until [ -e {0} ]; do sleep 0.1; done; echo {0}"
    command = f"echo zero; {step.format('one')}; {step.format('two')}"
    begun = session.ok("exec", command=command, background=True)
    job = begun["job_id"]

    def poll(client: McpSession) -> str:
        shown: str = client.ok("process", action="poll", job_id=job)["output"]
        return shown

    until(lambda: (root / job / "stdout.log").read_bytes() == b"zero\n", what="the first line")
    assert begun["output"] + poll(session) == "zero\n", "the answer of exec counts"
    assert poll(session) == ""
    nothing = session.call("process", action="poll", job_id=job)
    assert nothing["snippet"] == "zero\n" and nothing["since_seq"] == nothing["next_seq"] == 5
    assert poll(other) == "zero\n", "another client's position is its own"
    assert session.ok("process", action="poll", job_id=job, since_seq=0)["output"] == "zero\n"
    assert poll(session) == "", "reading again from the start moves nothing back"
    (work / "one").touch()
    assert session.ok("process", action="poll", job_id=job, timeout_ms=50_000)["output"] == "one\n"
    session.kill()
    (work / "two").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == 0
    again = mcp_connect(client_name="one")
    assert poll(again) == "two\n"
    assert poll(again) == ""
    assert poll(other) == "one\ntwo\n"
    assert cli.ok("poll", job)["output"] == "zero\none\ntwo\n", "on the command line a poll starts at 0"


@pytest.mark.fault("S22")
@ONE_ERA
def test_list_and_gc_are_about_this_clients_own_jobs(
    mcp_session: McpSession, mcp_connect: Connect, cli: Cli, root: Path
) -> None:
    session, other = mcp_session, mcp_connect(client_name="two")
    mine = session.ok("exec", command="true")["job_id"]
    theirs = other.ok("exec", command="true")["job_id"]
    shell = cli.ok("run", "true")["job_id"]

    def listed(client: McpSession, **more: Any) -> set[str]:
        return {job["job_id"] for job in client.ok("process", action="list", **more)["jobs"]}

    assert (listed(session), listed(other)) == ({mine}, {theirs})
    assert listed(session, all=True) == {mine, theirs, shell}
    assert listed(session, owner="two") == {theirs}
    assert session.ok("process", action="status", job_id=theirs)["owner"] == "two", "every job can be looked at"
    _settled(root)
    session.ok("process", action="clear", job_id="all")
    assert job_ids(root) == {theirs, shell}


# --- calls that end early, calls at the same time ------------------------------------------------------------------


@MODERN_FIRST
def test_a_cancelled_or_timed_out_call_ends_and_its_job_goes_on(
    mcp_session: McpSession, cli: Cli, root: Path, work: Path
) -> None:
    command = f"echo begun; {GATE}; echo done; exit 6"
    call = mcp_session.begin("exec", command=command, yield_ms=40_000)
    job = until(lambda: job_ids(root), what="the job").pop()
    log = root / job / "stdout.log"  # it is made after the job is listed
    until(lambda: log.exists() and log.read_bytes(), what="its first output")
    call.cancel()
    assert mcp_session.ok("process", action="status", job_id=job)["state"] == "running"

    waiting = {"action": "wait", "job_id": job, "timeout_ms": 40_000}
    with pytest.raises(MCPError):
        mcp_session.ask(lambda client: client.call_tool("process", waiting, read_timeout_seconds=0.3))
    assert mcp_session.ok("process", action="status", job_id=job)["state"] == "running"
    slow = {"command": GATE, "yield_ms": 40_000}
    with pytest.raises(MCPError):
        mcp_session.ask(lambda client: client.call_tool("exec", slow, read_timeout_seconds=0.3))
    other = until(lambda: [one for one in job_ids(root) if one != job], what="the second job")[0]
    assert mcp_session.ok("process", action="list")["jobs"][0]["state"] == "running"
    (work / "go").touch()
    found = ended(mcp_session, job)
    assert (found["state"], found["exit_code"]) == ("exited", 6)
    assert cli.ok("log", job)["output"] == "begun\ndone\n"
    assert ended(mcp_session, other)["exit_code"] == 0


@ONE_ERA
def test_an_error_of_an_action_names_the_arguments_as_the_caller_wrote_them(
    mcp_session: McpSession, work: Path
) -> None:
    for name in ("workdir", "cwd", "workDir"):
        error = mcp_session.call("exec", command="true", **{name: "missing/relative"}).result["error"]
        assert error["code"] == "invalid_argument"
        assert error["details"]["field"] == name, error
    job = mcp_session.call("exec", command="true")["job_id"]
    both = {"offset": 1, "sinceSeq": 1}
    error = mcp_session.call("process", action="log", job_id=job, **both).result["error"]
    assert "offset" in error["message"] and "sinceSeq" in error["message"] and "--" not in error["message"]


@MODERN_FIRST
def test_quick_calls_are_answered_while_long_ones_wait(mcp_session: McpSession, work: Path) -> None:
    job = background(mcp_session, GATE)
    long = [mcp_session.begin("process", action="wait", job_id=job, timeout_ms=40_000) for _ in range(8)]
    long.append(mcp_session.begin("exec", command=GATE, yield_ms=40_000))
    long.append(mcp_session.begin("process", action="poll", job_id=job, timeout_ms=40_000))
    for number in range(5):
        assert mcp_session.ok("exec", command=f"echo {number}")["output"] == f"{number}\n"
        assert mcp_session.ok("process", action="list")["jobs"]
        assert mcp_session.ok("process", action="log", job_id=job)["output"] == ""
    assert not any(call.done() for call in long), "they were in flight all the time"
    (work / "go").touch()
    assert [call.result(60)["state"] for call in long] == ["exited"] * 10


# --- the end, and noise --------------------------------------------------------------------------------------------


@MODERN_FIRST
def test_end_of_file_ends_the_server_at_once_with_a_wait_in_flight(
    era: str, raw_mcp: Callable[..., RawMcp], cli: Cli, jobs: Jobs, root: Path
) -> None:
    server = raw_mcp(era=era)
    job = server.call("exec", command="echo begun; sleep 60", yield_ms=0)["job_id"]
    server.begin_call("process", action="wait", job_id=job, timeout_ms=600_000)
    server.begin_call("exec", command="sleep 601", yield_ms=600_000)
    until(lambda: len(job_ids(root)) == 2, what="the second job")
    server.close_stdin()
    assert server.wait(60) == 0, "well before the wait would have ended"
    assert all(one["state"] == "running" for one in jobs.all())
    assert len(jobs.all()) == 2
    jobs.end()


def test_a_signal_ends_the_server_and_no_job(raw_mcp: Callable[..., RawMcp], cli: Cli, jobs: Jobs) -> None:
    for number in (15, 2):
        server = raw_mcp()
        job = server.call("exec", command="sleep 60", yield_ms=0)["job_id"]
        server.kill(number)
        server.wait(60)
        assert cli.ok("status", job)["state"] == "running"
    jobs.end()


@pytest.mark.fault("S24")
@MODERN_FIRST
def test_a_call_that_is_none_does_not_end_the_server(shared_raw: RawMcp) -> None:
    server = shared_raw
    for params in ({"name": "exec"}, {"name": "exec", "arguments": None}, {"name": "process", "arguments": {}}):
        answer = server.request("tools/call", params)
        assert answer["isError"] and answer["structuredContent"]["error"]["code"] == "invalid_argument"
    refused: list[Any] = [{"arguments": {}}, {"name": "nothing"}, {"name": 7}, {"name": "exec", "arguments": []}]
    for params in refused:
        with pytest.raises(McpRefusal):
            server.request("tools/call", params)
    assert server.call("exec", command="echo and here")["output"] == "and here\n"


@ONE_ERA
def test_the_directory_of_a_server_that_was_deleted_and_made_again_is_found_by_its_path(
    mcp_connect: Connect, place: Path
) -> None:
    folder = place / "branch"
    folder.mkdir()
    session = mcp_connect(cwd=folder)
    assert session.ok("exec", command="pwd")["output"] == f"{folder}\n"
    folder.rmdir()
    missing = session.error("exec", command="pwd", code="invalid_argument")
    assert f"the directory {folder} does not exist; nothing was run" in missing.text
    folder.mkdir()
    assert session.ok("exec", command="pwd")["output"] == f"{folder}\n"
