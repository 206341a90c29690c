"""`outlive log -f --group`: the lines of all jobs of a group with their names, as they come, until all have ended."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from support.cli import Cli

# Each act of a job waits for a file of its own
SAYS = "echo {0} begins; until [ -e {0} ]; do sleep 0.02; done; echo {0} ends; exit {1}"


def start(cli: Cli, name: str, code: int = 0) -> str:
    words = ("--group", "stack", "--title", name, "--until", "output", SAYS.format(name, code))
    job: str = cli.ok("run", *words)["job_id"]
    return job


def test_the_lines_of_all_jobs_come_with_their_names_until_all_have_ended(cli: Cli, work: Path) -> None:
    start(cli, "db")
    start(cli, "worker", 3)
    with cli.spawn("log", "-f", "--group", "stack") as follower:
        assert follower.stdout
        begun = {follower.stdout.readline() for _ in range(2)}
        assert begun == {b"db     | db begins\n", b"worker | worker begins\n"}
        (work / "worker").touch()
        assert follower.stdout.readline() == b"worker | worker ends\n"
        assert follower.poll() is None, "the other one goes on"
        (work / "db").touch()
        assert follower.stdout.read() == b"db     | db ends\n"
        assert follower.wait(60) == 0


def test_a_pattern_and_times_go_with_it(cli: Cli, work: Path) -> None:
    for name in ("db", "web"):
        start(cli, name)
    for name in ("db", "web"):
        (work / name).touch()
    shown = cli.text("log", "-f", "--group", "stack", "--search", "ends").stdout
    assert sorted(shown.splitlines()) == ["db  | db ends", "web | web ends"]
    timed = cli.text("log", "-f", "--group", "stack", "--times").stdout.splitlines()
    assert len(timed) == 4
    assert all(re.fullmatch(r"(db |web) \| \d.* (db|web) (begins|ends)", line) for line in timed), timed


def test_what_is_of_one_job_does_not_go_with_it(cli: Cli) -> None:
    start(cli, "db")
    for words in (("--offset", "0"), ("--since-seq", "0"), ("--propagate",)):
        error = cli.error("log", "-f", "--group", "stack", *words, code="invalid_argument")
        assert f"--follow of several jobs goes without {words[0]}" in error["message"]
    cli.error("log", "-f", "--group", "nothing", code="job_not_found")
    (Path("db")).touch()


def test_an_interrupt_ends_the_following_and_no_job(cli: Cli, work: Path) -> None:
    jobs = [start(cli, name) for name in ("db", "web")]
    with cli.spawn("log", "-f", "--group", "stack") as follower:
        assert follower.stdout
        for _ in range(2):
            follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        assert follower.wait(60) == 130
    for name, job in zip(("db", "web"), jobs, strict=True):
        assert cli.ok("status", job)["state"] == "running"
        (work / name).touch()
        assert cli.ok("wait", job)["exit_code"] == 0
