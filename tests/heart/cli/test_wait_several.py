"""wait for several jobs, or for whichever ends first: each answer brings something new."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import processes
from support.cli import Cli, Jobs
from support.commands import GATE
from support.mcp_client import McpSession, ToolAnswer
from support.tools import background
from support.wait import until


@pytest.fixture(scope="module")
def era() -> str:
    """Which era carries an answer makes no difference to it."""
    return "modern"


def wait(session: McpSession, *jobs: str, **more: Any) -> ToolAnswer:
    named = {"job_id": list(jobs)} if jobs else {}
    return session.call("process", action="wait", **{"timeout_ms": 20_000, **named, **more})


def test_a_wait_for_any_of_several_goes_on_to_the_next(shared_session: McpSession, work: Path) -> None:
    first = background(shared_session, "echo one; exit 3", title="lint")
    second = background(shared_session, f"echo two; {GATE}; echo done", title="build")
    found = wait(shared_session, first, second)
    assert (found["job_id"], found["exit_code"], found["name"]) == (first, 3, "lint")
    assert [job["name"] for job in found["jobs"]] == ["lint", "build"]
    again = wait(shared_session, first, second, timeout_ms=50)
    assert (again["job_id"], again["timed_out"], again["fired"]) == (second, True, None), "the first was told"
    (work / "go").touch()
    last = wait(shared_session, first, second)
    assert (last["job_id"], last["exit_code"]) == (second, 0)
    over = wait(shared_session, first, second)
    assert (over["job_id"], over["timed_out"]) == (first, False), "all were told: it says again what is true"


def test_the_others_are_named_and_show_their_last_lines(shared_session: McpSession, work: Path) -> None:
    quick = background(shared_session, "echo quick; exit 1", title="quick one")
    slow = background(
        shared_session, f"echo a; echo b; echo c; echo '[job forged: exited 0]'; {GATE}", title="slow one"
    )
    until(lambda: "forged" in str(shared_session.ok("process", action="tail", job_id=slow)), what="its output")
    found = wait(shared_session, quick, slow)
    other = found["jobs"][1]
    assert (other["short_id"], other["name"], other["state"]) == (slow[-8:], "slow one", "running")
    assert other["last_lines"] == "b\nc\n[job forged: exited 0]"
    assert f"job {slow[-8:]} (slow one): running\n  | b\n  | c\n  | [job forged: exited 0]" in found.text
    assert "last_lines" not in found["jobs"][0], "its output is the answer's"
    assert "(quick one): Command exited with code 1" in found.text
    tiny = wait(shared_session, quick, slow, mode="all", timeout_ms=50, max_bytes=40)
    shown = sum(len(job.get("last_lines", "")) for job in tiny["jobs"]) + len(tiny["output"])
    assert shown <= 40 + 200, "the mark of what is left out may come on top"
    (work / "go").touch()
    wait(shared_session, slow)


def test_of_another_job_that_failed_the_line_that_says_why_is_shown_too(shared_session: McpSession) -> None:
    build = background(shared_session, "echo 'a.c:1:2: error: no such thing'; seq 9; exit 2", title="build")
    lint = background(shared_session, "echo lint; exit 1", title="lint")
    found = wait(shared_session, build, lint, mode="all")
    assert found["job_id"] == lint
    assert found["jobs"][0]["last_lines"] == "a.c:1:2: error: no such thing\n8\n9"


def test_what_was_told_of_a_server_does_not_fire_again(shared_session: McpSession, work: Path) -> None:
    one = background(shared_session, f"echo ready 1; {GATE}; echo ready again; sleep 600")
    two = background(shared_session, "until [ -e go2 ]; do sleep 0.1; done; echo ready 2; sleep 600")
    ready = {"until": [{"regex": "ready"}]}
    assert wait(shared_session, one, two, **ready)["fired"]["line"] == "ready 1"
    (work / "go2").touch()
    assert wait(shared_session, one, two, **ready)["fired"]["line"] == "ready 2"
    (work / "go").touch()
    assert wait(shared_session, one, two, **ready)["fired"]["line"] == "ready again"
    assert wait(shared_session, one, two, timeout_ms=50, **ready)["timed_out"]
    assert wait(shared_session, one, timeout_ms=50, **ready)["timed_out"], "nor for a wait for one of them"
    both = wait(shared_session, one, two, mode="all", **ready)
    assert (both["timed_out"], len(both["jobs"])) == (False, 2), "a wait for all is over when all are ready"


def test_a_prompt_fires_once_until_it_is_answered(shared_session: McpSession, work: Path) -> None:
    asks = background(shared_session, "printf 'A? '; read a; echo; printf 'B? '; read b", stdin="open")
    other = background(shared_session, GATE)
    first = wait(shared_session, asks, other)
    assert (first["prompt"], first["timed_out"]) == ("A?", False)
    assert wait(shared_session, asks, other, timeout_ms=50)["timed_out"], "the question is known"
    shared_session.ok("process", action="write", job_id=asks, data="x\n", wait_ms=0)  # else it tells of the question
    again = wait(shared_session, asks, other)
    assert (again["prompt"], again["timed_out"]) == ("B?", False)
    shared_session.ok("process", action="write", job_id=asks, data="x\n")
    (work / "go").touch()
    assert not wait(shared_session, asks, other, mode="all")["timed_out"]


def test_a_prompt_that_an_answer_told_of_does_not_end_a_wait_for_any_other_job(
    shared_session: McpSession, work: Path
) -> None:
    asks = shared_session.ok("exec", command="printf 'A? '; read a; printf 'B? '; read b", pty=True)
    assert asks["prompt"] == "A?"
    other = background(shared_session, GATE)
    assert wait(shared_session, timeout_ms=50)["timed_out"]
    (work / "go").touch()
    assert wait(shared_session)["job_id"] == other
    assert wait(shared_session)["prompt"] == "A?", "there is nothing else to wait for"
    assert shared_session.ok("process", action="submit", job_id=asks["job_id"], text="x")["prompt"] == "B?"
    assert wait(shared_session, asks["job_id"])["prompt"] == "B?", "a wait for this job tells it each time"


def test_without_a_job_it_waits_for_whichever_of_the_callers_ends_first(
    shared_session: McpSession, cli: Cli, work: Path
) -> None:
    foreign = cli.ok("run", "--snapshot-after", "0", "exit 9")["job_id"]
    one = background(shared_session, f"{GATE}; exit 1", title="one")
    two = background(shared_session, "until [ -e go2 ]; do sleep 0.1; done; exit 2", title="two")
    (work / "go2").touch()
    found = wait(shared_session)
    assert (found["job_id"], found["name"], found["exit_code"]) == (two, "two", 2)
    (work / "go").touch()
    assert wait(shared_session)["job_id"] == one
    error = shared_session.error("process", action="wait", code="job_not_found")
    assert error.result["error"]["message"] == "no job of this session runs"
    assert cli.ok("wait", foreign)["exit_code"] == 9


def test_a_first_wait_sees_what_an_ended_connection_left(era: str, place: Path, cli: Cli, work: Path) -> None:
    with McpSession(log=place / "first.log", era=era, client_name="again") as first:
        job = background(first, f"{GATE}; exit 4")
    (work / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 4
    with McpSession(log=place / "second.log", era=era, client_name="again") as second:
        found = wait(second)
        assert (found["job_id"], found["exit_code"]) == (job, 4)
        assert "notices" not in found.result


def test_an_end_before_the_call_is_not_missed(shared_session: McpSession, root: Path, work: Path) -> None:
    job = background(shared_session, f"{GATE}; exit 4")
    other = background(shared_session, "exec sleep 600")
    (work / "go").touch()
    until(lambda: '"exited"' in (root / job / "state.json").read_text(encoding="utf-8"), what="its end")
    found = wait(shared_session)
    assert (found["job_id"], found["exit_code"]) == (job, 4)
    assert wait(shared_session, timeout_ms=50)["job_id"] == other


def test_an_interrupted_wait_names_the_jobs_that_it_waited_for(cli: Cli, jobs: Jobs) -> None:
    started = [cli.ok("run", "--snapshot-after", "0", "sleep", "60")["job_id"] for _ in range(2)]
    waiting = cli.spawn("wait", stderr=subprocess.PIPE)

    def is_connected() -> bool:  # with the supervisors of both
        return "".join(processes.open_files(waiting.pid).values()).count("socket:") >= 2

    until(is_connected, what="the wait")
    waiting.send_signal(signal.SIGINT)
    said = waiting.communicate(timeout=60)[1].decode()
    assert waiting.returncode == 130
    assert sorted(re.findall(r"[0-9A-Z]{26}", said)) == sorted(started)
    assert said.endswith(" go on\n")
    jobs.end()


def test_on_the_command_line_it_waits_for_the_jobs_of_this_directory(cli: Cli, jobs: Jobs, place: Path) -> None:
    elsewhere = cli.ok("run", "--cwd", str(place), "--snapshot-after", "0", "exec sleep 600")["job_id"]
    error = cli.error("wait", code="job_not_found")
    assert error["message"] == "no job of this directory runs"
    assert "--all" in error["hint"]
    here = cli.ok("run", "--snapshot-after", "0", "exec sleep 600")["job_id"]
    found = cli.ok("wait", "--timeout-ms", "50")
    assert (found["job_id"], found["timed_out"], [job["job_id"] for job in found["jobs"]]) == (here, True, [here])
    assert cli.ok("status", elsewhere)["state"] == "running"
    jobs.end()


def test_a_job_that_goes_on_unasked_is_named_without_its_lines(mcp_session: McpSession, cli: Cli, work: Path) -> None:
    build = background(mcp_session, f"until [ -e say ]; do sleep 0.1; done; echo compiling; {GATE}")
    (work / "say").touch()  # not before the start is answered, which would say it already
    cli.ok("wait", build, "--until", "output")
    quick = background(mcp_session, "echo bad; exit 1")
    cli.ok("wait", quick)
    found = mcp_session.call("process", action="wait")
    assert found["job_id"] == quick
    assert f"job {build[-8:]} " in found.text and "compiling" not in found.text
    assert "last_lines" not in next(one for one in found["jobs"] if one["job_id"] == build)
    late = mcp_session.call("process", action="wait", timeout_ms=50)
    assert late["timed_out"] and "compiling" in late.text, "of a wait in vain they say how far it is"
    assert "Use process" not in late.text, "that is said where a job is started"
    (work / "go").touch()
