"""A program that draws its screen does not wait for input; a program that stands still at a prompt does."""

from __future__ import annotations

import shutil

import pytest

from support.cli import Cli, Jobs

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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("top") is None, reason="no top")
def test_top_asks_nothing(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--env", "TERM=xterm", "--", "top", "-d", "1", "-n", "20")[
        "job_id"
    ]
    assert cli.ok("wait", job, "--timeout-ms", "100s")["exit_code"] == 0
    assert questions(cli, job) <= 1
    jobs.end()
