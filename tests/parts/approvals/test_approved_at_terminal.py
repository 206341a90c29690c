"""A person at a terminal lets a job start, or not: with `attach`, or with `approve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli, configured
from support.in_terminal import person
from support.terminal import Terminal


@pytest.fixture
def asks(place: Path) -> None:
    configured(place, '[policy]\ndefault = "ask"\n')


@pytest.mark.usefixtures("asks")
def test_attach_shows_a_job_that_waits_and_takes_the_answer(cli: Cli, work: Path) -> None:
    later, never, now = (
        cli.ok("run", "--snapshot-after", "0", "touch", f"made-{name}")["job_id"]
        for name in ("later", "never\x1b[8m", "now")
    )
    with person(later) as user:
        user.until("made-later")
        user.type(b"\r")
        user.until("still waits")
        assert user.status() == 0
    with person(never) as user:
        user.until("Run it?")
        assert b"\x1b[8m" not in user.seen
        user.type(b"n\r")
        user.until("Reason")
        user.type(b"not today\r")
        user.until("denied]")
        assert user.status() == 0
    with person(now) as user:
        user.until("Run it?")
        user.type(b"y\r")
        user.until("approved]")
        assert user.status() == 0
    assert cli.ok("wait", now)["exit_code"] == 0
    assert cli.ok("status", later)["approval"]["state"] == "pending"
    denied = cli.ok("status", never)
    assert (denied["reason"], denied["approval"]["answer"]) == ("denied", "not today")
    assert denied["approval"]["by"].endswith("(outlive attach)")


@pytest.mark.usefixtures("asks")
def test_approve_at_a_terminal_shows_what_runs_and_asks_once_more(cli: Cli, work: Path) -> None:
    options = ("--snapshot-after", "0", "--env", "LD_PRELOAD=/ws/x.so")
    job = cli.ok("run", *options, "touch", "made", "\x1b[8mhidden\nDirectory: /safe")["job_id"]
    with Terminal("approve", job, cols=90, rows=25) as user:
        user.until("Run it? [y/N]")
        assert b"Command: touch made $'\\e[8mhidden\\nDirectory: /safe'\r\n" in user.seen
        assert b"Variable: LD_PRELOAD=/ws/x.so\r\n" in user.seen
        user.type(b"\r")
        user.until("still waits")
        assert user.status() == 1
    assert cli.ok("status", job)["approval"]["state"] == "pending"
    with Terminal("approve", job, cols=90, rows=25) as user:
        user.until("Run it? [y/N]")
        user.type(b"y\r")
        assert user.status() == 0
    assert cli.ok("wait", job)["state"] in ("exited", "failed")  # the library does not exist
    forging = cli.ok("run", *options, "touch", f"{'x' * 75}  Directory: /safe")["job_id"]
    with Terminal("approve", forging, cols=90, rows=25) as user:
        user.until("Run it? [y/N]")
        assert b"\n    | " in user.seen and user.seen.count(b"\n  Directory: ") == 1
        user.type(b"\r")
        assert user.status() == 1
    other = cli.ok("run", *options, "touch", "made")["job_id"]
    assert "  Variable: LD_PRELOAD=/ws/x.so" in cli.text("status", other, "--human").stdout
    cli.ok("deny", other)


@pytest.mark.usefixtures("asks")
def test_a_job_with_a_terminal_goes_on_in_the_terminal_that_approved_it(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--pty", "head", "-n", "1")["job_id"]
    with person(job) as user:
        user.until("Run it?")
        user.type(b"y\r")
        user.until("detaches")
        user.type(b"typed\r")
        assert user.status() == 0
    assert "typed" in cli.ok("log", job)["output"]
