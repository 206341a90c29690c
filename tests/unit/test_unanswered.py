"""Requests that a supervisor does not answer in time, because it is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive import limits
from outlive.errors import OutliveError
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from support import pair
from support.calls import ask, calls_of
from support.wait import until

CALLER = Caller("tests", "tests", "tests")


@pytest.fixture
def calls(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    monkeypatch.setattr(limits, "CONTROL_S", 0.1)
    with contextlib.closing(calls_of(root)) as made:
        yield made


@contextlib.contextmanager
def stopped(job: str) -> Iterator[int]:
    """Stop the supervisor of a job, whose pid is the value, and continue it in the end."""
    supervisor = pair.supervisor(job)
    os.kill(supervisor, signal.SIGSTOP)
    try:
        until(lambda: pair.is_stopped(supervisor), what="the stop")
        yield supervisor
    finally:
        os.kill(supervisor, signal.SIGCONT)


def refused(calls: Calls, job: str, action: str, **given: object) -> OutliveError:
    with pytest.raises(OutliveError) as caught:
        ask(calls, CALLER, "process", action=action, job_id=job, **given)
    return caught.value


def test_data_that_may_still_arrive_is_not_to_be_sent_again_unseen(calls: Calls) -> None:
    job = ask(calls, CALLER, "exec", command="read line; echo got $line", stdin="open", yield_ms=0)["job_id"]
    with stopped(job) as supervisor:
        error = refused(calls, job, "write", data="x\n", timeout_ms=0, wait_ms=0)
        assert (error.code, error.retryable) == ("io_error", False)
        assert "part of the data may be in, or come later" in str(error)
        assert error.hint == (
            f"It is stopped: `kill -CONT {supervisor}` continues it. Check with poll what arrived before you repeat it."
        )
    assert ask(calls, CALLER, "process", action="wait", job_id=job)["output"] == "got x\n"


def test_a_kill_may_be_asked_for_again(calls: Calls) -> None:
    job = ask(calls, CALLER, "exec", command="sleep 60", yield_ms=0)["job_id"]
    with stopped(job) as supervisor:
        error = refused(calls, job, "kill", wait_ms=0)
        assert (error.code, error.retryable) == ("io_error", True)
        assert error.hint == f"It is stopped: `kill -CONT {supervisor}` continues it. Then try again."
    assert ask(calls, CALLER, "process", action="wait", job_id=job)["state"] == "killed"
