"""What happened to a client's jobs since its last call rides along with the next answer, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support import pair, processes
from support.cli import Cli
from support.commands import GATE
from support.jobs import recorded
from support.mcp_client import McpSession, RawMcp
from support.notified import in_history, wait_for_end
from support.tasks_client import Created, TasksClient, get
from support.tasks_client import start as start_task
from support.tiers import MODERN_FIRST, ONE_ERA, first
from support.tools import background
from support.wait import until

Connect = Callable[..., McpSession]


@pytest.fixture
def mcp_session(shared_session: McpSession) -> McpSession:
    return shared_session


def start(session: McpSession, command: str, **more: Any) -> str:
    """Nothing is printed and nothing ends before the answer: that would be no news."""
    answered = Path(f"answered-{uuid4().hex}").absolute()
    gated = f"until [ -e {answered} ]; do sleep 0.1; done; {command}"
    answer = session.ok("exec", command=gated, yield_ms=0, **more)
    assert (answer["state"], answer["output"]) == ("running", "")
    answered.touch()
    job: str = answer["job_id"]
    return job


def told(session: McpSession) -> list[dict[str, Any]]:
    """The notices of an answer that has nothing to do with them."""
    answer = session.call("process", action="list", state="created")
    notices = answer.result.get("notices") or []
    for notice in notices:
        assert notice["job_id"] in answer.text
    return notices


def test_the_last_line_is_one_that_says_something(mcp_session: McpSession) -> None:
    job = background(mcp_session, "printf 'ready\\n-----\\n\\n'; exec sleep 60")
    mcp_session.ok("process", action="wait", job_id=job, until=[{"regex": "---"}])
    (row,) = mcp_session.ok("process", action="list")["jobs"]
    assert row["last_line"] == "ready"
    mcp_session.ok("process", action="kill", job_id=job)


def test_an_end_is_told_once_with_name_and_last_line(mcp_session: McpSession, cli: Cli, work: Path) -> None:
    job = start(mcp_session, "echo one; echo two failed; exit 3", title="build it")
    wait_for_end(cli, job)
    (notice,) = told(mcp_session)
    assert (notice["job_id"], notice["name"], notice["event"]) == (job, "build it", "finished")
    assert (notice["state"], notice["exit_code"], notice["reason"]) == ("exited", 3, "exit")
    assert notice["last_line"] == "two failed"
    assert told(mcp_session) == []


@ONE_ERA
def test_a_notice_and_a_list_tell_that_a_stage_failed(mcp_session: McpSession, cli: Cli, work: Path) -> None:
    waiting = "until [ -e go-on ]; do sleep 0.1; done; exit 3"
    job = mcp_session.ok("exec", command=f"sh -c '{waiting}' | cat", yield_ms=0)["job_id"]
    (work / "go-on").touch()
    wait_for_end(cli, job)
    noticed = mcp_session.call("process", action="list", state="created")
    listed = mcp_session.call("process", action="list", detail="brief")
    for answer, (about,) in ((noticed, noticed.result["notices"]), (listed, listed.result["jobs"])):
        assert (about["exit_code"], about["stages"]) == (0, [3, 0])
        assert "exited 0 (stages: 3, 0)" in answer.text


@MODERN_FIRST
def test_two_servers_of_one_session_tell_a_hit_once(mcp_connect: Connect, cli: Cli, work: Path) -> None:
    session = {"CLAUDE_CODE_SESSION_ID": "common"}
    one, other = mcp_connect(env=session), mcp_connect(env=session)
    command = "for i in 1 2; do echo hit $i; until [ -e go$i ]; do sleep 0.1; done; done"
    job = start(one, command, watch=["hit"], workdir=str(work))
    for number in (1, 2):
        until(lambda number=number: recorded(cli.root, job, "watch_hit", number), what="the hit")
        assert [notice["event"] for notice in told(one) + told(other)] == ["watch_hit"]
        (work / f"go{number}").touch()


@MODERN_FIRST
def test_of_two_live_sessions_of_a_client_each_is_told_of_its_own_jobs(
    mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    one, other = mcp_connect(), mcp_connect()
    jobs = [start(session, "echo ERROR; exit 1", watch=["ERROR"]) for session in (one, other)]
    for job in jobs:
        wait_for_end(cli, job)
    for job in jobs:  # what the other looks at is no less news
        other.ok("process", action="poll", job_id=job)
    assert {notice["job_id"] for notice in told(other)} <= {jobs[1]}
    assert {notice["job_id"] for notice in told(one)} == {jobs[0]}
    killed = start(one, "exec sleep 60")
    other.ok("process", action="kill", job_id=killed)
    assert [notice["job_id"] for notice in told(one)] == [killed]
    assert told(one) == told(other) == []


@MODERN_FIRST
def test_what_an_ended_connection_was_not_told_goes_to_the_next_in_its_directory(
    mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    elsewhere = work / "elsewhere"
    elsewhere.mkdir()
    first, present = mcp_connect(cwd=work), mcp_connect(cwd=work)
    assert told(present) == []
    job = start(first, "echo x; exit 5")
    first.kill()
    wait_for_end(cli, job)
    until(lambda: not Path(f"/proc/{first.pid}").exists() or processes.state(first.pid) == "Z", what="the end")
    assert told(mcp_connect(cwd=elsewhere)) == []
    assert told(present) == [], "it was there before"
    following = mcp_connect(cwd=work)
    assert [notice["job_id"] for notice in told(following)] == [job]
    assert told(following) == told(mcp_connect(cwd=work)) == []


@MODERN_FIRST
@pytest.mark.parametrize("member", ["sessionId", "threadId"])
def test_a_session_that_the_call_names_is_told_of_its_own_jobs(
    raw_mcp: Callable[..., RawMcp], cli: Cli, work: Path, era: str, member: str
) -> None:
    raw = raw_mcp(era=era)

    def call(session: str, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": {"detail": "full", **arguments}, "_meta": {member: session}}
        found: dict[str, Any] = raw.answer(raw.begin("tools/call", params))["structuredContent"]
        return found

    job = call("a", "exec", command=f"{GATE}; exit 3", yield_ms=0, workdir=str(work))["job_id"]
    (work / "go").touch()
    wait_for_end(cli, job)
    news = [call(session, "process", action="list", state="created").get("notices", []) for session in "baab"]
    assert [[notice["job_id"] for notice in notices] for notices in news] == [[], [job], [], []]


@pytest.mark.parametrize("action", first(1, ["list", "status"]))
def test_a_hit_is_told_though_the_end_is_known(mcp_session: McpSession, cli: Cli, action: str) -> None:
    job = start(mcp_session, "echo ERROR seen; exit 1", watch=["ERROR"])
    wait_for_end(cli, job)
    given = {} if action == "list" else {"job_id": job}
    found = mcp_session.ok("process", action=action, **given).get("notices", [])
    news = [*found, *told(mcp_session)]
    assert [(notice["job_id"], notice["event"]) for notice in news] == [(job, "watch_hit")]
    assert told(mcp_session) == []


def test_hits_that_were_too_many_are_told_as_a_number(mcp_session: McpSession, cli: Cli) -> None:
    job = start(mcp_session, "for i in $(seq 100); do echo ERROR $i; done; exit 1", watch=["ERROR"])
    wait_for_end(cli, job)
    pair.until_free(cli.root, job)
    hits = [notice for notice in told(mcp_session) if notice["event"] == "watch_hit"]
    assert [(notice["hits"], notice["last_line"]) for notice in hits] == [(100, "ERROR 100")]


@MODERN_FIRST
def test_what_the_client_knows_is_no_news(mcp_session: McpSession, cli: Cli) -> None:
    for action in ("poll", "status", "wait", "log"):
        job = start(mcp_session, "echo x; exit 1")
        wait_for_end(cli, job)
        assert "notices" not in mcp_session.ok("process", action=action, job_id=job)
    assert mcp_session.ok("exec", command="echo x; exit 1")["exit_code"] == 1
    job = start(mcp_session, "echo x; exit 1")
    wait_for_end(cli, job)
    assert "notices" not in mcp_session.ok("process", action="list")
    assert told(mcp_session) == []


@MODERN_FIRST
def test_a_job_the_client_killed_is_no_news_but_another_killer_is(mcp_session: McpSession, cli: Cli) -> None:
    own = start(mcp_session, "echo x; exec sleep 60")
    mcp_session.ok("process", action="kill", job_id=own, wait_ms=0)
    wait_for_end(cli, own)
    other = start(mcp_session, "echo y; exec sleep 60")
    cli.ok("kill", other)
    (notice,) = told(mcp_session)
    assert (notice["job_id"], notice["state"], notice["reason"]) == (other, "killed", "kill")


@MODERN_FIRST
def test_quiet_success_is_told_only_if_configured(mcp_session: McpSession, mcp_connect: Connect, cli: Cli) -> None:
    job = start(mcp_session, "true")
    wait_for_end(cli, job)
    assert told(mcp_session) == []
    chatty = mcp_connect(env={"OUTLIVE_EXEC_NOTIFY_ON_EXIT_EMPTY_SUCCESS": "true"}, client_name="chatty")
    job = start(chatty, "true")
    wait_for_end(cli, job)
    assert [notice["job_id"] for notice in told(chatty)] == [job]
    silent = mcp_connect(env={"OUTLIVE_EXEC_NOTIFY_ON_EXIT": "false"}, client_name="silent")
    job = start(silent, "echo x; exit 1")
    wait_for_end(cli, job)
    assert told(silent) == []


@MODERN_FIRST
def test_a_quiet_failure_is_told(mcp_session: McpSession, cli: Cli) -> None:
    job = start(mcp_session, "exit 1")
    wait_for_end(cli, job)
    (notice,) = told(mcp_session)
    assert (notice["exit_code"], notice["last_line"]) == (1, None)


@MODERN_FIRST
def test_a_hit_is_told_while_the_job_runs(mcp_session: McpSession, cli: Cli, work: Path) -> None:
    job = start(mcp_session, "until [ -e go ]; do sleep 0.1; done; echo ERROR 1; echo ERROR 2; exec sleep 60",
                watch=["^ERROR"], workdir=str(work))  # fmt: skip
    assert told(mcp_session) == []
    (work / "go").touch()
    until(lambda: recorded(cli.root, job, "watch_hit", 2), what="both hits")
    (notice,) = told(mcp_session)
    assert (notice["event"], notice["state"], notice["watch"], notice["pattern"]) == (
        "watch_hit",
        "running",
        "w1",
        "^ERROR",
    )
    assert (notice["last_line"], notice["hits"], notice["seq"]) == ("ERROR 2", 2, 8)
    assert told(mcp_session) == []
    cli.ok("kill", job)


@MODERN_FIRST
def test_what_a_call_beside_this_one_will_answer_is_no_news(mcp_session: McpSession, cli: Cli, work: Path) -> None:
    command = "echo hit; until [ -e go ]; do sleep 0.1; done"
    call = mcp_session.begin("exec", command=command, watch=["hit"], title="beside", workdir=str(work), yield_ms=50_000)
    until(lambda: cli.run("status", "beside").json["ok"], what="the job")
    until(lambda: len(cli.ok("events", "beside")["events"]) > 1, what="the hit")
    assert told(mcp_session) == []
    (work / "go").touch()
    assert call.result(50)["output"] == "hit\n"
    assert told(mcp_session) == []


@MODERN_FIRST
def test_the_end_that_a_wait_beside_this_call_will_tell_is_no_news(
    mcp_session: McpSession, cli: Cli, work: Path
) -> None:
    first, second = (
        start(mcp_session, f"until [ -e {name} ]; do sleep 0.1; done; echo {name}") for name in ("one", "two")
    )
    both, progress = mcp_session.begin_told(
        "process", action="wait", job_id=[first, second], mode="all", timeout_ms=50_000
    )
    until(lambda: progress, what="the wait")
    (work / "one").touch()
    wait_for_end(cli, first)
    assert told(mcp_session) == [], "the wait will tell it"
    (work / "two").touch()
    assert {job["state"] for job in both.result(50)["jobs"]} == {"exited"}
    assert told(mcp_session) == []
    third = start(mcp_session, "until [ -e three ]; do sleep 0.1; done; echo three")
    assert mcp_session.ok("process", action="wait", job_id=third, timeout_ms=1)["timed_out"]
    (work / "three").touch()
    (notice,) = until(
        lambda: told(mcp_session), what="the end of the third: a wait that is over tells nothing any more"
    )
    assert notice["job_id"] == third


def test_a_hit_the_client_has_read_is_no_news(mcp_session: McpSession, cli: Cli) -> None:
    job = start(mcp_session, "echo ERROR 1; exec sleep 60", watch=["ERROR"])
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the hit")
    assert "notices" not in mcp_session.ok("process", action="poll", job_id=job)
    assert told(mcp_session) == []
    cli.ok("kill", job)


@ONE_ERA
def test_a_hit_whose_line_an_answer_shows_is_no_news(mcp_session: McpSession, cli: Cli) -> None:
    """Whichever call shows it, and also if a later call goes back in the output."""
    printed = "echo ERROR 1; echo on; echo ERROR 2 >&2; exec sleep 60"
    other = background(mcp_session, "exec sleep 60")
    calls: list[dict[str, Any]] = [
        {"action": "tail"},
        {"action": "log", "search": "ERROR"},
        {"action": "log"},
        {"action": "wait", "timeout_ms": 1},
        {"action": "poll"},
        {"action": "wait", "jobs": [other, ""], "timeout_ms": 1},
    ]
    for call in calls:
        job = start(mcp_session, printed, watch=["ERROR"])
        until(lambda job=job: recorded(cli.root, job, "watch_hit", 2), what="both hits")
        which = {"jobs": [other, job]} if "jobs" in call else {"job_id": job}
        mcp_session.ok("process", **{**call, **which})
        assert told(mcp_session) == [], call
        mcp_session.ok("process", action="log", job_id=job, offset=0, limit=1)
        assert told(mcp_session) == [], call
        cli.ok("kill", job)
        told(mcp_session)
    cli.ok("kill", other)


@ONE_ERA
def test_a_hit_is_news_if_an_answer_shows_not_its_line_but_an_earlier_one_like_it(
    mcp_session: McpSession, cli: Cli
) -> None:
    job = start(mcp_session, "echo ERROR; echo on; echo ERROR; echo over; exec sleep 60", watch=["ERROR"])
    until(lambda: recorded(cli.root, job, "watch_hit", 2), what="both hits")
    mcp_session.ok("process", action="log", job_id=job, offset=0, limit=1, stream="stdout")
    mcp_session.ok("process", action="tail", job_id=job, tail_lines=3)
    assert [notice["hits"] for notice in told(mcp_session)] == [2]
    cli.ok("kill", job)


@MODERN_FIRST
def test_whoever_learns_of_the_end_finds_the_hits_in_the_last_words(mcp_session: McpSession) -> None:
    for _ in range(10):  # the moment between the outcome and the history was short
        job = start(mcp_session, "echo boom ERROR; exit 1", watch=["ERROR"])
        assert mcp_session.ok("process", action="wait", job_id=job)["exit_code"] == 1
        found = mcp_session.ok("process", action="events", job_id=job)["events"]
        assert [event["type"] for event in found] == ["started", "watch_hit", "finished"]


@MODERN_FIRST
def test_a_hit_in_the_last_words_is_told_with_the_end(mcp_session: McpSession) -> None:
    for _ in range(10):
        start(mcp_session, "echo boom ERROR; exit 1", watch=["ERROR"])
        seen: list[str] = []

        def both(seen: list[str] = seen) -> bool:
            seen += [notice["event"] for notice in told(mcp_session)]
            return "finished" in seen

        until(both, what="the notice of the end")
        assert seen == ["watch_hit", "finished"]


@MODERN_FIRST
def test_notices_survive_the_server(mcp_connect: Connect, cli: Cli, work: Path) -> None:
    first = mcp_connect()
    job = start(first, "echo ERROR seen; until [ -e go ]; do sleep 0.1; done; echo over; exit 5", watch=["ERROR"],
                workdir=str(work))  # fmt: skip
    until(lambda: recorded(cli.root, job, "watch_hit"), what="the hit")
    assert [notice["event"] for notice in told(first)] == ["watch_hit"]
    assert told(first) == []  # the client has asked since: the server knows that it was told
    first.kill()
    (work / "go").touch()
    wait_for_end(cli, job)
    second = mcp_connect()
    (notice,) = told(second)
    assert (notice["job_id"], notice["event"], notice["exit_code"]) == (job, "finished", 5)
    assert told(second) == []


@MODERN_FIRST
@pytest.mark.fault("S22")
def test_others_are_not_told(mcp_session: McpSession, mcp_connect: Connect, cli: Cli) -> None:
    mine, other = mcp_session, mcp_connect(client_name="other")
    job = start(mine, "echo x; exit 1")
    wait_for_end(cli, job)
    assert told(other) == []
    assert [notice["job_id"] for notice in told(mine)] == [job]


@MODERN_FIRST
def test_a_lost_job_is_told(mcp_session: McpSession, cli: Cli) -> None:
    job = start(mcp_session, "echo x; exec sleep 60")
    pid = mcp_session.ok("process", action="status", job_id=job)["pid"]
    pair.end(pair.guardian(job), pair.supervisor(job), pid)
    (notice,) = until(lambda: told(mcp_session), what="the notice")
    assert notice["job_id"] == job
    assert notice["state"] in ("failed", "killed")  # lost, unless an adopter came in time to learn of the signal
    assert told(mcp_session) == []


@MODERN_FIRST
def test_an_error_carries_notices_too(mcp_session: McpSession, cli: Cli) -> None:
    job = start(mcp_session, "echo x; exit 1")
    wait_for_end(cli, job)
    answer = mcp_session.error("process", action="poll", job_id="01ARZ3NDEKTSV4RRFFQ69G5FAV", code="job_not_found")
    assert [notice["job_id"] for notice in answer.result["notices"]] == [job]
    assert job in answer.text


@MODERN_FIRST
def test_a_removed_job_is_forgotten_when_that_was_told(mcp_session: McpSession, cli: Cli, root: Path) -> None:
    job = start(mcp_session, "echo x; exec sleep 60")
    assert list(root.glob(f".owed/*/{job}"))
    cli.ok("remove", job)
    assert [(one["job_id"], one["event"], one["message"]) for one in told(mcp_session)] == [
        (job, "removed", "removed by cli")
    ]
    assert told(mcp_session) == []
    assert not list(root.glob(f".owed/*/{job}"))


@MODERN_FIRST
def test_many_ends_come_in_parts_and_none_twice(mcp_session: McpSession, cli: Cli, work: Path) -> None:
    slow = "until [ -e go ]; do sleep 0.5; done; exit 1"
    started = [background(mcp_session, slow, workdir=str(work)) for _ in range(25)]
    (work / "go").touch()
    cli.ok("wait", *started, "--mode", "all")
    for job in started:
        in_history(cli, job)
    first, second, third = (told(mcp_session) for _ in range(3))
    assert (len(first), len(second), third) == (20, 5, [])
    assert sorted(notice["job_id"] for notice in first + second) == sorted(started)


@MODERN_FIRST
@pytest.mark.parametrize(
    "until_",
    first(2, [[{"regex": "ready", "stream": "stdout"}], '{"regex":"ready"}', ["regex=ready"], {"regex": "ready"}]),
)
def test_conditions_over_mcp(mcp_session: McpSession, cli: Cli, until_: Any) -> None:
    job = start(mcp_session, "echo is ready; exec sleep 60")
    answer = mcp_session.call("process", action="wait", job_id=job, until=until_)
    assert answer.result["fired"]["line"] == "is ready"
    assert "ready" in answer.text
    mcp_session.error("process", action="wait", job_id=job, until=[{"port": 0}], code="invalid_argument")
    mcp_session.error("exec", command="true", watch=[{"pattern": "("}], code="invalid_argument")
    events = mcp_session.call("process", action="events", job_id=job)
    assert [event["type"] for event in events.result["events"]] == ["started"]
    assert "started" in events.text
    cli.ok("kill", job)


def test_a_task_whose_end_was_asked_for_is_no_news_and_another_is(place: Path, work: Path, cli: Cli) -> None:
    with McpSession(log=place / "mcp.log", extensions=[TasksClient()]) as session:
        known, news = (
            start_task(session, f"until [ -e go ]; do sleep 0.1; done; echo {name}; exit 1", yield_ms=0)
            for name in ("known", "news")
        )
        assert isinstance(known, Created)
        assert isinstance(news, Created)
        (work / "go").touch()
        for task in (known, news):
            wait_for_end(cli, task.task_id)
        assert get(session, known.task_id).status == "completed"
        assert [notice["job_id"] for notice in told(session)] == [news.task_id]


@pytest.mark.parametrize(("waits", "looks"), [(False, False), (False, True), (True, True)])
def test_the_end_of_a_task_that_wakes_the_model_is_told_by_the_task_alone(
    waits: bool, looks: bool, place: Path, work: Path, cli: Cli
) -> None:
    """Claude Code looks at a task at least every five seconds, and calls its model then."""
    how: dict[str, Any] = {"client_name": "claude-code", "args": ("--answers=both",), "extensions": [TasksClient()]}
    with McpSession(log=place / "mcp.log", env={"CLAUDE_CODE_SESSION_ID": "s"}, **how) as session:
        command = "until [ -e go ]; do sleep 0.1; done; echo built; exit 1"
        task = start_task(session, command, **({"until": ["exit"]} if waits else {"yield_ms": 0}))
        assert isinstance(task, Created)
        assert ("-" in task.task_id) is waits
        assert not looks or get(session, task.task_id).status == "working"
        (work / "go").touch()
        wait_for_end(cli, task.task_id.partition("-")[0])
        assert told(session) == []
        assert cli.ok("notices", "--session", "s")["notices"] == [], "as the hook reads them"
        assert until(lambda: get(session, task.task_id).status == "completed", what="the end of the task")
        assert told(session) == []


@MODERN_FIRST
def test_a_hit_that_is_found_after_the_end_is_told_too(mcp_session: McpSession, cli: Cli) -> None:
    job = start(mcp_session, "yes ERROR line | head -n 200000; echo FATAL now; exit 1", watch=["ERROR", "FATAL"])
    wait_for_end(cli, job)
    found: list[dict[str, Any]] = []

    def all_told() -> bool:
        found.extend(told(mcp_session))
        return any(notice.get("pattern") == "FATAL" for notice in found)

    until(all_told, what="the last hit")
    assert [notice["event"] for notice in found].count("finished") == 1
    pair.until_free(cli.root, job)
    told(mcp_session)
    assert told(mcp_session) == []
