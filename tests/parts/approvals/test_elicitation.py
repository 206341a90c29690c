"""A client that shows forms asks its user about a job that waits for approval; a person at a terminal may be faster."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError, types

from outlive.core.ids import new_id
from outlive.system.tree import COOKIE
from support.cli import Cli, configured
from support.mcp_client import McpSession, RawMcp
from support.serve import HttpSession, Served
from support.tasks_client import IDENTIFIER, OVER, Created, Detailed, TasksClient, get, start, tell
from support.tiers import ONE_ERA
from support.wait import until

RULES = '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\nreason = "by hand"\n'


class User:
    """What the user of a client sees and says. Without an answer the form stays open."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.says: types.ElicitResult | None = None

    async def __call__(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.seen.append(params.message)
        assert isinstance(params, types.ElicitRequestFormParams)
        while self.says is None:
            await anyio.sleep(0.01)
        return self.says


def says(decision: str, reason: str | None = None) -> types.ElicitResult:
    content: dict[str, Any] = {"decision": decision} | ({"reason": reason} if reason else {})
    return types.ElicitResult(action="accept", content=content)


@pytest.fixture
def user(place: Path) -> User:
    configured(place, RULES)
    return User()


@pytest.fixture
def session(mcp_connect: Callable[..., McpSession], user: User) -> McpSession:
    return mcp_connect(elicitation=user)


def test_the_user_of_the_client_approves(session: McpSession, user: User, cli: Cli, work: Path) -> None:
    user.says = says("approve", "once")
    found = session.ok("exec", command="touch made; echo done")
    assert (found["state"], found["output"]) == ("exited", "done\n")
    assert found["approval"] | {"at": ""} == {
        "state": "approved", "rule": "rule 1 (touch)", "reason": "by hand", "by": "the user of tests", "at": "", "answer": "once",
    }  # fmt: skip
    (message,) = user.seen
    assert "touch made; echo done" in message
    assert "rule 1 (touch): by hand" in message
    assert len(cli.ok("list")["jobs"]) == 1


def test_the_user_of_the_client_denies(session: McpSession, user: User, work: Path) -> None:
    for no in (says("deny", "not now"), types.ElicitResult(action="decline")):
        user.says = no
        answer = session.call("exec", command="touch made")
        assert (answer["state"], answer["reason"], answer["approval"]["state"]) == ("failed", "denied", "denied")
        assert "denied by the user of tests" in answer.text
        assert not (work / "made").exists()


def test_always_asks_no_second_time(session: McpSession, user: User, work: Path) -> None:
    user.says = says("approve always")
    for _ in range(2):
        assert session.ok("exec", command="touch made")["state"] == "exited"
    assert len(user.seen) == 1


@pytest.mark.parametrize("said", ["approve", "approve always"])
def test_what_the_user_approves_runs_where_the_form_said_that_it_leads(
    session: McpSession, user: User, work: Path, said: str
) -> None:
    for name in ("a", "b"):
        (work / name).mkdir()
    (work / "link").symlink_to("a")
    for leads in ("a", "b"):
        call = session.begin("exec", command="touch made", workdir=str(work / "link"))
        until(lambda leads=leads: user.seen[-1:] and f"{work}/{leads}" in user.seen[-1], what="the form")
        (work / "new").symlink_to("b")
        (work / "new").rename(work / "link")
        assert not (work / "b/made").exists(), "an answer about a holds for a alone"
        user.says = says(said)
        assert call.result(60)["state"] == "exited"
        user.says = None
        assert (work / leads / "made").exists()
    assert len(user.seen) == 2


def test_a_directory_that_is_replaced_while_the_form_is_shown_starts_nothing(
    session: McpSession, user: User, work: Path
) -> None:
    (work / "a").mkdir()
    call = session.begin("exec", command="touch made", workdir=str(work / "a"))
    until(lambda: user.seen, what="the form")
    (work / "a").rename(work / "was")
    (work / "a").mkdir()
    user.says = says("approve")
    assert call.result(60)["reason"] == "denied"
    assert [*work.rglob("made")] == []


def test_a_form_that_is_closed_leaves_the_job_to_a_terminal(
    session: McpSession, user: User, cli: Cli, work: Path
) -> None:
    user.says = types.ElicitResult(action="cancel")
    found = session.ok("exec", command="touch made", yield_ms=100)
    assert (found["state"], found["approval"]["state"]) == ("created", "pending")
    until(lambda: user.seen, what="the form")
    cli.ok("approve", found["job_id"])
    assert session.ok("process", action="wait", job_id=found["job_id"])["exit_code"] == 0
    assert len(user.seen) == 1


def test_a_person_at_a_terminal_may_be_faster_than_the_user_of_the_client(
    session: McpSession, user: User, cli: Cli, work: Path
) -> None:
    call = session.begin("exec", command="touch made")
    until(lambda: user.seen, what="the form")
    (job,) = cli.ok("list")["jobs"]
    cli.ok("deny", job["job_id"], "--reason", "at the terminal")
    user.says = says("approve")
    answer = call.result(60)
    assert (answer["state"], answer["approval"]["answer"]) == ("failed", "at the terminal")
    assert not (work / "made").exists()


@pytest.mark.parametrize("era", ["legacy"])
def test_a_form_stays_open_when_the_call_has_been_answered(
    session: McpSession, user: User, cli: Cli, work: Path
) -> None:
    job = session.ok("exec", command="touch made", yield_ms=0)["job_id"]
    until(lambda: user.seen, what="the form")
    user.says = says("deny", "late")
    until(lambda: cli.ok("status", job)["state"] == "failed", what="the denial")
    assert cli.ok("status", job)["approval"]["answer"] == "late"


def test_a_client_without_forms_is_not_asked(mcp_connect: Callable[..., McpSession], user: User) -> None:
    found = mcp_connect().ok("exec", command="touch made", yield_ms=0)
    assert found["approval"]["state"] == "pending"
    assert user.seen == []


def test_a_job_that_is_the_client_of_a_server_does_not_approve_its_own_command(
    mcp_connect: Callable[..., McpSession], user: User, cli: Cli, work: Path
) -> None:
    user.says = says("approve")
    session = mcp_connect(elicitation=user, env={COOKIE: new_id()})
    found = session.ok("exec", command="touch made", yield_ms=0)
    cli.ok("approve", found["job_id"])
    assert session.ok("process", action="wait", job_id=found["job_id"])["approval"]["by"] != "the user of tests"
    assert user.seen == []


def test_the_form_shows_what_decides_what_runs_one_fact_a_line(
    session: McpSession, user: User, cli: Cli, work: Path
) -> None:
    user.says = says("approve")
    forged = "touch made\nDirectory: /safe"
    session.ok("exec", command=["touch", forged], env={"LD_PRELOAD": "/ws/x.so", "KEY": "secret"}, mask=["KEY"])
    (message,) = user.seen
    lines = message.splitlines()
    assert "Command: touch $'touch made\\nDirectory: /safe'" in lines
    assert [line for line in lines if line.startswith("Directory: ")] == [f"Directory: {work}"]
    assert "Variable: LD_PRELOAD=/ws/x.so" in lines
    assert "Variable: KEY=(masked: its value is shown nowhere)" in lines
    assert "secret" not in message


def test_a_form_of_few_facts_is_one_line_that_no_client_cuts_and_the_command_ends_it(
    session: McpSession, user: User
) -> None:
    """Claude Code shows four rows of a message, in a terminal of 80 columns 74 characters wide."""
    user.says = says("approve")
    session.ok("exec", command="touch --version; echo Sandbox: strict", timeout=60, workdir="/")
    (message,) = user.seen
    assert len(textwrap.wrap(message, 74)) <= 4 and "\n" not in message
    begins = "Run this command? Asked by: rule 1 (touch): by hand · Read by: bash -c · Directory: / · Sandbox: none"
    assert message == f"{begins} · Time limit: 60 s · Command: touch --version; echo Sandbox: strict"


def test_blanks_are_shown_as_they_count(session: McpSession, user: User) -> None:
    user.says = says("deny")
    end = "; touch evil"
    for blanks in (2, 16):
        session.ok("exec", command=f"touch made{' ' * blanks}{end}", workdir="/")
        assert f"touch made␠×{blanks} {end}" in user.seen[-1]


def test_the_first_words_of_a_longer_form_are_where_all_is_shown(session: McpSession, user: User) -> None:
    user.says = says("approve")
    for more in (
        {"command": f"touch made {'x' * 300}"},
        {"env": {"A": "b · Sandbox: strict"}},  # which forges a fact
        {"command": "touch made\ntouch evil"},
    ):
        job = session.ok("exec", **{"command": "touch made"} | more)["job_id"]
        first, *facts = user.seen[-1].splitlines()
        assert first == f"Run it? If anything is cut here, `outlive approve {job[-8:]}` shows all."
        assert facts[0].startswith("Command")
        assert len(first) <= 74
    assert len(user.seen) == 3


def test_what_no_form_can_show_whole_is_left_to_a_terminal(
    session: McpSession, user: User, cli: Cli, work: Path
) -> None:
    """What decides stands behind so much else that no one reads that far."""
    user.says = says("approve")
    long = {"command": f"touch made {'x' * 4_000}; touch evil"}
    read = {"command": "touch made; sh", "stdin_data": f"{'#' * 5_000}\ntouch evil\n"}
    for given, label, shown in ((long, "Command", "touch evil"), (read, "Input data", "read stdin.data")):
        answer = session.call("exec", yield_ms=0, **given)
        assert (answer["approval"]["state"], user.seen) == ("pending", [])
        assert "too long for a form" in answer.text and "outlive approve" in answer.text
        assert "Time limit" not in answer.text  # the caller knows what it gave
        facts = {one["label"]: one["value"] for one in cli.ok("status", answer["job_id"])["approval"]["facts"]}
        assert shown in facts[label]
        cli.ok("deny", answer["job_id"])
    assert not (work / "made").exists()


def test_over_http_the_user_of_the_client_is_asked_too(
    serve: Callable[..., Served], era: str, user: User, work: Path
) -> None:
    user.says = says("approve")
    served = serve()
    served.token("desk", "--approves")
    with HttpSession(served, era=era, elicitation=user, token="desk") as session:
        found = session.ok("exec", command="touch made; echo done", workdir=str(work))
    assert (found["state"], found["output"], found["approval"]["by"]) == ("exited", "done\n", "the user of desk")


def test_over_http_a_token_that_approves_nothing_is_sent_no_form(
    serve: Callable[..., Served], era: str, user: User, cli: Cli, work: Path
) -> None:
    user.says = says("approve")
    with HttpSession(serve(), era=era, elicitation=user) as session:
        answer = session.call("exec", command="touch made", workdir=str(work), yield_ms=0)
        assert (answer["approval"]["state"], user.seen) == ("pending", [])
        assert "outlive approve" in answer.text
        cli.ok("deny", answer["job_id"])
    assert not (work / "made").exists()


def test_an_answer_that_was_not_asked_for_approves_nothing_over_http(
    serve: Callable[..., Served], user: User, cli: Cli, work: Path
) -> None:
    """The token answers the question about its own command: as the call's answer, and as the task's."""
    served = serve()
    form: Any = {"action": "accept", "content": {"decision": "approve"}}
    with HttpSession(served, era="modern", elicitation=user, extensions=[TasksClient()]) as session:
        job = session.ok("exec", command="touch made", workdir=str(work), yield_ms=0)["job_id"]
        assert get(session, job).status == "working"
        tells(session, job, says("approve"))

        async def answers(client: Any) -> Any:
            request = types.CallToolRequest(
                params=types.CallToolRequestParams(
                    name="exec",
                    arguments={"command": "touch made", "workdir": str(work), "yield_ms": 0},
                    input_responses={"approval": form},
                    request_state=job,
                )
            )
            return await client.session.send_request(request, types.CallToolResult)

        session.ask(answers)
        asked_about = cli.ok("list", "--all")["jobs"]
        assert [one["approval"]["state"] for one in asked_about] == ["pending", "pending"]
        for one in asked_about:
            cli.ok("deny", one["job_id"])
    assert not (work / "made").exists()


def test_the_end_of_a_job_whose_question_the_client_left_open_is_news(
    raw_mcp: Callable[..., RawMcp], user: User, cli: Cli, work: Path
) -> None:
    raw = raw_mcp(era="modern")
    shows: dict[str, Any] = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}}
    asked = raw.request("tools/call", {"name": "exec", "arguments": {"command": "touch made; exit 3"}, **shows})
    assert asked["resultType"] == "input_required", asked
    job = asked["requestState"]
    cli.ok("approve", job)
    assert cli.ok("wait", job)["state"] == "exited"
    told = raw.call("exec", command="true")["notices"]
    assert [(one["job_id"], one["exit_code"]) for one in told if one["event"] == "finished"] == [(job, 3)]
    assert "notices" not in raw.call("exec", command="true").result


def test_an_answer_comes_with_a_call_that_makes_a_job(raw_mcp: Callable[..., RawMcp], user: User, cli: Cli) -> None:
    raw = raw_mcp(era="modern")
    shows: dict[str, Any] = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}}
    asked = raw.request("tools/call", {"name": "exec", "arguments": {"command": "touch made"}, **shows})
    form = {"approval": {"action": "accept", "content": {"decision": "approve"}}}
    state = {"requestState": asked["requestState"], "inputResponses": form}
    answer = raw.request("tools/call", {"name": "process", "arguments": {"action": "list"}, **state, **shows})
    assert answer["structuredContent"]["error"]["code"] == "invalid_argument", answer
    cli.ok("deny", asked["requestState"])


# --- clients that declare tasks: the task has the question -----------------------------------------------------------


@pytest.fixture
def follower(mcp_connect: Callable[..., McpSession], user: User) -> McpSession:
    """A client that declares tasks and forms."""
    return mcp_connect(elicitation=user, extensions=[TasksClient()])


def asked(session: McpSession, command: str = "touch made; echo done", **arguments: Any) -> str:
    """The id of a task that waits for approval."""
    found = start(session, command, **arguments)
    assert isinstance(found, Created), found
    assert found.status == "input_required"
    return found.task_id


def question(session: McpSession, task: str) -> dict[str, Any]:
    """The form of the task's one question."""
    found = get(session, task)
    assert (found.status, list(found.input_requests or {})) == ("input_required", ["approval"])
    assert found.input_requests is not None
    request = found.input_requests["approval"]
    assert request["method"] == "elicitation/create"
    form: dict[str, Any] = request["params"]
    return form


def tells(session: McpSession, task: str, result: types.ElicitResult) -> None:
    response = result.model_dump(by_alias=True, exclude_none=True)
    assert tell(session, "tasks/update", task, inputResponses={"approval": response}) == {"resultType": "complete"}


def ended(session: McpSession, task: str) -> dict[str, Any]:
    """The answer of `exec` that the task ended with."""

    def look() -> Detailed | None:
        found = get(session, task)
        return found if found.status in OVER else None

    found = until(look, what="the end of the task")
    assert found is not None and found.status == "completed" and found.result is not None
    answer: dict[str, Any] = found.result["structuredContent"]
    return answer


def approved_by_form(session: McpSession, work: Path, name: str = "tests") -> None:
    task = asked(session, workdir=str(work))
    form = question(session, task)
    assert "touch made; echo done" in form["message"] and "rule 1 (touch): by hand" in form["message"]
    assert form["requestedSchema"]["properties"]["decision"]["enum"] == ["approve", "approve always", "deny"]
    assert not (work / "made").exists()
    tells(session, task, says("approve", "once"))
    assert ended(session, task)["output"] == "done\n"
    found = session.ok("process", action="status", job_id=task)
    assert (found["approval"]["by"], found["approval"]["answer"]) == (f"the user of {name}", "once")


@ONE_ERA
def test_a_task_asks_the_user_and_goes_on_when_it_is_approved(follower: McpSession, work: Path) -> None:
    approved_by_form(follower, work)


@ONE_ERA
def test_a_task_has_no_form_for_what_a_form_cannot_show(follower: McpSession, cli: Cli) -> None:
    found = start(follower, f"touch {'x' * 4_000}", yield_ms=0)
    job = found.task_id if isinstance(found, Created) else found.structured_content["job_id"]
    assert get(follower, job).status == "working"
    tells(follower, job, says("approve"))
    assert cli.ok("status", job)["approval"]["state"] == "pending"
    cli.ok("deny", job)


@ONE_ERA
def test_over_http_a_task_asks_the_user_too(serve: Callable[..., Served], era: str, user: User, work: Path) -> None:
    served = serve()
    served.token("desk", "--approves")
    with HttpSession(served, era=era, elicitation=user, extensions=[TasksClient()], token="desk") as session:
        approved_by_form(session, work, "desk")


@ONE_ERA
@pytest.mark.parametrize("no", [says("deny", "not now"), types.ElicitResult(action="decline")], ids=["deny", "decline"])
def test_a_task_that_the_user_denies_ends_without_running(
    follower: McpSession, work: Path, no: types.ElicitResult
) -> None:
    task = asked(follower)
    tells(follower, task, no)
    found = ended(follower, task)
    assert (found["state"], found["reason"]) == ("failed", "denied")
    assert not (work / "made").exists()
    tells(follower, task, says("approve"))  # answered before: ignored
    assert ended(follower, task)["reason"] == "denied"


@ONE_ERA
def test_a_person_at_a_terminal_may_answer_for_a_task_first(follower: McpSession, cli: Cli, work: Path) -> None:
    task = asked(follower)
    tells(follower, task, types.ElicitResult(action="cancel"))  # the form was closed: the question stays
    assert question(follower, task)
    assert "outlive approve" in (get(follower, task).status_message or "")
    cli.ok("approve", task, "--reason", "at the terminal")
    tells(follower, task, says("deny"))
    assert ended(follower, task)["exit_code"] == 0
    assert cli.ok("status", task)["approval"]["answer"] == "at the terminal"


@ONE_ERA
def test_an_answer_to_a_task_without_a_decision_is_refused(follower: McpSession) -> None:
    task = asked(follower)
    for wrong in ({"action": "accept", "content": {"decision": "yes"}}, {"action": "maybe"}, "approve"):
        with pytest.raises(MCPError) as refused:
            tell(follower, "tasks/update", task, inputResponses={"approval": wrong})
        assert refused.value.code == types.INVALID_PARAMS
    assert question(follower, task)
    assert tell(follower, "tasks/cancel", task) == {"resultType": "complete"}
    assert get(follower, task).status == "cancelled"


@ONE_ERA
def test_a_task_is_approved_always_and_asks_no_second_time(follower: McpSession, work: Path) -> None:
    task = asked(follower)
    tells(follower, task, says("approve always"))
    assert ended(follower, task)["exit_code"] == 0
    assert isinstance(start(follower, "touch made; echo done"), types.CallToolResult)


@ONE_ERA
def test_only_the_client_that_started_a_task_is_asked_about_it(
    follower: McpSession, mcp_connect: Callable[..., McpSession], user: User, cli: Cli, work: Path
) -> None:
    other = mcp_connect(elicitation=user, extensions=[TasksClient()], client_name="other")
    for task in (asked(follower), cli.ok("run", "--snapshot-after", "0", "touch made")["job_id"]):
        assert get(other, task).status == "working"
        tells(other, task, says("approve"))
        assert cli.ok("status", task)["approval"]["state"] == "pending"


def test_a_subscriber_of_a_task_is_sent_the_question_and_told_of_the_answer(
    raw_mcp: Callable[..., RawMcp], user: User, cli: Cli
) -> None:
    raw = raw_mcp(era="modern")
    capabilities: dict[str, Any] = {"extensions": {IDENTIFIER: {}}, "elicitation": {}}
    meta = {"_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}}
    task = raw.request("tools/call", {"name": "exec", "arguments": {"command": "touch made"}, **meta})["taskId"]
    raw.begin("subscriptions/listen", {"notifications": {"taskIds": [task]}, **meta})

    def told(status: str) -> dict[str, Any] | None:
        raw.read_one(0.1)
        found = (one["params"] for one in raw.others if one["method"] == "notifications/tasks")
        return next((one for one in found if one["status"] == status), None)

    asks = until(lambda: told("input_required"), what="the question")
    assert asks is not None and list(asks["inputRequests"]) == ["approval"]
    cli.ok("deny", task)
    over = until(lambda: told("completed"), what="the end")
    assert over is not None and over["result"]["structuredContent"]["reason"] == "denied"


@ONE_ERA
def test_a_task_is_approved_by_a_later_server_of_the_same_client(
    follower: McpSession, mcp_connect: Callable[..., McpSession], user: User, work: Path
) -> None:
    task = asked(follower)
    follower.kill()
    later = mcp_connect(elicitation=user, extensions=[TasksClient()])
    assert question(later, task)
    tells(later, task, says("approve"))
    assert ended(later, task)["output"] == "done\n"


@ONE_ERA
def test_a_job_with_tasks_does_not_approve_its_own_command(
    mcp_connect: Callable[..., McpSession], user: User, cli: Cli
) -> None:
    session = mcp_connect(elicitation=user, extensions=[TasksClient()], env={COOKIE: new_id()})
    found = start(session, "touch made", yield_ms=0)
    assert isinstance(found, types.CallToolResult)
    job = found.structured_content["job_id"]
    assert get(session, job).status == "working"
    tells(session, job, says("approve"))
    assert cli.ok("status", job)["approval"]["state"] == "pending"


@ONE_ERA
def test_a_job_in_the_background_is_asked_about_by_the_answer_of_its_call(
    follower: McpSession, user: User, work: Path
) -> None:
    user.says = says("approve")
    found = follower.ok("exec", command="touch made", background=True)
    assert (found["approval"]["state"], len(user.seen)) == ("approved", 1)
    assert follower.ok("process", action="wait", job_id=found["job_id"])["exit_code"] == 0


@ONE_ERA
def test_a_client_that_declares_tasks_but_no_forms_is_told_what_its_user_can_do(
    mcp_connect: Callable[..., McpSession], user: User
) -> None:
    found = start(mcp_connect(extensions=[TasksClient()]), "touch made", yield_ms=0)
    assert isinstance(found, types.CallToolResult)
    assert isinstance(found.content[0], types.TextContent) and "outlive approve" in found.content[0].text


@ONE_ERA
def test_exec_alone_without_forms_gives_a_task_that_a_terminal_approves(
    mcp_connect: Callable[..., McpSession], user: User, cli: Cli, work: Path
) -> None:
    session = mcp_connect(
        extensions=[TasksClient()], args=("--tools", "exec"), env={"OUTLIVE_EXEC_BACKGROUND_MS": "50"}
    )
    found = start(session, "touch made; echo done")
    assert isinstance(found, Created)
    assert found.status == "working"
    cli.ok("approve", found.task_id)
    assert ended(session, found.task_id)["output"] == "done\n"


@pytest.mark.parametrize("era", ["legacy"], indirect=True)
def test_in_a_handshake_tasks_change_nothing_about_forms(follower: McpSession, user: User, work: Path) -> None:
    user.says = says("approve")
    assert follower.ok("exec", command="touch made; echo done")["output"] == "done\n"
    assert len(user.seen) == 1
