"""`outlive demo` runs, proves what it says, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from outlive.parts.demo import main as demo
from outlive.system import workspaces
from support.cli import Cli, environment
from support.preloaded import OUTLIVE
from support.tiers import slow

BOUND_S = 120


@pytest.fixture
def scratch(place: Path) -> dict[str, str | None]:
    """Temporary directories of the demo lie in the test's own place: the leak check sees into them."""
    (place / "tmp").mkdir()
    return {"TMPDIR": str(place / "tmp")}


def nothing_left_in(scratch: dict[str, str | None]) -> bool:
    return not os.listdir(str(scratch["TMPDIR"]))


def test_the_demo_proves_that_no_line_is_missing_and_clears_up(cli: Cli, scratch: dict[str, str | None]) -> None:
    done = cli.text("demo", env=scratch)
    assert done.status == 0, done
    assert "proof" in done.stdout
    assert f"= {demo.LINES} of {demo.LINES}" in done.stdout
    assert f"exit code {demo.EXIT_CODE}" in done.stdout
    assert "\x1b" not in done.stdout, "colours without a terminal"
    assert not done.stderr
    assert nothing_left_in(scratch)


def test_it_takes_no_place_that_a_job_may_write(cli: Cli, work: Path) -> None:
    """A job would write the configuration there, and with it what the demonstration runs."""
    (work / "tmp").mkdir()
    workspaces.note([str(work)], os.environ)
    said = cli.error("demo", env={"TMPDIR": str(work / "tmp")}, code="invalid_argument")
    assert "TMPDIR" in str(said)
    assert not os.listdir(work / "tmp")


@pytest.mark.parametrize("number", [signal.SIGINT, slow(signal.SIGTERM), slow(signal.SIGHUP)])
def test_an_interrupted_demo_leaves_nothing(number: signal.Signals, scratch: dict[str, str | None]) -> None:
    with subprocess.Popen(
        [*OUTLIVE, "demo"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(scratch),
    ) as process:
        assert process.stdout
        for line in process.stdout:  # until its job runs
            if b"in the background" in line:
                break
        process.send_signal(number)
        rest, errors = process.communicate(timeout=BOUND_S)
    assert process.returncode == 130, rest + errors
    assert nothing_left_in(scratch)


def evidence_of_a_demo(place: Path) -> demo.Evidence:
    log = place / "stdout.log"
    log.write_text("".join(f"{line}\n" for line in demo.EXPECTED))
    seen = demo.Evidence()
    seen.log_path, seen.outlived = str(log), True
    seen.end = {"state": "exited", "exit_code": demo.EXIT_CODE}
    seen.received = ["".join(f"{line}\n" for line in demo.EXPECTED[part]) for part in (slice(20), slice(20, None))]
    return seen


def test_a_demo_with_every_line_has_nothing_missing(place: Path) -> None:
    assert demo.faults_of(evidence_of_a_demo(place)) == []


def _lose_a_line(seen: demo.Evidence) -> None:
    seen.received[1] = seen.received[1].replace("line 33 of", "", 1)


def _repeat_lines(seen: demo.Evidence) -> None:
    seen.received.append(seen.received[0])


def _swap(seen: demo.Evidence) -> None:
    seen.received.reverse()


def _cut_the_log(seen: demo.Evidence) -> None:
    Path(seen.log_path).write_text("line 1\n")


def _remove_the_log(seen: demo.Evidence) -> None:
    Path(seen.log_path).unlink()


def _lose_the_code(seen: demo.Evidence) -> None:
    seen.end = {"state": "failed", "exit_code": None}


def _end_before_the_kill(seen: demo.Evidence) -> None:
    seen.outlived = False


@pytest.mark.parametrize(
    "spoil",
    [_lose_a_line, _repeat_lines, _swap, _cut_the_log, _remove_the_log, _lose_the_code, _end_before_the_kill],
)
def test_a_demo_says_what_is_missing(spoil: Any, place: Path) -> None:
    seen = evidence_of_a_demo(place)
    spoil(seen)
    assert demo.faults_of(seen)


def test_the_demo_explains_itself_and_takes_nothing_else(cli: Cli) -> None:
    assert cli.text("demo", "--help").stdout.startswith("usage: outlive demo\n")
    cli.error("demo", "--fast", code="invalid_argument", status=2)
    cli.error("--root", "elsewhere", "demo", code="invalid_argument", status=2)
