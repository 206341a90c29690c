"""`outlive mcp --channel`: a client is woken when a job that it started ends, unless it knows already."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli
from support.commands import GATE
from support.mcp_client import RawMcp
from support.tiers import MODERN_FIRST, ONE_ERA
from support.wait import until

Raw = Callable[..., RawMcp]
METHOD = "notifications/claude/channel"
LAST = "until [ -e last ]; do sleep 0.1; done"


def _begin(raw: RawMcp, command: str, **more: Any) -> str:
    job: str = raw.call("exec", command=command, yield_ms=0, **more)["job_id"]
    return job


def _messages(raw: RawMcp) -> list[dict[str, Any]]:
    return [one["params"] for one in raw.others if one["method"] == METHOD]


def _next_message(raw: RawMcp, already: int = 0) -> dict[str, Any]:
    raw.read_until(lambda: len(_messages(raw)) > already, "a message on the channel")
    return _messages(raw)[already]


def _experimental(raw: RawMcp) -> Any:
    told = raw.greeting if raw.era == "legacy" else raw.request("server/discover")
    return told["capabilities"].get("experimental")


@pytest.fixture(scope="module")
def shared_raw_options() -> dict[str, Any]:
    return {"args": ("--channel",)}


@pytest.fixture
def raw(shared_raw: RawMcp) -> RawMcp:
    """A client with a channel, of a server that this module's tests share."""
    return shared_raw


@MODERN_FIRST
def test_the_channel_is_declared_if_it_is_asked_for(raw: RawMcp) -> None:
    assert _experimental(raw) == {"claude/channel": {}}


def test_the_help_names_the_flag(cli: Cli) -> None:
    assert "--channel " in cli.text("mcp", "--help").stdout
    assert cli.text("mcp", "--channel=yes").status == 2


def test_a_job_that_ends_wakes_the_client_that_started_it(raw: RawMcp, work: Path) -> None:
    job = _begin(raw, f"{GATE}; echo it broke; exit 3", title="build <1>")
    (work / "go").touch()
    found = _next_message(raw)
    content = found["content"]
    for word in ("build <1>", job[-8:], "exited with code 3", "it broke", f"process action=poll job_id={job}"):
        assert word in content
    assert "\n" not in content
    assert found["meta"] == {
        "event": "finished",
        "job_id": job,
        "name": "build <1>",
        "state": "exited",
        "reason": "exit",
        "exit_code": "3",
    }
    assert all(re.fullmatch("[A-Za-z0-9_]+", key) for key in found["meta"])
    assert raw.call("process", action="poll", job_id=job)["output"] == "it broke\n"
    assert len(_messages(raw)) == 1


@MODERN_FIRST
def test_a_watch_that_is_hit_wakes_the_client(raw: RawMcp, work: Path) -> None:
    then = "until [ -e on ]; do sleep 0.1; done"
    command = f"{GATE}; echo calm; echo the first needle; echo the last needle; {then}"
    job = _begin(raw, command, watch=["needle"], title="seek")
    (work / "go").touch()
    found = _next_message(raw)
    meta = found["meta"]
    assert (meta["event"], meta["job_id"], meta["state"], meta["hits"]) == ("watch_hit", job, "running", "2")
    assert "seek" in found["content"] and "the last needle" in found["content"] and job in found["content"]
    assert all(isinstance(value, str) and re.fullmatch("[A-Za-z0-9_]+", key) for key, value in meta.items())
    shown = raw.call("process", action="poll", job_id=job, since_seq=int(meta["seq"]))
    assert shown["output"] == "the last needle\n"
    (work / "on").touch()
    assert _next_message(raw, already=1)["meta"]["event"] == "finished"


@MODERN_FIRST
def test_nobody_is_told_what_an_answer_told(raw: RawMcp, work: Path) -> None:
    raw.call("exec", command="true")
    waited = _begin(raw, f"{GATE}; echo waited")
    waiting = raw.begin_call("process", action="wait", job_id=waited)
    killed = _begin(raw, "sleep 1000")
    stubborn = _begin(raw, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    until(lambda: raw.call("process", action="tail", job_id=stubborn)["stdout_tail"], what="its trap")
    raw.call("process", action="kill", job_id=killed)
    raw.call("process", action="kill", job_id=stubborn, grace_ms=1_000, wait_ms=0)
    interrupted = _begin(raw, "exec sleep 1000")
    raw.call("process", action="kill", job_id=interrupted, signal="INT")
    removed = _begin(raw, "sleep 1000")
    raw.call("process", action="remove", job_id=removed)
    # Its command ends a second before the answer
    lingering = _begin(raw, "(trap '' TERM; echo ready; while :; do sleep 0.05; done) & sleep 1000")
    until(lambda: raw.call("process", action="tail", job_id=lingering)["stdout_tail"], what="its trap")
    raw.call("process", action="remove", job_id=lingering, grace_ms=1_200)
    (work / "go").touch()
    assert raw.tool_answer(waiting)["state"] == "exited"
    ended = raw.call("process", action="wait", job_id=stubborn)
    assert (ended["state"], ended["reason"]) == ("killed", "kill")
    # What ends last is told last: a message about the others would have come before.
    other = _begin(raw, f"{LAST}; exit 9")
    (work / "last").touch()
    assert _next_message(raw)["meta"]["job_id"] == other
    assert len(_messages(raw)) == 1


@MODERN_FIRST
def test_a_kill_by_another_session_of_the_client_is_told(raw: RawMcp, raw_mcp: Raw) -> None:
    other = raw_mcp(era=raw.era)
    job = _begin(raw, "exec sleep 1000")
    assert raw.call("process", action="status", job_id=job)["owner"] == "tests"
    other.call("process", action="kill", job_id=job)
    found = _next_message(raw)
    assert (found["meta"]["job_id"], found["meta"]["state"]) == (job, "killed")


@MODERN_FIRST
def test_an_end_that_a_notice_told_is_not_told_again(raw: RawMcp, work: Path) -> None:
    job = _begin(raw, f"{GATE}; echo out", title="noticed")
    (work / "go").touch()
    until(lambda: _noticed(raw, job), what="a notice with another answer")
    before = len(_messages(raw))  # on a slow machine the message may have been first
    other = _begin(raw, f"{LAST}; exit 9")
    (work / "last").touch()
    assert _next_message(raw, already=before)["meta"]["job_id"] == other


def _noticed(raw: RawMcp, job: str) -> bool:
    told = raw.call("process", action="list", tags=["none"]).result.get("notices") or []
    return any(one["job_id"] == job and one["event"] == "finished" for one in told)


@ONE_ERA
def test_a_job_that_somebody_else_kills_wakes_the_client(raw: RawMcp, cli: Cli, work: Path) -> None:
    job = _begin(raw, "sleep 1000")
    cli.ok("kill", job)
    found = _next_message(raw)
    assert (found["meta"]["job_id"], found["meta"]["reason"]) == (job, "kill")
    assert "printed nothing" in found["content"]


@ONE_ERA
def test_a_job_that_somebody_else_removes_wakes_the_client(raw: RawMcp, cli: Cli) -> None:
    job = _begin(raw, "sleep 1000")
    raw.call("process", action="status", job_id=job)
    cli.ok("remove", job)
    found = _next_message(raw)
    assert found["meta"]["job_id"] == job
    assert found["meta"]["state"] in ("killed", "removed"), "who deletes and who looks are two processes"


@MODERN_FIRST
def test_an_end_that_a_call_that_was_taken_back_did_not_tell_wakes_the_client(raw: RawMcp, work: Path) -> None:
    call = raw.begin_call("exec", command=f"touch started; {GATE}", yield_ms=40_000)
    until((work / "started").exists, what="the job")
    raw.cancel(call)
    raw.request("tools/list")  # by its answer the call is taken back
    (work / "go").touch()
    assert _next_message(raw)["meta"]["state"] == "exited"


@ONE_ERA
def test_restarted_and_created_jobs_count_as_started(raw: RawMcp, work: Path) -> None:
    created = raw.call("process", action="create", command=GATE)["job_id"]
    raw.call("process", action="start", job_id=created, background=True)
    (work / "go").touch()
    assert _next_message(raw)["meta"]["job_id"] == created
    (work / "go").unlink()
    again = raw.call("process", action="restart", job_id=created, background=True)["job_id"]
    (work / "go").touch()
    assert _next_message(raw, already=1)["meta"]["job_id"] == again


def test_exec_alone_names_no_tool_that_is_not_there(raw_mcp: Raw, work: Path) -> None:
    keeps = {"OUTLIVE_EXEC_ON_CANCEL": "keep"}
    raw = raw_mcp(era="modern", args=("--channel", "--tools", "exec"), env=keeps)
    call = raw.begin_call("exec", command=f"touch started; {GATE}")
    until((work / "started").exists, what="the job")
    raw.cancel(call)
    raw.request("tools/list")  # by its answer the call is taken back
    (work / "go").touch()
    content = _next_message(raw)["content"]
    assert "process action" not in content and "outlive log" in content


@MODERN_FIRST
def test_without_the_flag_nothing_is_sent(raw_mcp: Raw, era: str, work: Path) -> None:
    raw = raw_mcp(era=era)
    assert not _experimental(raw)
    job = _begin(raw, f"{GATE}")
    (work / "go").touch()
    assert raw.call("process", action="wait", job_id=job)["state"] == "exited"
    assert raw.call("exec", command="sleep 1.5")["exit_code"] == 0
    assert not raw.others
