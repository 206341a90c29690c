"""What a client is told of earlier runs, and that no run behind the wall is one."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.mcp.caller import Caller
from outlive.mcp.tools.answer_text import render
from outlive.mcp.tools.call import Calls
from outlive.mcp.tools.offer import EXEC, PROCESS
from outlive.parts.failures import of_job
from support.calls import ask, calls_of
from support.cli import Cli, Jobs

FIRST = Caller("ci", "token:ci", "token:ci", walled=True)
OTHER = Caller("web", "token:web", "token:web", walled=True)
ADMIN = Caller("root", "token:root", "token:root")
COMMAND = "cat report; exit 1"


@pytest.fixture
def calls(root: Path) -> Iterator[Calls]:
    with contextlib.closing(calls_of(root)) as made:
        yield made


def reports(work: Path, *tests: str) -> None:
    (work / "report").write_text("".join(f"FAILED a.py::{one}\n" for one in tests))


def test_a_model_reads_in_one_line_what_changed_and_asks_for_what_is_new(
    calls: Calls, work: Path, cli: Cli, jobs: Jobs
) -> None:
    reports(work, "one", "two")
    ask(calls, ADMIN, EXEC, command=COMMAND, workdir=str(work))
    reports(work, "two", "three")
    failed = ask(calls, ADMIN, EXEC, command=COMMAND, workdir=str(work))
    _, line, *_ = render(failed).split("\n")
    assert line.startswith("The run before, ")
    assert line.endswith(
        f" ago, exited 1 too: 1 failure gone (one), 1 new; process action=log job_id={failed['job_id'][-8:]} compare=true shows what is new."
    )
    assert "compare" not in render(failed, process=False)
    for true in (True, "true", "True", "previous"):
        found = ask(calls, ADMIN, PROCESS, action="log", job_id=failed["job_id"], compare=true)
        assert found["output"].startswith("2:FAILED a.py::three\n[gone: 1 kind ")
    assert "): 1 kind of lines new, 1 gone.\n" in render(found)
    for false in (False, "false", None):
        found = ask(calls, ADMIN, PROCESS, action="log", job_id=failed["job_id"], compare=false)
        assert found["output"] == "FAILED a.py::two\nFAILED a.py::three\n"
    _, line, *_ = render(ask(calls, ADMIN, EXEC, command=COMMAND, workdir=str(work))).split("\n")
    assert line.endswith(" ago, exited 1 too: the same failures."), "nothing to ask for"
    jobs.end()


@pytest.mark.parametrize("command", ["exit 1", "kill -9 $$"])
def test_runs_are_compared_beside_the_event_loop(
    calls: Calls, work: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    threads = []
    monkeypatch.setattr(of_job, "previous", lambda *_: threads.append(threading.current_thread()))
    job = ask(calls, ADMIN, EXEC, command=command, workdir=str(work), yield_ms=20_000)["job_id"]
    for action in ("status", "poll", "wait"):
        ask(calls, ADMIN, PROCESS, action=action, job_id=job)
    assert [one is threading.main_thread() for one in threads] == [False] * 4
    jobs.end()


def test_a_run_behind_the_wall_is_none(calls: Calls, work: Path, cli: Cli, jobs: Jobs) -> None:
    reports(work, "one")
    theirs = ask(calls, OTHER, EXEC, command=COMMAND, workdir=str(work), title="of another")
    cli.ok("run", "--wait", COMMAND)
    mine = ask(calls, FIRST, EXEC, command=COMMAND, workdir=str(work))
    assert "previous" not in mine
    found = ask(calls, FIRST, PROCESS, action="log", job_id=mine["job_id"], compare=True)
    assert "compared" not in found
    assert "No earlier run" in found["hint"]
    again = ask(calls, FIRST, EXEC, command=COMMAND, workdir=str(work))
    assert again["previous"]["job_id"] == mine["job_id"], "not only jobs of one session"
    assert ask(calls, ADMIN, EXEC, command=COMMAND, workdir=str(work))["previous"]["job_id"] == again["job_id"]
    for text in (theirs["job_id"], theirs["short_id"], theirs["name"]):
        with pytest.raises(OutliveError, match=re.escape(f"no job {text!r}")) as refused:
            ask(calls, FIRST, PROCESS, action="log", job_id=mine["job_id"], compare=text)
        assert refused.value.details is None, "it cannot be told from a job that never was"
    jobs.end()
