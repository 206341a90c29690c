"""A wall clock that is set while a job runs, or while a call waits for it: durations and limits go by the monotonic clock."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from support import pair
from support.cli import Cli, Jobs, answer_of, environment
from support.tiers import first

DAY_S = 86_400
# The clock of this one process is set after so many seconds
SET = """
import sys, time
real, began, jump, after = time.time, time.monotonic(), float(sys.argv.pop(1)), float(sys.argv.pop(1))
time.time = lambda: real() + (jump if time.monotonic() >= began + after else 0)
from outlive.__main__ import main
sys.exit(main())
"""
JUMPS = [-DAY_S, DAY_S]


def begin(jump_s: float, after_s: float, *words: str) -> subprocess.Popen[bytes]:
    """A call whose clock jumps."""
    return subprocess.Popen(
        [sys.executable, "-c", SET, str(jump_s), str(after_s), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )


def call(jump_s: float, after_s: float, *words: str) -> dict[str, Any]:
    """The answer of such a call."""
    return answer_of(begin(jump_s, after_s, *words))


@pytest.mark.fault("F65")
@pytest.mark.parametrize("jump_s", JUMPS)
def test_the_age_and_the_silence_of_a_running_job_are_never_longer_than_it_runs(
    cli: Cli, jobs: Jobs, jump_s: float
) -> None:
    job = cli.ok("run", "--until", "output", "echo here; exec sleep 60")["job_id"]
    for verb in ("status", "poll", "list"):
        found = call(jump_s, 0, verb, *([job] if verb != "list" else []))
        found = found["jobs"][0] if verb == "list" else found
        used = found.get("usage", {})
        shown = [one[name] for one in (found, used) for name in ("elapsed_ms", "idle_ms", "wall_ms") if name in one]
        assert shown, verb
        assert all(0 <= one < 600_000 for one in shown), (verb, shown)
        assert "Silent for" not in (found.get("hint") or "")
    jobs.end()


@pytest.mark.fault("F65")
def test_a_wait_for_silence_is_neither_cut_short_nor_held_up(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--until", "output", "echo here; exec sleep 60")["job_id"]
    short, long = ("--until", "idle_ms=3s", "--timeout-ms", "60s"), ("--until", "idle_ms=600s", "--timeout-ms", "1s")
    calls = [begin(jump_s, 0.3, "wait", job, *until) for until in (short, long) for jump_s in JUMPS]
    for number, found in enumerate(map(answer_of, calls)):
        if number < len(JUMPS):
            assert found["fired"]["condition"] == "idle_ms"
            assert 3_000 <= found["fired"]["idle_ms"] < 60_000
        else:
            assert found["timed_out"]
    jobs.end()


@pytest.mark.fault("F65")
@pytest.mark.parametrize("jump_s", first(1, JUMPS))
def test_limits_and_outcomes_of_a_job_do_not_go_by_the_wall_clock(cli: Cli, jump_s: float) -> None:
    found = call(jump_s, 0, "run", "--wait", "--timeout", "400", "exec sleep 60")
    assert (found["state"], found["reason"]) == ("killed", "timeout")
    assert 400 <= found["duration_ms"] < 30_000
    found = call(jump_s, 0, "run", "--wait", "--idle-timeout", "300", "echo here; exec sleep 60")
    assert (found["state"], found["reason"]) == ("killed", "idle_timeout")
    assert cli.ok("status", found["job_id"])["duration_ms"] == found["duration_ms"]


@pytest.mark.fault("F10", "F65")
@pytest.mark.parametrize("jump_s", JUMPS)
def test_a_clock_that_was_set_is_no_reboot_and_no_other_process(cli: Cli, jobs: Jobs, jump_s: float) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "exec sleep 60")["job_id"]
    pair.end(pair.guardian(job), pair.supervisor(job))
    assert call(jump_s, 0, "status", job)["state"] == "running"
    pair.supervisor(job)
    assert call(jump_s, 0, "kill", job)["state"] == "killed"
    jobs.end()
