"""What limits make of the end of a job."""

from __future__ import annotations

import errno
import signal
from typing import Any

import pytest

from outlive.core.records import Definition, State
from outlive.parts.limits.in_supervisor import LimitsOfJob
from outlive.supervisor.added import of_started, to_start
from outlive.supervisor.ending import outcome
from outlive.supervisor.ending.outcome import Kills

MEMORY = {"memory": {"value": 1_000_000, "applied": "cgroup"}}
REACHED = "the kernel ended it: its processes took all of the 1,000,000 bytes of memory that it may have"


def ended(state: State) -> State:
    return of_started(Definition(kept={"resources": {"cpu_time": "1s"}})).ended(state)


def test_a_command_that_the_kernel_ends_at_its_processor_time_was_over_a_limit_if_it_had_one() -> None:
    running = State(state="running", kept={"resources": {"cpu_time": {"value": "1s", "applied": "rlimit"}}})
    found = ended(outcome.ended(running, signal.SIGXCPU, None))
    assert (found.state, found.signal, found.reason) == ("killed", "SIGXCPU", "limit")
    assert "cpu_time" in str(found.message)
    assert ended(outcome.ended(State(state="running"), signal.SIGXCPU, None)).reason == "signal"


@pytest.mark.parametrize(
    ("kills", "kept", "reason", "message"),
    [
        (Kills(1, True), MEMORY, "oom", REACHED),
        (Kills(1, True), {"memory": {"value": 1_000_000, "applied": "sampled"}}, "signal", None),
        (Kills(2, False), MEMORY, "signal", None),
        (None, MEMORY, "signal", None),
        (Kills(1, True), {"memory": "spoilt"}, "signal", None),
    ],
)
def test_memory_ran_out_at_the_limit_of_the_job_where_the_kernel_keeps_that_limit(
    monkeypatch: pytest.MonkeyPatch, kills: Kills | None, kept: dict[str, Any], reason: str, message: str | None
) -> None:
    monkeypatch.setattr(outcome, "kernel_kills", lambda _: kills)
    found = ended(State(state="killed", signal="SIGKILL", reason="signal", kept={"resources": kept}))
    assert (found.reason, found.message) == (reason, message)


def test_a_job_whose_limits_another_program_has_spoilt_is_not_started() -> None:
    for spoilt in ({"memory": "much"}, 7, {"cpus": [1]}):
        added = to_start(Definition(kept={"resources": spoilt}))
        with pytest.raises(OSError, match="changed by another program: resources") as caught:
            added.begin(State())
        assert caught.value.errno == errno.EINVAL


def test_a_job_has_what_the_parts_do_that_it_has_something_of() -> None:
    assert not to_start(Definition(kept={"resources": None, "report": "r.tap"}))
    limited = to_start(Definition(kept={"resources": {"nice": 1}}))
    assert [type(one) for one in limited.each] == [LimitsOfJob]
