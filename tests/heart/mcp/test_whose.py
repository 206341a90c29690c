"""A job belongs to the session that started it: two windows of one client are two, and what an ended one leaves belongs
to the next in its directory."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import processes
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpSession
from support.notified import wait_for_end
from support.serve import HttpSession, Served
from support.tiers import MODERN_FIRST
from support.tools import background
from support.wait import until

Connect = Callable[..., McpSession]
HELD = "exec sleep 60"
Windows = tuple[McpSession, McpSession]


@pytest.fixture(scope="module")
def two(era: str, shared_place: Path, shared_where: dict[str, Any]) -> Iterator[Windows]:
    with (
        McpSession(log=shared_place / "one.log", era=era, **shared_where) as one,
        McpSession(log=shared_place / "other.log", era=era, **shared_where) as other,
    ):
        yield one, other


@pytest.fixture
def windows(two: Windows, place: Path) -> Iterator[Windows]:
    """Two windows of one client, which tests share. Each has no job and no news when a test begins."""
    yield two
    for window in two:
        for job in listed(window):
            window.ok("process", action="remove", job_id=job)
    for window in two:
        told(window)
    for path in (place / "work").iterdir():
        path.unlink()


def ended(session: McpSession) -> None:
    """End the server of a session, and wait until it is gone."""
    session.kill()
    until(
        lambda: not Path(f"/proc/{session.pid}").exists() or processes.state(session.pid) == "Z",
        what="the end of a server",
    )


def told(session: McpSession) -> list[dict[str, Any]]:
    """The notices of an answer that has nothing to do with them."""
    notices: list[dict[str, Any]] = session.ok("process", action="list", state="created").get("notices") or []
    return notices


def listed(session: McpSession, **how: Any) -> dict[str, dict[str, Any]]:
    return {job["job_id"]: job for job in session.ok("process", action="list", **how)["jobs"]}


def session_of(session: McpSession, job: str) -> str:
    shown: str = listed(session, all=True, detail="full")[job]["session"]
    return shown


@MODERN_FIRST
def test_a_part_of_the_name_of_an_own_job_is_answered_with_that_job(windows: Windows) -> None:
    one, other = windows
    job = background(one, HELD)
    refused = one.error("process", action="kill", job_id="Sleep", code="job_not_found")
    assert f"Did you mean {job[-8:]} (sleep 60)?" in refused.text
    assert refused.result["error"]["details"]["candidates"] == [job]
    assert "Did you mean" not in other.error("process", action="kill", job_id="Sleep", code="job_not_found").text
    one.ok("process", action="kill", job_id=job)


@MODERN_FIRST
def test_a_title_names_no_job_of_another_window_and_its_id_does(windows: Windows) -> None:
    one, other = windows
    job = background(one, HELD, title="dev")
    refused = other.error("process", action="kill", job_id="dev", code="job_not_found")
    assert refused.result["error"]["details"]["candidates"] == [job]
    whose = f"Job {job[-8:]} has this title, but belongs to tests (session {session_of(one, job)})"
    assert whose in refused.text
    assert refused.result["error"]["message"] == "'dev' is the title of a job that is not of this session"
    assert whose in other.error("process", action="kill", title="dev", code="job_not_found").text
    for action in ("remove", "log"):
        other.error("process", action=action, job_id="dev", code="job_not_found")
    for named in ({"job_id": "dev"}, {"title": "dev"}):
        assert one.ok("process", action="status", **named)["state"] == "running"

    answer = other.call("process", action="kill", job_id=job)
    assert answer.result["state"] == "killed"
    assert f"This job belongs to tests (session {session_of(one, job)}), not to this session." in answer.text


@MODERN_FIRST
def test_of_two_jobs_with_a_title_the_own_one_is_meant_and_the_answer_says_so(windows: Windows) -> None:
    one, other = windows
    own = background(other, HELD, title="dev")
    theirs = background(one, HELD, title="dev")
    answer = other.ok("process", action="kill", job_id="dev")
    assert answer["job_id"] == own
    assert f"'dev' is also the title of another session's job: this is the newest of yours, {own}." in answer["hint"]
    assert one.ok("process", action="kill", job_id=theirs)["state"] == "killed"


@MODERN_FIRST
def test_a_window_is_told_which_other_one_ended_its_job(windows: Windows, cli: Cli) -> None:
    one, other = windows
    mark = background(other, "true")
    job = background(one, HELD)
    killed = other.ok("process", action="kill", job_id=job)
    by = f"tests (session {session_of(other, mark)})"
    assert killed["ended_by"] == by
    answer = one.call("process", action="list", state="created")
    (notice,) = answer.result["notices"]
    assert (notice["job_id"], notice["event"], notice["ended_by"]) == (job, "finished", by)
    assert f"killed SIGTERM by {by}" in answer.text
    assert told(one) == []
    assert cli.ok("status", job)["ended_by"] == by
    own = background(one, HELD)
    assert one.ok("process", action="kill", job_id=own)["ended_by"] == "tests"
    assert told(one) == []
    by_person = background(one, HELD)
    cli.ok("kill", by_person)
    assert [notice["ended_by"] for notice in told(one)] == ["cli"]


@MODERN_FIRST
def test_it_is_said_of_the_job_that_is_named_beside_the_one_of_the_answer(windows: Windows) -> None:
    one, other = windows
    theirs, own = background(one, HELD), background(other, HELD)
    said = f"Job {theirs} belongs to tests (session {session_of(one, theirs)}), not to this session."
    compared = other.ok("process", action="log", job_id=own, compare=theirs)
    one.ok("process", action="kill", job_id=theirs)
    restarted = other.ok("process", action="restart", job_id=theirs, yield_ms=0)
    assert (said in compared["hint"], said in restarted["hint"]) == (True, True)
    assert "This job" not in compared["hint"] + restarted["hint"]
    for job in (own, restarted["job_id"]):
        other.ok("process", action="kill", job_id=job)


@MODERN_FIRST
def test_who_holds_a_taken_port_is_said_once_also_of_a_job_of_another_window(windows: Windows) -> None:
    one, other = windows
    serves = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); s.accept()"
    )
    server = one.ok("exec", command=[sys.executable, "-c", serves], until=["regex=[0-9]"], title="web", detail="full")
    port, whose = server["output"].strip(), session_of(one, server["job_id"])
    said = f"of job {server['job_id']} (web), which belongs to tests (session {whose}). Give the job another port"
    fails = [sys.executable, "-c", f"import socket; socket.create_server(('127.0.0.1', {port}))"]
    for more in ({}, {"until": [f"port={port}"]}):
        hint = other.ok("exec", command=fails, **more)["hint"]
        assert (hint.count(said), hint.count("is held by")) == (1, 1)
    assert said in other.ok("exec", command="exec sleep 60", until=[f"port={port}"], yield_ms=2_000)["hint"]
    for job in listed(other, state="running"):
        other.ok("process", action="kill", job_id=job)
    one.ok("process", action="kill", job_id=server["job_id"])


@MODERN_FIRST
def test_a_run_of_the_same_step_is_one_of_this_window_if_it_has_one(windows: Windows) -> None:
    one, other = windows
    own, theirs = (window.ok("exec", command="true a; cat x")["job_id"] for window in (one, other))
    compared = one.ok("exec", command="true b; cat x")["job_id"]
    answer = one.ok("process", action="log", job_id=compared, compare=True, detail="full")
    assert answer["compared"]["job_id"] == own
    one.ok("process", action="remove", job_id=[own, compared])
    again = one.ok("exec", command="true c; cat x")["job_id"]
    assert one.ok("process", action="log", job_id=again, compare=True, detail="full")["compared"]["job_id"] == theirs


@MODERN_FIRST
def test_a_window_is_told_who_removed_its_job(windows: Windows) -> None:
    one, other = windows
    mark = background(other, "true")
    by = f"tests (session {session_of(other, mark)})"
    job = background(one, HELD, title="dev")
    removed = other.ok("process", action="remove", job_id=job)
    assert "belongs to tests (session" in removed["hint"]
    answer = one.call("process", action="list", state="created")
    (notice,) = answer.result["notices"]
    assert (notice["job_id"], notice["name"], notice["event"], notice["ended_by"]) == (job, "dev", "removed", by)
    assert f"[job {job} (dev): removed by {by}]" in answer.text
    assert told(one) == told(other) == []
    assert f"{by} removed it on" in one.error("process", action="log", job_id=job, code="job_not_found").text


@MODERN_FIRST
def test_a_window_is_told_who_removed_its_job_if_that_process_is_killed_at_once(mcp_connect: Connect, cli: Cli) -> None:
    one = mcp_connect()
    job = background(one, HELD, title="dev")
    killed = cli.text("remove", job, env={"OUTLIVE_CRASH_AT": "delete_renamed"})
    assert killed.status == -signal.SIGKILL
    (notice,) = told(one)
    assert (notice["job_id"], notice["event"], notice["ended_by"]) == (job, "removed", "cli")


@MODERN_FIRST
def test_a_wait_without_a_job_waits_for_those_of_the_window_alone(windows: Windows, work: Path) -> None:
    one, other = windows
    job = background(one, GATE)
    other.error("process", action="wait", timeout_ms=0, code="job_not_found")
    own = background(other, HELD)
    found = other.ok("process", action="wait", timeout_ms=0)
    assert [found["job_id"], *(one["job_id"] for one in found["jobs"])] == [own, own]
    (work / "go").touch()
    assert one.ok("process", action="wait")["job_id"] == job
    other.ok("process", action="kill", job_id=own)


@MODERN_FIRST
def test_a_list_is_of_the_window_and_marks_the_jobs_of_others(windows: Windows, cli: Cli) -> None:
    one, other = windows
    jobs = [background(session, HELD) for session in (one, other)]
    person = cli.ok("run", "--wait", "true")["job_id"]
    assert list(listed(other)) == [jobs[1]]
    everything = listed(other, all=True)
    theirs, own = everything[jobs[0]], everything[jobs[1]]
    assert theirs["session"] != own["session"]
    assert "session" not in everything[person]
    brief = listed(other, all=True, detail="brief")
    marks = [(brief[job].get("others"), brief[job].get("session")) for job in (*jobs, person)]
    assert marks == [(True, theirs["session"]), (None, None), (True, None)]
    assert f"[of tests, session {theirs['session']}]" in other.call("process", action="list", all=True).text
    for job in jobs:
        cli.ok("kill", job)


@MODERN_FIRST
def test_the_jobs_of_an_ended_session_belong_to_every_live_one_of_its_client_there(
    mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    (work / "elsewhere").mkdir()
    gone = mcp_connect(cwd=work)
    job = background(gone, f"echo one; {GATE}; echo two; {HELD}", title="dev", workdir=str(work))
    gone.ok("process", action="wait", job_id=job, until="output", since_seq=0)
    gone.ok("process", action="poll", job_id=job, since_seq=0)
    ended(gone)
    one, other = mcp_connect(cwd=work), mcp_connect(cwd=work)
    stranger, elsewhere = mcp_connect(client_name="stranger", cwd=work), mcp_connect(cwd=work / "elsewhere")
    for session in (one, other):
        answer = session.ok("process", action="status", job_id="dev")
        assert (answer["job_id"], "belongs to" in answer.get("hint", "")) == (job, False)
        assert list(listed(session)) == [job]
    for session in (stranger, elsewhere):
        session.error("process", action="status", job_id="dev", code="job_not_found")
        assert listed(session) == {}
        assert "This job belongs to tests" in session.call("process", action="status", job_id=job).text
        assert session.ok("process", action="poll", job_id=job)["output"] == "one\n", "of others it begins at 0"
    (work / "go").touch()
    until(lambda: "two" in cli.ok("log", job)["output"], what="the second line")
    for session in (one, other):
        assert session.ok("process", action="poll", job_id=job)["output"] == "two\n", "of its own it goes on"
    killed = one.ok("process", action="kill", job_id="dev")
    assert killed["ended_by"].startswith("tests (session "), "who had it before could be another one"
    assert "belongs to" not in killed.get("hint", "")
    assert told(one) == told(other) == [], "the window that got the jobs of the ended session has killed it"


@MODERN_FIRST
def test_what_happens_to_the_job_of_an_ended_session_is_told_to_the_first_that_asks(
    mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    gone = mcp_connect(cwd=work)
    job = background(gone, f"{GATE}; exit 3")
    ended(gone)
    one, other = mcp_connect(cwd=work), mcp_connect(cwd=work)
    assert told(other) == told(one) == []
    assert one.ok("process", action="wait", timeout_ms=0)["job_id"] == job
    (work / "go").touch()
    wait_for_end(cli, job)
    assert told(one) == []
    assert [notice["job_id"] for notice in told(other)] == [job]
    assert told(one) == told(other) == []


@MODERN_FIRST
def test_a_client_that_names_its_session_is_the_same_one_after_a_reconnect(mcp_connect: Connect, work: Path) -> None:
    named = {"CODEX_SESSION_ID": "one"}
    first = mcp_connect(env=named)
    job = background(first, HELD, title="dev")
    other = mcp_connect(env={"CODEX_SESSION_ID": "other"})
    other.error("process", action="status", job_id="dev", code="job_not_found")
    ended(first)
    again = mcp_connect(env=named)
    assert again.ok("process", action="status", job_id="dev")["job_id"] == job
    other.error("process", action="status", job_id="dev", code="job_not_found")
    assert again.ok("process", action="kill", job_id="dev")["ended_by"] == "tests/one"


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_the_shell_of_a_session_is_the_session_and_a_person_reaches_every_job(
    mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    def named(session: str) -> dict[str, str]:
        return {"CLAUDE_CODE_SESSION_ID": session}

    window, other = (
        mcp_connect(client_name="claude-code", env=named(name), cwd=work, args=("--answers=both",))
        for name in ("mine", "other")
    )
    job = background(window, HELD, title="dev")
    assert told(other) == []
    assert cli.ok("status", "dev", env=named("mine"))["job_id"] == job
    assert cli.ok("status", "dev")["job_id"] == job, "a person names every job"
    error = cli.error("kill", "dev", code="job_not_found", env=named("other"))
    assert "belongs to claude-code (session " in error["hint"]
    assert cli.error("wait", code="job_not_found", env=named("other"))["message"] == "no job of this session runs"
    assert "belongs to claude-code (session " in cli.ok("log", job, env=named("other"))["hint"]
    shell = cli.ok("run", "--snapshot-after", "0", "--title", "web", HELD, env=named("mine"), cwd=work)["job_id"]
    assert window.ok("process", action="status", job_id="web")["job_id"] == shell
    other.error("process", action="status", job_id="web", code="job_not_found")
    assert cli.ok("kill", "web", env=named("mine"))["ended_by"] == "cli"
    killed = cli.ok("kill", job, env=named("other"))
    assert killed["ended_by"].startswith("cli (session ")
    assert [notice["ended_by"] for notice in told(window)] == [killed["ended_by"]]


@MODERN_FIRST
def test_a_dedupe_key_is_shared_by_the_windows_of_a_client_in_a_directory(windows: Windows, work: Path) -> None:
    one, other = windows
    how: dict[str, Any] = {"command": HELD, "background": True, "dedupe_key": "dev", "workdir": str(work)}
    job = one.ok("exec", **how)["job_id"]
    found = other.ok("exec", **how)
    assert (found["job_id"], found["deduplicated"]) == (job, True)
    assert "belongs to tests (session " in found["hint"]
    assert "belongs to" not in one.ok("exec", **how).get("hint", "")
    one.ok("process", action="kill", job_id=job)


@pytest.mark.parametrize("era", ["legacy"], indirect=True)
def test_over_http_a_session_owns_its_jobs_and_an_ended_one_leaves_them_to_its_token(
    serve: Callable[..., Served], work: Path, era: str
) -> None:
    served = serve("--workdir", str(work))
    served.token("other", "--scope", "tests")
    with HttpSession(served, era=era) as other, HttpSession(served, token="other", era=era) as stranger:
        with HttpSession(served, era=era) as one:
            job = background(one, HELD, title="dev")
            for session in (other, stranger):
                refused = session.error("process", action="status", job_id="dev", code="job_not_found")
                assert "belongs to tests (session " in refused.text
        assert other.ok("process", action="status", job_id="dev")["job_id"] == job, "its session has ended"
        stranger.error("process", action="status", job_id="dev", code="job_not_found")
        assert "belongs to tests (session " in stranger.ok("process", action="kill", job_id=job)["hint"]
        assert other.ok("process", action="status", job_id="dev")["ended_by"].startswith("other (session ")


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_over_http_without_sessions_the_token_is_the_session(
    serve: Callable[..., Served], work: Path, era: str
) -> None:
    served = serve("--workdir", str(work))
    served.token("other", "--scope", "tests")
    with HttpSession(served, era=era) as one, HttpSession(served, era=era) as same:
        job = background(one, HELD, title="dev")
        assert same.ok("process", action="kill", job_id="dev")["job_id"] == job
    with HttpSession(served, token="other", era=era) as other:
        other.error("process", action="status", job_id="dev", code="job_not_found")
        assert "belongs to tests (session " in other.ok("process", action="status", job_id=job)["hint"]
