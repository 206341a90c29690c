"""A client that shows forms asks its user about a job that waits for approval; a person at a terminal may be faster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import types

from support.cli import Cli
from support.mcp_client import McpSession
from support.serve import HttpSession, Served
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
    return types.ElicitResult(action="accept", content={"decision": decision} | ({"reason": reason} if reason else {}))


@pytest.fixture
def user(place: Path) -> User:
    path = place / "home/.config/outlive/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(RULES, encoding="utf-8")
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


@pytest.mark.parametrize("no", [says("deny", "not now"), types.ElicitResult(action="decline")], ids=["deny", "decline"])
def test_the_user_of_the_client_denies(session: McpSession, user: User, work: Path, no: types.ElicitResult) -> None:
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


def test_over_http_the_user_of_the_client_is_asked_too(
    serve: Callable[..., Served], era: str, user: User, work: Path
) -> None:
    user.says = says("approve")
    with HttpSession(serve(), era=era, elicitation=user) as session:
        found = session.ok("exec", command="touch made; echo done", workdir=str(work))
    assert (found["state"], found["output"], found["approval"]["by"]) == ("exited", "done\n", "the user of tests")
