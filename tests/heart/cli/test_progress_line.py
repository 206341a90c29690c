"""A call that takes longer than a second tells a person how far it is, on stderr of a terminal alone."""

from __future__ import annotations

import pytest

from outlive.cli.call import progress_line
from support.cli import Cli, Jobs
from support.terminal import CTRL_C, Terminal

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.02; done"


def stubborn(cli: Cli) -> str:
    found: str = cli.ok("run", "--until", "regex=ready", STUBBORN)["job_id"]
    return found


def test_a_call_that_waits_long_says_so_and_takes_the_line_back(cli: Cli) -> None:
    with Terminal("kill", stubborn(cli), "--grace-ms", "4000", cols=40) as terminal:
        terminal.until("outlive kill: 1 s")
        assert terminal.status() == 0
        assert not [row for row in terminal.rows() if "outlive kill" in row]
        assert terminal.rows()[0].startswith('{"schema_version"')


def test_a_call_that_is_interrupted_takes_the_line_back(cli: Cli, jobs: Jobs) -> None:
    with Terminal("kill", stubborn(cli), "--grace-ms", "20000") as terminal:
        terminal.until("outlive kill: 1 s")
        terminal.type(CTRL_C)
        assert terminal.status() == 130
        assert not [row for row in terminal.rows() if "outlive kill: " in row]
    jobs.end("--grace-ms", "0")


def test_no_line_goes_to_a_pipe_or_a_dumb_terminal(cli: Cli) -> None:
    with cli.spawn("kill", stubborn(cli), "--grace-ms", "1500") as piped:
        with Terminal("kill", stubborn(cli), "--grace-ms", "1500", env={"TERM": "dumb"}) as terminal:
            assert terminal.status() == 0
            assert terminal.text().startswith("{")
        assert piped.communicate(timeout=60)[1] == b""


@pytest.mark.parametrize(
    ("progress", "wanted"),
    [
        (None, "outlive gc: 3 s"),
        ((1_500, None, "jobs looked at"), "outlive gc: 1,500 jobs looked at, 3 s"),
        ((5, 20, "jobs deleted"), "outlive gc: 5 of 20 jobs deleted (25 %), 3 s"),
        ((1 << 30, 5 << 30, "bytes"), "outlive gc: 1 GiB of 5 GiB (20 %), 3 s"),
        ((0, 0, "jobs deleted"), "outlive gc: 0 of 0 jobs deleted, 3 s"),
    ],
)
def test_the_line_says_how_much_of_what_is_done(progress: tuple[int, int | None, str] | None, wanted: str) -> None:
    assert progress_line("gc", 3.9, None if progress is None else lambda: progress) == wanted


@pytest.mark.slow
def test_the_line_counts_the_bytes_of_a_huge_log(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "yes 'a line of some length' | head -c 3G", timeout=240)["job_id"]
    (cli.root / job / "lines").unlink(missing_ok=True)
    with Terminal("log", job, "--search", "no such line") as terminal:
        terminal.until(" of 3 GiB (")
        terminal.type(CTRL_C)
        assert terminal.status() == 130
