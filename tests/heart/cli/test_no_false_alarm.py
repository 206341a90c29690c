"""A program that draws its screen does not wait for input; a program that stands still at a prompt does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.cli import Cli, Jobs
from support.wait import until

# Draws a frame, and looks for a key in between, as top(1) does; then it asks
DRAWS = """
import select, sys
for n in range(15):
    print(f'\\rframe {n} ', end='', flush=True)
    if select.select([0], [], [], 0.6)[0]:
        break
print('\\rGo on? [y/N] ', end='', flush=True)
select.select([0], [], [])
print('done', sys.stdin.readline())
"""


def questions(cli: Cli, job: str) -> int:
    return sum(event["type"] == "waiting_for_input" for event in cli.ok("events", job)["events"])


def test_a_prompt_behind_a_drawing_is_the_question_and_the_drawing_is_none(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "python3", "-c", DRAWS)["job_id"]
    cli.ok("wait", job, "--until", "regex=Go on", "--timeout-ms", "60s")
    drawn = questions(cli, job)
    assert drawn <= 2
    asked = cli.ok("wait", job, "--until", "input", "--timeout-ms", "60s")
    assert asked["fired"]["line"] == "Go on? [y/N]"
    assert questions(cli, job) == drawn + 1
    assert "done y" in cli.ok("submit", job, "--text", "y", "--wait-ms", "20s")["output"]
    jobs.end()


# As npm and the program that it runs: the parent has a connection open and looks at the terminal, the child looks at that
# alone for keys
PARENT = """
import os, select, socket, subprocess, sys
run = subprocess.Popen([sys.executable, "child.py"])
server = socket.create_server(("127.0.0.1", 0))
run_end = os.pidfd_open(run.pid)
while run_end not in select.select([0, server, run_end], [], [])[0]:
    pass
"""
CHILD = """
import os, select, socket, tty
tty.setcbreak(0)
print("Select a framework:\\n  Vanilla\\n  Vue", flush=True)
select.select([0, *OTHERS], [], [])
print("took", os.read(0, 9))
"""


def start_npm(cli: Cli, work: Path, others: str) -> str:
    (work / "parent.py").write_text(PARENT)
    (work / "child.py").write_text(CHILD.replace("OTHERS", others))
    job: str = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "python3", "parent.py")["job_id"]
    return job


def test_a_menu_below_a_parent_with_a_connection_is_a_question(cli: Cli, jobs: Jobs, work: Path) -> None:
    job = start_npm(cli, work, "[]")
    assert cli.ok("wait", job, "--until", "input", "--timeout-ms", "60s")["fired"]["condition"] == "input"
    jobs.end()


def test_a_silent_program_that_looks_for_keys_is_said_to_do_so(cli: Cli, jobs: Jobs, work: Path) -> None:
    """With a connection of its own it does not count as waiting."""
    job = start_npm(cli, work, "[socket.socket(type=socket.SOCK_DGRAM)]")
    found = until(lambda: (now := cli.ok("poll", job)).get("hint") and now, what="5 s of silence")
    assert "which waits for a key in its terminal: screen shows it, send-keys answers" in found["hint"]
    jobs.end()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("top") is None, reason="no top")
def test_top_asks_nothing(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--env", "TERM=xterm", "--", "top", "-d", "1", "-n", "20")[
        "job_id"
    ]
    assert cli.ok("wait", job, "--timeout-ms", "100s")["exit_code"] == 0
    assert questions(cli, job) <= 1
    jobs.end()
