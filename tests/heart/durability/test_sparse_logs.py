"""A log of a terabyte that takes no space: the job has made its own log longer."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from support import pair
from support.cli import Cli
from support.tiers import first
from support.wait import until

TERABYTE = 1 << 40
LOOKS = (("log",), ("tail",), ("poll",), ("status",), ("log", "--search", "late"), ("log", "--stream", "stdout"))


def _check(cli: Cli, job: str, text: str) -> None:
    for verb, *more in LOOKS:
        found = cli.ok(verb, job, *more, timeout=20)
        shown = found.get("output", found.get("stdout_tail", text))
        if "--search" not in more:
            assert shown == text, verb
        else:
            assert ("late" in shown) is ("late" in text)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1 << 20, "KiB"


@pytest.mark.fault("D09")
@pytest.mark.parametrize("tail", first(1, ["", "; echo x >> $OUTLIVE_ROOT/$OUTLIVE_JOB_ID/stdout.log"]))
def test_a_log_that_its_job_made_a_terabyte_long_is_read_to_the_end_of_the_output(
    cli: Cli, root: Path, work: Path, tail: str
) -> None:
    grow = f"truncate -s 1T $OUTLIVE_ROOT/$OUTLIVE_JOB_ID/stdout.log{tail}"
    command = f"echo early; until [ -e go ]; do sleep 0.1; done; {grow}; touch long; until [ -e end ]; do sleep 0.1; done; echo late"
    job = cli.ok("run", "--snapshot-after", "0", command)["job_id"]
    cli.ok("wait", job, "--until", "output")
    (work / "go").touch()
    until((work / "long").exists)
    log = root / job / "stdout.log"
    assert log.stat().st_size >= TERABYTE
    _check(cli, job, "early\n")
    (work / "end").touch()
    cli.ok("wait", job)
    pair.until_free(root, job)
    assert log.stat().st_size == len("early\nlate\n")
    _check(cli, job, "early\nlate\n")


@pytest.mark.fault("D09")
def test_a_log_that_grew_after_the_end_is_read_to_where_it_ended(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "echo early; echo late")["job_id"]
    pair.until_free(root, job)
    os.truncate(root / job / "stdout.log", TERABYTE)
    _check(cli, job, "early\nlate\n")


@pytest.mark.fault("D09")
def test_a_takeover_goes_on_where_the_output_ended(cli: Cli, root: Path, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "echo early; until [ -e go ]; do sleep 0.1; done; echo late")["job_id"]
    cli.ok("wait", job, "--until", "output")
    os.truncate(root / job / "stdout.log", TERABYTE)
    pair.take_over(job)
    (work / "go").touch()
    cli.ok("wait", job)
    _check(cli, job, "early\nlate\n")
