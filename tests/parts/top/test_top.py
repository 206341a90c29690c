"""`outlive top`: all jobs on one screen, moved through, opened, followed, answered, killed and filtered by keys."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from outlive.errors import OutliveError
from outlive.parts.top.main import main
from support.cli import Cli, Jobs, configured
from support.commands import GATE
from support.preloaded import OUTLIVE
from support.terminal import CTRL_C, Terminal
from support.wait import until

pytest.importorskip("urwid")

RULES = '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n'
KEYS = "? keys"  # of the last line: the screen is there


@contextmanager
def top(*, cols: int = 100, rows: int = 30) -> Iterator[Terminal]:
    """The screen, from when it has read all jobs until q."""
    with Terminal("top", cols=cols, rows=rows) as screen:
        screen.until_row(KEYS)
        until(lambda: not any("reading" in row for row in screen.rows()), what="all jobs on the screen")
        yield screen
        screen.type(b"q")
        assert screen.status() == 0


def row_of(screen: Terminal, name: str) -> str:
    return next((row for row in screen.rows() if name in row), "")


def gone(screen: Terminal, text: str) -> None:
    until(lambda: not any(text in row for row in screen.rows()), what=f"a screen without {text!r}")


def started(cli: Cli, title: str, *words: str) -> str:
    return str(cli.ok("run", "--snapshot-after", "0", "--title", title, *words)["job_id"])


def test_the_list_follows_what_happens_and_shows_the_last_lines_of_the_chosen_job(
    cli: Cli, jobs: Jobs, work: Path
) -> None:
    cli.ok("run", "--wait", "--title", "older", "echo of the older; exit 3")
    cli.ok("run", "--wait", "--title", "newer", "echo of the newer")
    with top() as screen:
        assert screen.rows()[0].startswith("outlive: 2 jobs, 0 running")
        screen.until_row("of the newer")
        screen.type(b"j")
        screen.until_row("of the older")
        screen.until_row("exited with code 3")
        screen.type(b"k")
        screen.until_row("of the newer")
        job = started(cli, "third", GATE)
        until(lambda: "running" in row_of(screen, "third"), what="the third job, which runs")
        (work / "go").touch()
        cli.ok("wait", job)
        until(lambda: "exited" in row_of(screen, "third"), what="the end of the third job")
        screen.until_row("of the newer")  # the chosen job stays chosen, though another one came above it
    jobs.end()


def test_an_open_job_is_followed_until_one_moves_up(cli: Cli, jobs: Jobs) -> None:
    job = started(cli, "talks", "--stdin", "open", "--", sys.executable, "-uc",
                  "for n in range(100): print('line', n)\nwhile True: print('said', input())")  # fmt: skip
    with top() as screen:
        screen.type(b"\r")
        screen.until_row("line 99")
        screen.until_row("(following)")
        cli.ok("submit", job, "--text", "one")
        screen.until_row("said one")
        for _ in range(40):
            screen.type(b"k")
        screen.until_row("(f follows)")
        gone(screen, "said one")
        cli.ok("submit", job, "--text", "two")
        screen.type(b"f")
        screen.until_row("said two")
        screen.until_row("(following)")
        screen.type(b"\x1b")
        screen.until_row("/ filter")
    jobs.end()


@pytest.mark.parametrize("key", [b"t", b"a"], ids=["attach", "answer"])
def test_a_key_attaches_to_a_terminal_and_the_list_comes_back(cli: Cli, jobs: Jobs, key: bytes) -> None:
    started(cli, "talks", "--pty", "--", "sh", "-c", "echo ready; while :; do sleep 600; done")  # asks nothing
    with top() as screen:
        screen.until_row("ready")
        screen.type(key)
        gone(screen, KEYS)
        screen.type(b"typed")
        screen.until_row("typed")  # as the terminal of the job echoes it
        screen.type(b"\x1dd")
        screen.until_row(KEYS)
        screen.until_row("talks")
    jobs.end()


def test_what_has_no_terminal_is_not_attached_to(cli: Cli, jobs: Jobs) -> None:
    started(cli, "plain", "--", "sleep", "1000")
    with top() as screen:
        screen.type(b"t")
        screen.until_row("runs without a terminal")
        screen.until_row("plain")
    jobs.end()


def test_kill_asks_first(cli: Cli, jobs: Jobs) -> None:
    job = started(cli, "long", "--", "sleep", "1000")
    with top() as screen:
        screen.type(b"x")
        screen.until_row(f"Kill long (job {job[-8:]})? [y/N]")
        screen.type(b"\r")
        screen.until_row("not killed")
        assert cli.ok("status", job)["state"] == "running"
        screen.type(b"x")
        screen.until_row("[y/N]")
        screen.type(b"y\r")
        until(lambda: "killed" in row_of(screen, "long"), what="the end of the job")
    assert cli.ok("status", job)["ended_by"] == "cli"
    jobs.end()


def test_a_filter_shows_jobs_with_these_words(cli: Cli, jobs: Jobs) -> None:
    for name in ("build web", "zeta web", "deploy"):
        cli.ok("run", "--wait", "--title", name, "true")
    with top() as screen:
        screen.type(b"/")
        screen.until_row("Show only jobs with")
        screen.type(b"WEB zeta\r")
        screen.until_row("1 jobs, 0 running, with 'WEB zeta'")
        assert row_of(screen, "zeta web") and not row_of(screen, "deploy")
        screen.type(b"\x1b")
        screen.until_row("3 jobs")
    jobs.end()


def test_a_question_is_answered_in_place(cli: Cli, jobs: Jobs, place: Path, work: Path) -> None:
    configured(place, RULES)
    (work / "asks.py").write_text("print('hello', input('Name? ')); input()")
    asks = cli.ok("run", "--pty", "--until", "input", "--title", "asks", "--", "python3", "asks.py")["job_id"]
    with top(rows=40) as screen:
        screen.until_row("1 ask")
        screen.type(b"a")
        screen.until_row("Name? (Enter: later")
        screen.type(b"Ada\r")
        screen.until_row("hello Ada")
        job = str(cli.ok("run", "--snapshot-after", "0", "--", "touch", "a b")["job_id"])
        screen.until_row("pending")
        screen.type(b"G")
        screen.type(b"a")
        screen.until_row("Command: touch 'a b'")
        screen.until_row("Run it?")
        screen.type(b"n not now\r")
        screen.until_row(f"job {job[-8:]} denied")
        screen.type(b"a")
        screen.until_row("asks nothing")
    assert cli.ok("status", job)["message"].endswith("(outlive top): not now; it never ran")
    assert not (work / "a b").exists()
    assert cli.ok("status", asks)["state"] == "running"
    jobs.end()


def test_the_keys_are_explained(cli: Cli) -> None:
    with top() as screen:
        screen.until_row("There is no job yet.")
        screen.type(b"?")
        screen.until_row("answer what the job asks")
        screen.type(b" ")
        gone(screen, "answer what the job asks")


@pytest.mark.fault("F70")
def test_nothing_that_a_job_chose_acts_on_the_terminal(cli: Cli, jobs: Jobs) -> None:
    evil = "\x1b]0;owned\x07\u202eevil"
    cli.ok("run", "--wait", "--title", evil, "--", "printf", "\\033]0;owned\\007\\033[2Jred\\n")
    with top() as screen:
        screen.until_row("evil")
        screen.type(b"\r")
        screen.until_row("Esc back")
        screen.until_row("red")
        screen.type(b"\x1b")
        screen.until_row("Enter open")  # Esc was taken: a key right behind it would be one with Alt
        assert not [bad for bad in ("\x1b]0", "\x07", "\u202e", "\x1b[2J") if bad in screen.text()]
    jobs.end()


def test_a_job_answers_nothing_in_it(cli: Cli, jobs: Jobs) -> None:
    asks = cli.ok("run", "--pty", "--until", "input", "--title", "asks", "read -p 'Name? ' name")["job_id"]
    shell = started(cli, "inside", "--pty", "--", *OUTLIVE, "top")

    def shows(text: str) -> None:
        until(lambda: any(text in row for row in cli.ok("screen", shell)["lines"]), what=f"{text!r} on the screen")

    shows(KEYS)
    cli.ok("send-keys", shell, "/")
    cli.ok("submit", shell, "--text", "Name?")
    shows("1 jobs")
    cli.ok("send-keys", shell, "a")
    shows("a job neither approves nor denies")
    assert cli.ok("status", asks)["waiting_for_input"]
    jobs.end()


def test_it_leaves_with_ctrl_c_and_refuses_where_it_cannot_draw(cli: Cli) -> None:
    with Terminal("top") as screen:
        screen.until_row(KEYS)
        screen.type(CTRL_C)
        assert screen.status() == 0
    with Terminal("top", env={"TERM": "dumb"}, cols=200) as screen:
        assert screen.status() == 1
        assert screen.text().startswith("error: top draws on your terminal")
    assert "a terminal" in cli.error("top", code="invalid_argument")["message"]


def test_without_its_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.isatty", lambda fd: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setitem(sys.modules, "urwid", None)
    monkeypatch.delitem(sys.modules, "outlive.parts.top.screen", raising=False)
    with pytest.raises(OutliveError, match="needs the package urwid") as error:
        main(*[cast("Any", None)] * 3)
    assert "pip install 'outlive[top]'" in str(error.value.hint)
