"""A call that blocks tells how it gets on, if it is asked to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from outlive import verbs
from outlive.jobs.context import Context
from outlive.mcp.masking import Masking
from outlive.parts.push import progress
from support.commands import GATE
from support.mcp_client import McpSession, Progress, RawMcp
from support.tiers import MODERN_FIRST, ONE_ERA
from support.wait import until

THEN = "until [ -e on ]; do sleep 0.1; done"


@pytest.fixture
def mcp_session(shared_session: McpSession) -> McpSession:
    return shared_session


def _rises(told: list[Progress]) -> bool:
    done = [one.done for one in told]
    return done == sorted(set(done)) and done[0] >= progress.EVERY_S


@MODERN_FIRST
def test_exec_tells_the_last_line_while_it_blocks(mcp_session: McpSession, work: Path) -> None:
    call, told = mcp_session.begin_told("exec", command=f"{GATE}; echo part 1; {THEN}; echo part 2", yield_ms=40_000)
    until(lambda: told, what="the first progress")
    assert told[0].message == "running, no output yet"
    (work / "go").touch()
    until(lambda: told[-1].message == "part 1", what="the line it printed")
    (work / "on").touch()
    assert call.result(60)["exit_code"] == 0
    assert _rises(told)
    assert {one.total for one in told} == {40}
    assert [one.message for one in told if one.message != "part 2"] == ["running, no output yet", "part 1"]


@MODERN_FIRST
@pytest.mark.parametrize("action", ["wait", "poll"])
def test_waiting_tells_the_last_line_of_the_first_job(mcp_session: McpSession, work: Path, action: str) -> None:
    job = mcp_session.ok("exec", command=f"echo begun; {GATE}", yield_ms=0)["job_id"]
    until(lambda: mcp_session.ok("process", action="status", job_id=job)["next_seq"] == 6, what="its line")
    more = {"since_seq": 6} if action == "poll" else {}
    call, told = mcp_session.begin_told("process", action=action, job_id=job, timeout_ms=50_000, **more)
    until(lambda: told, what="the first progress")
    (work / "go").touch()
    assert call.result(60)["state"] == "exited"
    assert (told[0].message, told[0].total) == ("begun", 50)
    assert _rises(told)


@MODERN_FIRST
def test_nothing_is_told_without_a_token_and_nothing_after_the_answer(shared_raw: RawMcp, work: Path) -> None:
    raw = shared_raw
    silent = raw.begin_call("exec", command=f"{GATE}", yield_ms=40_000)
    arguments = {"command": f"{GATE}; echo out; {THEN}", "yield_ms": 40_000}
    told = raw.begin("tools/call", {"name": "exec", "arguments": arguments, "_meta": {"progressToken": "mine"}})
    raw.read_until(lambda: raw.others, "the first progress")
    (work / "go").touch()
    raw.read_until(lambda: len(raw.others) > 1, "the second")
    (work / "on").touch()
    assert raw.tool_answer(told)["exit_code"] == raw.tool_answer(silent)["exit_code"] == 0
    assert {one["method"] for one in raw.others} == {"notifications/progress"}
    assert {one["params"]["progressToken"] for one in raw.others} == {"mine"}
    before = len(raw.others)
    later = raw.begin_call("exec", command=f"sleep {2 * progress.EVERY_S}")
    assert raw.tool_answer(later)["exit_code"] == 0
    assert len(raw.others) == before


@MODERN_FIRST
def test_a_wait_without_a_job_tells_the_last_line_of_the_job_that_printed_last(
    mcp_session: McpSession, work: Path
) -> None:
    jobs = [mcp_session.ok("exec", command=f"echo {name}; {GATE}", background=True)["job_id"] for name in "ab"]
    call, told = mcp_session.begin_told("process", action="wait", timeout_ms=50_000)
    until(lambda: told, what="the first progress")
    (work / "go").touch()
    assert call.result(60)["state"] == "exited"
    assert told[0].message == f"{jobs[1][-8:]}: b"


@ONE_ERA
def test_a_call_that_fails_while_it_tells_fails_as_ever(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="true")["job_id"]
    call, told = mcp_session.begin_told("process", action="start", job_id=job)
    answer = call.result(60)
    assert (answer.is_error, answer["error"]["code"]) == (True, "invalid_state")
    assert not told


@MODERN_FIRST
def test_a_call_that_is_taken_back_is_told_of_no_more(shared_raw: RawMcp, work: Path) -> None:
    raw = shared_raw
    counting = "n=0; until [ -e go ]; do n=$((n+1)); echo $n; sleep 0.02; done"
    arguments = {"command": counting, "yield_ms": 40_000}
    call = raw.begin("tools/call", {"name": "exec", "arguments": arguments, "_meta": {"progressToken": 7}})
    raw.read_until(lambda: raw.others, "the first progress")
    raw.cancel(call)
    raw.call("process", action="list")  # the cancellation was read before this
    before = len(raw.others)
    assert raw.call("exec", command=f"sleep {2 * progress.EVERY_S}")["exit_code"] == 0
    assert len(raw.others) == before
    (work / "go").touch()


# --- without a server: how often ------------------------------------------------------------------------------------


def test_the_heartbeat_is_one_that_clients_count_on() -> None:
    assert progress.HEARTBEAT_S + progress.EVERY_S <= 10


def test_the_same_line_is_told_again_as_a_heartbeat_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    lines = ["a", "a", "a", "b", "b", "c"]
    monkeypatch.setattr(progress, "message_of", lambda *_: lines.pop(0) if len(lines) > 1 else lines[0])
    assert _messages(3) == ["a", "b", "c"]


def test_a_job_that_says_nothing_new_has_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.03)
    monkeypatch.setattr(progress, "message_of", lambda *_: "the same")
    assert _messages(4) == ["the same"] * 4


def test_a_call_that_works_on_many_jobs_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.03)
    assert _messages(2, "gc", lambda: (5, 9, "jobs deleted")) == ["5 of 9 jobs deleted"] * 2
    assert _messages(1, "gc", lambda: (5000, None, "jobs looked at")) == ["5,000 jobs looked at"]


def _messages(
    count: int, verb: str = "wait", how_far: Callable[[], tuple[int, int | None, str]] | None = None
) -> list[str]:
    """The first messages of a call that never ends."""
    found: list[str] = []

    async def run() -> None:
        enough = anyio.Event()

        async def report(_done: float, _total: float | None, message: str) -> None:
            found.append(message)
            if len(found) == count:
                enough.set()

        context = Context.__new__(Context)
        context.progress = how_far
        with anyio.fail_after(20):
            args: dict[str, object] = {} if how_far else {"job": ["x"]}
            async with anyio.create_task_group() as group:
                about = (report, verbs.load(verb), context, args, Masking())
                end = anyio.CancelScope()
                group.start_soon(progress.report_until, end, *about)
                await enough.wait()
                end.cancel()

    anyio.run(run)
    return found[:count]


@pytest.mark.parametrize(
    ("verb", "args", "total"),
    [
        ("run", {"yield_ms": 10_000, "timeout_ms": 5}, 10),
        ("run", {"yield_ms": 0, "background": True}, None),
        ("run", {"yield_ms": 9**9, "wait": True, "timeout_ms": 60_000, "kill_after_ms": 5_000}, 65),
        ("run", {"yield_ms": 9**9, "wait": True, "timeout_ms": 0, "kill_after_ms": 5_000}, None),
        ("wait", {"timeout_ms": 50_000}, 50),
        ("kill", {"wait_ms": 1_500}, 1.5),
        ("status", {}, None),
    ],
)
def test_the_total_is_how_long_the_call_may_take(verb: str, args: dict[str, object], total: float | None) -> None:
    assert progress.total_s(verbs.load(verb), args) == total
