"""`list --follow` keeps the list up to date: a table on a terminal, one object a line elsewhere."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from support.cli import Cli
from support.commands import GATE
from support.terminal import CTRL_C, Terminal
from support.wait import until


def test_a_table_on_a_terminal_follows_what_happens(cli: Cli, work: Path) -> None:
    cli.ok("run", "--wait", "--title", "first", "true")
    with Terminal("list", "--all", "--human", "--follow") as terminal:
        terminal.until_row("first")
        assert "^C ends" in terminal.rows()[0]
        job = cli.ok("run", "--snapshot-after", "0", "--title", "second", GATE)["job_id"]
        until(lambda: terminal.rows()[2:3] and "running" in terminal.rows()[2], what="the second job, which runs")
        (work / "go").touch()
        cli.ok("wait", job)
        until(lambda: not any("running" in row for row in terminal.rows()), what="the end in the table")
        terminal.type(b"#")  # what is typed is not shown
        terminal.type(CTRL_C)
        assert terminal.status() == 130
        before, leave, after = terminal.text().rpartition("\x1b[?1049l")
    assert leave and "\x1b[?1049h" in before
    assert before.endswith("\x1b[?7h\x1b[?25h")
    assert "first" in after and "second" in after  # the last table stays
    assert "#" not in before
    assert "\x1b[2J" not in before  # nothing is cleared between two frames


def test_the_table_keeps_to_the_size_of_the_terminal(cli: Cli) -> None:
    for n in range(8):
        cli.ok("run", "--wait", "--title", f"job {n} {'long ' * 20}", "true")
    with Terminal("list", "--all", "--human", "-f", cols=50, rows=6) as terminal:
        terminal.until_row("… and 5 more rows")
        assert len(terminal.rows()) == 6
        terminal.resize(120, 20)
        terminal.until_row("job 0")
        assert len(terminal.rows()) == 10
        terminal.type(CTRL_C)
        assert terminal.status() == 130


@pytest.mark.fault("F70")
def test_a_title_cannot_act_on_the_terminal_that_shows_the_table(cli: Cli) -> None:
    cli.ok("run", "--wait", "--title", "\x1b]0;owned\x07\x1b[2J\u202eevil", "true")
    with Terminal("list", "--all", "--human", "-f") as terminal:
        terminal.until_row("evil")
        terminal.type(CTRL_C)
        assert terminal.status() == 130
        assert not [bad for bad in ("\x1b]", "\x1b[2J", "\u202e") if bad in terminal.text()]


def test_a_terminal_without_a_screen_gets_table_after_table(cli: Cli) -> None:
    with Terminal("list", "--all", "--human", "-f", env={"TERM": "dumb"}) as terminal:
        terminal.until("There is no job")
        cli.ok("run", "--wait", "--title", "first", "true")
        terminal.until("first")
        terminal.type(CTRL_C)
        assert terminal.status() == 130
        assert "\x1b" not in terminal.text()


def test_a_pipe_gets_one_object_a_line_whenever_the_list_has_changed(cli: Cli) -> None:
    with cli.spawn("list", "--all", "--follow") as call:
        assert call.stdout
        assert json.loads(call.stdout.readline())["jobs"] == []
        job = cli.ok("run", "--wait", "true")["job_id"]
        while (found := json.loads(call.stdout.readline())["jobs"])[0]["state"] != "exited":
            assert found[0]["job_id"] == job
        call.send_signal(signal.SIGINT)
        assert call.wait(60) == 130
        assert call.stdout.read() == b""


@pytest.mark.slow
def test_a_job_that_only_runs_is_no_change(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", GATE)["job_id"]
    with cli.spawn("list", "--all", "--follow", env={"OUTLIVE_LOG": "info"}) as call:
        assert call.stdout
        states = [json.loads(call.stdout.readline())["jobs"][0]["state"]]
        uses: set[int] = set()
        while len(uses) < 6:  # so often the use of the job has changed
            uses.add(cli.ok("list", "--all")["jobs"][0].get("usage", {}).get("wall_ms", len(uses)) // 1000)
        (work / "go").touch()
        cli.ok("wait", job)
        while states[-1] == "running":
            states.append(json.loads(call.stdout.readline())["jobs"][0]["state"])
        call.send_signal(signal.SIGINT)
        call.wait(60)
    assert len(states) <= 3  # it runs, its processes changed, it has ended


def test_the_following_ends_with_its_reader(cli: Cli) -> None:
    with cli.spawn("list", "--all", "--follow") as call:
        assert call.stdout
        call.stdout.readline()
        call.stdout.close()
        assert call.wait(60) == 0
