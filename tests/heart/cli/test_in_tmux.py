"""What a person sees in tmux: the table, the output that is followed, and a terminal that is left as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import Cli, Jobs, environment
from support.commands import GATE
from support.wait import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed here"),
]


class Tmux:
    """A tmux server of its own, with one window in which a shell runs."""

    def __init__(self, place: Path) -> None:
        self._socket = str(place / "tmux.sock")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._env = environment({"PATH": path, "TERM": "xterm-256color", "NO_COLOR": None, "TMUX": None})
        (place / "rc").write_text("PS1='> '")
        shell = f"bash --rcfile {place / 'rc'} -i"
        self._call("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "12", shell)
        until(lambda: self.rows() == [">"], what="a prompt")

    def _call(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], env=self._env, capture_output=True, check=True, timeout=60
        )
        return done.stdout.decode()

    def type(self, line: str) -> None:
        self._call("send-keys", "-l", line)
        self.press("Enter")

    def press(self, key: str) -> None:
        self._call("send-keys", key)

    def resize(self, cols: int, rows: int) -> None:
        self._call("resize-window", "-x", str(cols), "-y", str(rows))

    def rows(self, *how: str) -> list[str]:
        rows = [row.rstrip() for row in self._call("capture-pane", "-p", *how).split("\n")]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def until(self, wanted: str, *how: str) -> None:
        until(lambda: any(wanted in row for row in self.rows(*how)), what=f"{wanted!r} in {self.rows(*how)}")

    def flag(self, name: str) -> str:
        return self._call("display-message", "-p", f"#{{{name}}}").strip()

    def close(self) -> None:
        self._call("kill-server")


@pytest.fixture
def tmux(place: Path, root: Path, work: Path) -> Iterator[Tmux]:
    found = Tmux(place)
    yield found
    found.close()


def test_the_table_is_kept_up_to_date_and_leaves_the_terminal_as_it_was(cli: Cli, tmux: Tmux, work: Path) -> None:
    cli.ok("run", "--wait", "--title", "first", "true")
    tmux.type("outlive list --all --human --follow")
    tmux.until("first")
    assert (tmux.flag("alternate_on"), tmux.flag("cursor_flag")) == ("1", "0")
    cli.ok("run", "--snapshot-after", "0", "--title", "second", f"{GATE}")
    tmux.until("running")
    tmux.resize(40, 8)
    until(lambda: all(len(row) <= 40 for row in tmux.rows()) and len(tmux.rows()) == 4, what="the smaller table")
    (work / "go").touch()
    until(lambda: not any("running" in row for row in tmux.rows()), what="the end of the job")
    tmux.press("C-c")
    until(lambda: tmux.rows()[-1] == ">", what="the prompt")
    assert (tmux.flag("alternate_on"), tmux.flag("cursor_flag"), tmux.flag("wrap_flag")) == ("0", "1", "1")
    tmux.type("echo ty''ped")
    tmux.until("typed")


def test_a_table_that_is_stopped_gives_the_terminal_back(cli: Cli, tmux: Tmux) -> None:
    cli.ok("run", "--wait", "--title", "first", "true")
    tmux.type("outlive list --all --human -f")
    tmux.until("^C ends")
    tmux.press("C-z")
    tmux.until("Stopped")
    assert (tmux.flag("alternate_on"), tmux.flag("cursor_flag")) == ("0", "1")
    tmux.type("fg")
    until(lambda: tmux.flag("alternate_on") == "1", what="the table again")
    tmux.until("first")
    tmux.press("C-c")
    until(lambda: tmux.flag("alternate_on") == "0" and tmux.rows()[-1] == ">", what="the prompt")


def test_stderr_is_red_and_ctrl_c_says_how_to_come_back(cli: Cli, jobs: Jobs, tmux: Tmux) -> None:
    tmux.type(f"outlive run -f 'echo out; echo err >&2; {GATE}'")
    tmux.until("err")
    tmux.until("\x1b[31merr", "-e")
    tmux.press("C-c")
    tmux.until("^C again within 2 s ends the job")
    tmux.until("`outlive log -f ")
    until(lambda: tmux.rows()[-1] == ">", what="the prompt")
    assert jobs.all()[0]["state"] == "running"
    jobs.end()


def test_what_a_job_prints_does_not_change_the_terminal(cli: Cli, tmux: Tmux) -> None:
    evil = r"\033]2;owned\007\033[?1049h\033[?25l\033[2J\033[8mtext\n"
    tmux.type(f"outlive run -f -- printf '{evil}'; echo do''ne")
    tmux.until("done")
    assert "text" in tmux.rows()
    assert (tmux.flag("alternate_on"), tmux.flag("cursor_flag")) == ("0", "1")
    assert tmux.flag("pane_title") != "owned"


def test_a_status_is_read_in_a_glance(cli: Cli, tmux: Tmux) -> None:
    cli.ok("run", "--wait", "--title", "build", "seq 11 13; exit 3")
    tmux.type("clear; outlive status build --human")
    rows = until(lambda: rows if (rows := tmux.rows())[-1:] == [">"] and "13" in rows else None, what="all of it")
    top = next(at for at, row in enumerate(rows) if row.startswith("build  job "))
    assert rows[top + 1] == "$ seq 11 13; exit 3"
    assert rows[top + 2].startswith("exited with code 3 after")
    at = rows.index("11")
    assert (rows[at - 1], rows[at : at + 3]) == ("", ["11", "12", "13"])
    tmux.until("\x1b[31mexited with code 3", "-e")
