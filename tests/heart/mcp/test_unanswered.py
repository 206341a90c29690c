"""Requests that a supervisor does not answer in time, because it is stopped."""

from __future__ import annotations

import pytest

from outlive import limits
from outlive.errors import OutliveError
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from support import pair
from support.calls import ask

CALLER = Caller("tests", "tests", "tests")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONTROL_S", 0.1)


def refused(calls: Calls, job: str, action: str, **given: object) -> OutliveError:
    with pytest.raises(OutliveError) as caught:
        ask(calls, CALLER, "process", action=action, job_id=job, **given)
    return caught.value


def test_data_for_a_stopped_supervisor_is_not_sent_and_may_be_sent_again(calls: Calls) -> None:
    job = ask(calls, CALLER, "exec", command="read line; echo got $line", stdin="open", yield_ms=0)["job_id"]
    with pair.stopped(job) as supervisor:
        error = refused(calls, job, "write", data="x\n", timeout_ms=0, wait_ms=0)
        assert (error.code, error.retryable) == ("io_error", True)
        assert f"kill -CONT {supervisor}" in str(error.hint)
    ask(calls, CALLER, "process", action="write", job_id=job, data="y\n", wait_ms=0)
    assert ask(calls, CALLER, "process", action="wait", job_id=job)["output"] == "got y\n"


def test_a_kill_does_not_need_a_supervisor_that_answers(calls: Calls) -> None:
    job = ask(calls, CALLER, "exec", command="sleep 60", yield_ms=0)["job_id"]
    with pair.stopped(job) as supervisor:
        found = ask(calls, CALLER, "process", action="kill", job_id=job)
        assert f"kill -CONT {supervisor}" in found["hint"]
    assert ask(calls, CALLER, "process", action="wait", job_id=job)["state"] == "killed"
