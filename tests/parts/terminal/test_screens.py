"""Programs that draw a screen and take keys, driven as a model drives them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from support import pair, trees
from support.cli import Cli
from support.commands import python
from support.in_terminal import BASH, ended, quits, screen, sees, start, waits
from support.wait import until


def needs(program: str) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return program


@pytest.mark.fault("F49")
def test_resizing_tells_the_program(cli: Cli) -> None:
    program = (
        "import os, signal\n"
        "signal.signal(signal.SIGWINCH, lambda *_: print(tuple(os.get_terminal_size()), flush=True))\n"
        "input()\n"
    )
    job = start(cli, "--", sys.executable, "-c", program)["job_id"]
    answer = cli.ok("resize", job, "--cols", "100", "--rows", "40")
    assert (answer["cols"], answer["rows"]) == (100, 40)
    until(lambda: "(100, 40)" in cli.ok("poll", job)["output"], what="the new size")
    shown = cli.ok("screen", job)
    assert (shown["cols"], shown["rows"], len(shown["lines"])) == (100, 40, 40)
    cli.error("resize", job, "--cols", "0", "--rows", "0", code="invalid_argument")
    cli.ok("submit", job)
    assert ended(cli, job)["exit_code"] == 0


def test_device_queries_are_answered_where_the_cursor_is(cli: Cli) -> None:
    ask = r"""printf '\r\nab\033[6n\033[c'; IFS= read -rs -d R a; IFS= read -rs -d c b; printf '\n%q %q\n' "$a" "$b" """
    found = cli.ok("run", "--pty", "--wait", *BASH, ask)
    assert r"$'\E[2;3'" in found["output"]
    assert r"$'\E[?62;22'" in found["output"]
    pair.until_free(cli.root, found["job_id"])
    peak = cli.ok("usage", found["job_id"])["usage"]["peak_memory_bytes"] or 0
    assert peak < 12 << 20, "the fork that looked for the cursor is no part of the job"


@pytest.mark.fault("F49")
def test_a_password_is_told_from_a_question_and_is_nowhere_on_disk(cli: Cli) -> None:
    found = start(cli, *BASH, 'read -rs -p "Password: " word; echo; echo "${#word} characters"')
    assert (found["prompt"], found["echo"]) == ("Password:", False)
    assert "attach" in found["hint"]
    cli.ok("send-keys", found["job_id"], "--literal", "Pa55word-of-a-person", "Enter")
    assert "20 characters" in ended(cli, found["job_id"])["output"]
    stored = b"".join(trees.contents(cli.root / found["job_id"]).values())
    assert b"Pa55word" not in stored


def test_a_program_that_filled_the_screen_long_ago_still_does(cli: Cli, work: Path) -> None:
    """The switch to the alternate screen is further back than the drawing begins."""
    draw = (
        "import sys\nprint('\\x1b[?1049h', end='')\nfor n in range(60_000): print('\\x1b[3;1H' + str(n) * 20, end='')\n"
    )
    done = (
        "import os, time\nsys.stdout.flush()\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('\\x1b[?1049l')"
    )
    job = cli.ok("run", "--pty", "--snapshot-after", "0", *python(draw + done))["job_id"]
    sees(cli, job, "59999")
    found = cli.ok("screen", job)
    assert found["alternate_screen"] and "drawn from output position" in found["warnings"][0]
    (work / "go").touch()
    assert ended(cli, job)["exit_code"] == 0
    assert not cli.ok("screen", job)["alternate_screen"]


def test_vim_writes_a_file(cli: Cli, place: Path) -> None:
    job = start(cli, "--", needs("vim"), "-u", "NONE", "-N", "-n", "note.txt")["job_id"]
    shown = cli.ok("screen", job)
    assert shown["alternate_screen"]
    cli.ok("send-keys", job, "i")
    sees(cli, job, "-- INSERT --")
    cli.ok("paste", job, "--text", "first line\nsecond line")
    cli.ok("send-keys", job, "Up", "Home", "--literal", "", "X")
    sees(cli, job, "Xfirst line")
    cli.ok("send-keys", job, "Escape", ":", "w", "q", "Enter")
    assert ended(cli, job)["exit_code"] == 0
    assert (place / "work" / "note.txt").read_text() == "Xfirst line\nsecond line\n"


def test_less_scrolls_and_quits(cli: Cli, place: Path) -> None:
    (place / "work" / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 201)))
    job = start(cli, "--", needs("less"), "long.txt")["job_id"]
    sees(cli, job, "line 29")
    cli.ok("send-keys", job, "PageDown")
    sees(cli, job, "line 50")
    quits(cli, job)


def test_top_draws_and_quits(cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", needs("top"))["job_id"]
    sees(cli, job, "PID")
    quits(cli, job)


def test_a_curses_program_gets_its_cursor_keys(cli: Cli) -> None:
    program = (
        "import curses\n"
        "def main(s):\n"
        "    s.addstr(0, 0, 'press'); s.refresh(); k = s.getch()\n"
        "    s.addstr(1, 0, 'up' if k == curses.KEY_UP else repr(k)); s.refresh(); s.getch()\n"
        "curses.wrapper(main)\n"
    )
    job = start(cli, "--", sys.executable, "-c", program)["job_id"]
    cli.ok("send-keys", job, "Up")
    sees(cli, job, "up")
    quits(cli, job)


def test_a_questionnaire_is_gone_through_one_question_at_a_time(cli: Cli) -> None:
    ask = (
        "const r = require('readline').createInterface({input: process.stdin, output: process.stdout});"
        "r.question('package name: ', a => r.question('version: (1.0.0) ', b => { console.log(a + '@' + (b || '1.0.0')); r.close() }))"
    )
    found = start(cli, "--", needs("node"), "-e", ask)
    assert found["prompt"] == "package name:"
    cli.ok("write", found["job_id"], "--data", "thing\r")
    sees(cli, found["job_id"], "version:")
    assert waits(cli, found["job_id"])["prompt"] == "version: (1.0.0)"
    cli.ok("submit", found["job_id"])
    assert "thing@1.0.0" in ended(cli, found["job_id"])["output"]


def test_a_paste_is_marked_where_the_program_asks_for_it(cli: Cli) -> None:
    job = start(cli, "--", "bash", "--norc", "-i")["job_id"]
    nested = "\x1b[201" * 20_000 + "~" * 20_000  # cutting one out makes another
    cli.ok("paste", job, "--text", f"echo one\necho two\x1b[201~{nested}\x1b[20\x1b[200~1~\necho three")
    sees(cli, job, "echo three")
    assert "\none\n" not in screen(cli, job)  # nothing has run before Enter
    cli.ok("submit", job)
    sees(cli, job, "\nthree")
    cli.ok("kill", job)


def test_what_needs_a_terminal_says_so(cli: Cli) -> None:
    job = cli.ok("run", "--stdin", "open", "--snapshot-after", "0", "--", "cat")["job_id"]
    for words in (("send-keys", job, "Up"), ("paste", job, "--text", "x"), ("screen", job)):
        cli.error(*words, code="not_a_pty")
    cli.error("resize", job, "--cols", "80", "--rows", "24", code="not_a_pty")
    for key, instead in (("C-c", "signal INT"), ("^c", "signal INT"), ("C-z", "signal STOP"), ("C-d", "eof")):
        assert instead in cli.error("send-keys", job, key, code="not_a_pty")["hint"]
    assert "signal" not in cli.error("send-keys", job, "Up", code="not_a_pty")["hint"]
    cli.ok("write", job, "--eof")
    cli.error("write", job, "--data", "more", code="stdin_closed")
    assert ended(cli, job)["exit_code"] == 0


def test_odd_keys_are_told_and_harm_nothing(cli: Cli) -> None:
    job = start(cli, "--", "cat")["job_id"]
    assert (
        cli.error("send-keys", job, "--hex", "4", "--hex", "1g", code="invalid_argument")["details"]["field"] == "--hex"
    )
    cli.error("send-keys", job, code="invalid_argument")
    assert cli.ok("send-keys", job, "--hex", "0x41", "Enter")["bytes_written"] == 2
    until(lambda: "A" in cli.ok("poll", job)["output"], what="what was typed")
    assert "lines of at most" in cli.ok("write", job, "--data", "x" * 5000 + "\n")["warnings"][0]
    cli.ok("kill", job)
