"""Jobs with a terminal, and jobs that ask: driven as a model or a person drives them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from support import pair, trees
from support.cli import Cli, configured
from support.commands import python
from support.jobs import job_ids
from support.preloaded import OUTLIVE
from support.terminal import Terminal
from support.wait import until

BASH = ("--shell-wrapper", "bash --norc -c")


def start(cli: Cli, *words: str) -> Any:
    """A job in a terminal, as it is when it first waits for input."""
    found = cli.ok("run", "--pty", "--snapshot-after", "30s", *words)
    assert found["waiting_for_input"], found
    return found


def waits(cli: Cli, job: str) -> dict[str, Any]:
    return until(lambda: (found := cli.ok("status", job))["waiting_for_input"] and found, what="it waits for input")


def screen(cli: Cli, job: str) -> str:
    return "\n".join(cli.ok("screen", job)["lines"])


def sees(cli: Cli, job: str, text: str) -> None:
    until(lambda: text in screen(cli, job), what=f"{text!r} on the screen")


def ended(cli: Cli, job: str) -> dict[str, Any]:
    return cli.ok("wait", job, "--timeout-ms", "50s")


def quits(cli: Cli, job: str) -> None:
    """At the key that ends it."""
    cli.ok("send-keys", job, "q")
    assert ended(cli, job)["exit_code"] == 0


def needs(program: str) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return program


# --- the terminal itself ---------------------------------------------------------------------------------------------


def test_a_pty_job_has_a_terminal_of_its_own(cli: Cli) -> None:
    script = "test -t 0 && test -t 1 && test -t 2 && tty </dev/tty >/dev/null && stty size && echo $TERM ${COLUMNS-none}; exit 4"
    found = cli.ok("run", "--pty", "--wait", script, env={"COLUMNS": "33", "TERM": "dumb"})
    assert found["output"] == "30 120\nxterm-256color none\n"
    assert found["exit_code"] == 4


@pytest.mark.fault("F47")
def test_the_size_of_a_terminal_is_known_as_soon_as_its_job_runs(cli: Cli, work: Path) -> None:
    """A person who takes the keyboard of a job that has just begun gives the terminal this size back."""
    at = {"OUTLIVE_CRASH_AT": "stop:start_recorded", "OUTLIVE_DEBUG_FILE": str(work / "stopped")}
    with cli.spawn("run", "--pty", "--snapshot-after", "0", "true", env=at) as call:
        until((work / "stopped").read_text, what="the record that it runs")
        (job,) = job_ids(cli.root)
        found = json.loads((cli.root / job / "state.json").read_bytes())
        until(lambda: pair.is_stopped(found["supervisor"]["pid"]), what="the supervisor is stopped")
        os.kill(found["supervisor"]["pid"], signal.SIGCONT)
        assert call.wait(60) == 0
    assert (found["phase"], found["terminal"]["cols"], found["terminal"]["rows"]) == ("running", 120, 30)


def test_the_last_output_before_the_end_is_never_lost(cli: Cli) -> None:
    found = cli.ok("run", "--pty", "--wait", "--max-bytes", "1000000", "seq 1 20000; printf last")
    assert found["output"] == "".join(f"{n}\n" for n in range(1, 20001)) + "last"


@pytest.mark.fault("F31", "F47")
def test_a_grandchild_that_holds_the_terminal_does_not_keep_the_job_running(cli: Cli) -> None:
    found = cli.ok("run", "--pty", "--snapshot-after", "30s", *BASH, "trap '' HUP; sleep 600 & echo started")
    assert (found["state"], found["exit_code"], found["descendants"]) == ("exited", 0, 1)
    cli.ok("kill", found["job_id"], "--grace-ms", "0")


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


def test_an_end_in_the_middle_of_a_line_ends_the_reader_and_keeps_the_terminal(cli: Cli) -> None:
    job = start(cli, "cat; echo; echo again; cat")["job_id"]
    answer = cli.ok("write", job, "--data", "abc", "--eof")
    assert (answer["bytes_written"], answer["stdin"]) == (3, "open")
    until(lambda: "again" in cli.ok("poll", job)["output"], what="the second reader")
    waits(cli, job)
    cli.ok("write", job, "--data", "more\n")
    cli.ok("write", job, "--eof")
    assert "more\nmore\n" in ended(cli, job)["output"]


def test_device_queries_are_answered_where_the_cursor_is(cli: Cli) -> None:
    ask = r"""printf '\r\nab\033[6n\033[c'; IFS= read -rs -d R a; IFS= read -rs -d c b; printf '\n%q %q\n' "$a" "$b" """
    found = cli.ok("run", "--pty", "--wait", *BASH, ask)
    assert r"$'\E[2;3'" in found["output"]
    assert r"$'\E[?62;22'" in found["output"]
    pair.until_free(cli.root, found["job_id"])
    peak = cli.ok("usage", found["job_id"])["usage"]["peak_memory_bytes"] or 0
    assert peak < 12 << 20, "the fork that looked for the cursor is no part of the job"


def test_a_supervisor_killed_between_lines_of_input_loses_nothing(cli: Cli) -> None:
    found = start(cli, *BASH, 'while read -r line; do echo "got $line"; test "$line" = 40 && exit 7; done')
    job = found["job_id"]
    for number in range(1, 41):
        if number == 10:  # the guardian goes on; were that killed too, the terminal would be hung up
            os.kill(pair.supervisor(job), signal.SIGKILL)
            until(lambda: cli.ok("status", job).get("adopted"), what="a takeover")
        cli.ok("write", job, "--data", f"{number}\n")
    found = ended(cli, job)
    assert found["exit_code"] == 7
    got = [line for line in found["output"].splitlines() if line.startswith("got ")]
    assert got == [f"got {number}" for number in range(1, 41)]


@pytest.mark.fault("F48")
def test_what_a_terminal_prints_survives_its_supervisor_whole(cli: Cli, work: Path) -> None:
    count = (
        "import os\nn = 0\nwhile n < 3000 or not os.path.exists('stop'):\n    n += 1\n    print('line', n)\n"
        "open('count', 'w').write(str(n))\nraise SystemExit(9)"
    )
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", sys.executable, "-c", count)["job_id"]
    until(lambda: (cli.root / job / "stdout.log").stat().st_size > 4_000, what="some lines")
    os.kill(pair.supervisor(job), signal.SIGKILL)
    (work / "stop").touch()
    found = ended(cli, job)
    assert (found["exit_code"], found["reason"]) == (9, "exit")
    stored = (cli.root / job / "stdout.log").read_bytes()
    assert stored == b"".join(b"line %d\r\n" % n for n in range(1, int((work / "count").read_text()) + 1))
    assert cli.ok("status", job)["adopted"] == 1


# --- waiting for input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [("--pty",), ("--stdin", "open")])
def test_a_question_is_answered_early_and_told(cli: Cli, work: Path, flags: tuple[str, ...]) -> None:
    ask = (
        "import os, time\nprint('hello', input('Your name? '), flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
    )
    found = cli.ok("run", *flags, "--snapshot-after", "60s", "--", sys.executable, "-c", ask, timeout=50)
    assert (found["state"], found["waiting_for_input"], found["prompt"]) == ("running", True, "Your name?")
    assert "Answer with" in found["hint"]
    job = found["job_id"]
    assert cli.ok("list")["jobs"][0]["waiting_for_input"]
    fired = cli.ok("wait", job, "--until", "input")["fired"]
    assert fired["condition"] == "input"
    cli.ok("write", job, "--data", "Ada\n")
    answered = until(
        lambda: not (found := cli.ok("status", job))["waiting_for_input"] and found, what="no more waiting"
    )
    assert answered["state"] == "running"
    (work / "go").touch()
    assert "hello Ada" in ended(cli, job)["output"]


@pytest.mark.fault("F49")
def test_a_password_is_told_from_a_question_and_is_nowhere_on_disk(cli: Cli) -> None:
    found = start(cli, *BASH, 'read -rs -p "Password: " word; echo; echo "${#word} characters"')
    assert (found["prompt"], found["echo"]) == ("Password:", False)
    assert "attach" in found["hint"]
    cli.ok("send-keys", found["job_id"], "--literal", "Pa55word-of-a-person", "Enter")
    assert "20 characters" in ended(cli, found["job_id"])["output"]
    stored = b"".join(trees.contents(cli.root / found["job_id"]).values())
    assert b"Pa55word" not in stored


def test_a_shell_and_an_interpreter_wait_but_hide_nothing(cli: Cli) -> None:
    for words in (("bash", "--norc", "-i"), (sys.executable, "-i", "-q")):
        found = start(cli, "--", *words)
        assert found["echo"] is True, words
        assert found["prompt"]
        cli.ok("kill", found["job_id"])


def test_a_server_that_also_takes_keys_is_not_waiting(cli: Cli) -> None:
    serve = (
        "import select, socket; s = socket.create_server(('127.0.0.1', 0)); print('ready', flush=True);"
        "select.select([0, s], [], [])"
    )
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", sys.executable, "-c", serve)["job_id"]
    cli.ok("wait", job, "--until", "output")
    answer = cli.ok("wait", job, "--until", "input", "--until", "exit", "--timeout-ms", "1500")
    assert answer["timed_out"]
    cli.ok("kill", job, "--grace-ms", "0")


def test_a_job_that_works_or_sleeps_is_not_waiting(cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "printf 'working... '; sleep 600")["job_id"]
    assert cli.ok("wait", job, "--until", "input", "--timeout-ms", "1500")["timed_out"]
    cli.ok("kill", job, "--grace-ms", "0")


# --- real programs ---------------------------------------------------------------------------------------------------


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


# --- bad input -------------------------------------------------------------------------------------------------------


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


def test_a_line_is_submitted_to_an_open_stdin_too(cli: Cli) -> None:
    job = cli.ok("run", "--stdin", "open", "--snapshot-after", "0", "--", "cat")["job_id"]
    assert cli.ok("submit", job, "--text", "one", "--wait-ms", "200")["output"] == "one\n"
    cli.ok("write", job, "--eof")
    assert ended(cli, job)["exit_code"] == 0
    assert "has ended" in cli.error("submit", job, "--text", "two", code="stdin_closed")["message"]
    deaf = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    assert "stdin closed" in cli.error("submit", deaf, "--text", "two", code="stdin_closed")["message"]
    cli.ok("kill", deaf)


ASKS = "for one in size colour; do printf '%s? ' $one; read -r answer; echo got $answer; done"


def _asking(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", *words, "--until", "input", "--", "sh", "-c", ASKS)["job_id"]
    return job


def _texts(*texts: str, expect: tuple[str, ...] = ()) -> list[str]:
    return [*(f"--texts={one}" for one in texts), *(f"--expect={one}" for one in expect), "--wait-ms", "20s"]


def test_each_text_is_typed_at_its_prompt(cli: Cli) -> None:
    found = cli.ok("submit", _asking(cli, "--pty"), *_texts("9", "red", expect=("size", "^col.ur")))
    assert (found["sent"], found["state"], found["output"]) == (2, "exited", "9\ngot 9\ncolour? red\ngot red\n")
    found = cli.ok("submit", _asking(cli, "--stdin", "open"), *_texts("9", "red", expect=("size?", "colour?")))
    assert (found["sent"], found["state"], found["output"]) == (2, "exited", "got 9\ncolour? got red\n")


def test_texts_stop_where_the_job_ends(cli: Cli) -> None:
    found = cli.ok("submit", _asking(cli, "--pty"), *_texts("9", "red", "more"))
    assert (found["sent"], found["hint"]) == (2, "It ended before text 3 of 3.")


def test_texts_stop_at_a_prompt_that_was_not_expected_whatever_was_typed_before(cli: Cli) -> None:
    job = _asking(cli, "--pty")
    cli.error("submit", job, "--texts", "a", "--expect", "b", "--expect", "c", code="invalid_argument")
    cli.error("submit", job, "--texts", "a", "--text", "b", code="invalid_argument")
    found = cli.ok("submit", job, *_texts("price", "red", expect=("", "price")))
    assert (found["sent"], found["state"], found["prompt"]) == (1, "running", "colour?")
    assert found["hint"].startswith("Text 2 was not sent: it asks 'colour?', not 'price'.")
    cli.ok("kill", job)


def test_of_a_prompt_without_a_word_the_lines_before_it_are_what_is_asked(cli: Cli) -> None:
    command = "for one in size colour; do echo which $one; printf '> '; read -r answer; done"
    job = cli.ok("run", "--pty", "--until", "input", "--", "sh", "-c", command)["job_id"]
    found = cli.ok("submit", job, *_texts("colour", "x", expect=("which size", "size")))
    assert (found["sent"], found["prompt"]) == (1, ">")
    assert found["hint"].startswith("Text 2 was not sent: it asks 'which colour\\n>', not 'size'.")
    assert cli.ok("submit", job, *_texts("red", expect=("^which colour",)))["state"] == "exited"


def test_texts_stop_if_the_job_does_not_ask(cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "sleep 60")["job_id"]
    found = cli.ok("submit", job, "--texts", "x")
    assert (found["sent"], found["bytes_written"]) == (0, 0)
    assert found["hint"].startswith("It does not ask for text 1 of 1 yet")
    cli.ok("kill", job)


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


@pytest.mark.parametrize("flags", [pytest.param(("--pty",), marks=pytest.mark.slow), ("--stdin", "open")])
def test_ten_megabytes_for_a_program_that_reads_nothing_are_bounded(
    cli: Cli, place: Path, flags: tuple[str, ...]
) -> None:
    from support.mcp_client import McpSession

    script = "stty raw -echo 2>/dev/null; echo ready; sleep 600"
    job = cli.ok("run", *flags, "--snapshot-after", "0", script)["job_id"]
    cli.ok("wait", job, "--until", "output")
    with McpSession(log=place / "server.log") as session:
        answer = session.call("process", action="write", job_id=job, data="x" * 10_000_000, timeout_ms=300)
    assert 0 < answer["bytes_written"] < 1_000_000
    assert f"{answer['bytes_written']} of 10000000 bytes" in answer["warnings"][0]
    assert cli.ok("status", job)["supervised"]
    cli.ok("kill", job, "--grace-ms", "0")


# --- attach ----------------------------------------------------------------------------------------------------------


def person(job: str, *flags: str, cols: int = 90, rows: int = 25, through: tuple[str, ...] = ()) -> Terminal:
    """A person at a terminal, with `outlive attach`."""
    return Terminal("attach", job, *flags, cols=cols, rows=rows, program=(*through, *OUTLIVE))


def test_a_person_and_a_model_share_one_terminal(cli: Cli) -> None:
    job = start(cli, "--", "bash", "--norc", "-i")["job_id"]
    with person(job) as one, person(job, "--read-only") as two:
        one.until("Ctrl-] d")
        two.until("watching")
        one.type(b"stty size; echo from-the-pers''on\r")
        one.until("from-the-person")
        two.until("from-the-person")
        sees(cli, job, "25 90")  # its size is the person's
        cli.ok("send-keys", job, "--literal", "echo from-the-mod''el", "Enter")
        one.until("from-the-model")
        two.type(b"echo ne''ver\r")
        one.resize(70, 20)
        until(lambda: cli.ok("screen", job)["cols"] == 70, what="the size that follows")
        one.type(b"\x1dd")
        assert one.status() == 0
        assert b"goes on" in one.seen
        assert (cli.ok("screen", job)["cols"], cli.ok("status", job)["state"]) == (120, "running")
        assert "never" not in screen(cli, job)
        cli.ok("send-keys", job, "--literal", "exit 3", "Enter")
        assert two.status() == 0
        assert b"exited with code 3" in two.seen
    assert ended(cli, job)["exit_code"] == 3


def test_a_size_is_followed_also_without_a_signal(cli: Cli) -> None:
    """The kernel signals only the foreground process group of a terminal, and attach may be in another one."""
    job = start(cli, "--", "bash", "--norc", "-i")["job_id"]
    with person(job, through=("setsid", "-w")) as one:
        one.until("Ctrl-] d")
        one.resize(70, 20)
        until(lambda: cli.ok("screen", job)["cols"] == 70, what="the size that follows")
    cli.ok("kill", job, "--grace-ms", "0")


def test_one_person_holds_the_keyboard_and_another_takes_it(cli: Cli) -> None:
    job = start(cli, "--", "bash", "--norc", "-i")["job_id"]
    with person(job) as one:
        one.until("attached to")
        held = cli.ok("status", job)["keyboard"]
        assert held["held_by"].endswith("(outlive attach)")
        assert "type nothing" in cli.ok("screen", job)["hint"]
        with person(job, cols=70, rows=20) as two:
            two.until("(outlive attach) types; Ctrl-] k takes the keyboard")
            two.type(b"echo nev''er\r")
            two.type(b"\x1dk")
            two.until("the keyboard is yours")
            one.until("(outlive attach) types; Ctrl-] k takes the keyboard")
            assert cli.ok("screen", job)["cols"] == 70
            one.type(b"echo too-la''te\r")
            two.type(b"echo ye''s\r")
            sees(cli, job, "yes")
            assert cli.ok("status", job)["keyboard"] != held
            two.type(b"\x1dd")
            assert two.status() == 0
        assert "keyboard" not in cli.ok("status", job)
        one.type(b"echo fr''ee\r")  # the keyboard is free: the first key takes it
        sees(cli, job, "free")
        shown = screen(cli, job)
        assert "never" not in shown and "too-late" not in shown
        one.kill()  # its keyboard ends with it
        until(lambda: "keyboard" not in cli.ok("status", job), what="the keyboard that is free")
    cli.ok("kill", job)


def test_a_model_is_told_that_a_person_holds_the_keyboard(cli: Cli) -> None:
    job = start(cli, "--", "cat")["job_id"]
    with person(job) as typist:
        typist.until("attached to")
        for action in ("status", "screen", "poll"):
            found = cli.ok(action, job)
            assert found["keyboard"]["held_by"].endswith("(outlive attach)")
            assert "type nothing" in found["hint"]
        assert "holds the keyboard" in cli.ok("write", job, "--data", "x\n")["warnings"][0]
        typist.type(b"\x1dd")
        assert typist.status() == 0
    assert "warnings" not in cli.ok("write", job, "--data", "x\n")
    cli.ok("kill", job)


def test_what_a_job_prints_asks_nothing_of_the_terminal_of_a_person(cli: Cli, work: Path) -> None:
    (work / "asks").write_bytes(
        b"\x1b]52;c;cHduZWQ=\x07\x1b]4;1;?\x07\x1b[21t\x05\xc2\x9b6n\x1b[32mgreen\x1b[0m \x1b]2;the title\x07all of it\n"
    )
    job = start(cli, *BASH, "read -rs; cat asks; read -rs; cat asks")["job_id"]
    with person(job) as user:
        user.until("Ctrl-] d")
        user.type(b"\r")  # shown as it comes
        user.until("all of it")
        waits(cli, job)
    with person(job) as other:  # painted, and then shown as it comes
        other.until("all of it")
        other.type(b"\r")
        assert other.status() == 0
    for seen in (user.seen, other.seen):
        assert b"\x1b]2;the title\x07" in seen
        assert b"\x1b[32m" in seen
        assert not [bad for bad in (b"cHduZWQ", b"]4;1", b"[21t", b"\x05", b"\xc2\x9b", b"6n") if bad in seen]


def test_attach_works_in_a_directory_that_was_deleted(cli: Cli, work: Path) -> None:
    job = start(cli, "--", "cat")["job_id"]
    gone = work / "gone"
    gone.mkdir()
    with person(job, through=("sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', str(gone))) as user:
        user.until("Ctrl-] d")
        user.type(b"\x1dd")
        assert user.status() == 0
    cli.ok("remove", job)


def test_a_password_that_a_person_types_is_nowhere_on_disk(cli: Cli) -> None:
    job = start(cli, *BASH, 'read -rs -p "Password: " word; echo; echo "${#word} characters"')["job_id"]
    with person(job) as user:
        user.until("Password:")
        user.type(b"Pa55word-of-a-person\r")
        assert user.status() == 0
        assert b"20 characters" in user.seen
    stored = b"".join(trees.contents(cli.root / job).values())
    assert b"Pa55word" not in stored


def test_attach_needs_terminals_on_both_sides(cli: Cli) -> None:
    job = cli.ok("run", "--stdin", "open", "--snapshot-after", "0", "--", "cat")["job_id"]
    cli.error("attach", job, code="invalid_argument")
    with person(job) as user:
        assert user.status() == 1
        assert b"runs without a terminal" in user.seen
    cli.ok("kill", job)


# --- attach to a job that waits for approval -------------------------------------------------------------------------


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


DRAWS = """
import select, sys, tty
tty.setraw(0)
for n in range(14):
    print(f"\\x1b[H{n} lines of a table", end="\\x1b[J", flush=True)
    select.select([0], [], [], 0.5)
print("\\x1b[H\\x1b[JPress a key:", end=" ", flush=True)
select.select([0], [], [])
"""


@pytest.mark.slow
def test_a_program_that_draws_the_screen_waits_only_when_it_stands_still(cli: Cli) -> None:
    """As `top` does: it listens to the keyboard between two drawings."""
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", sys.executable, "-c", DRAWS)["job_id"]
    until(lambda: cli.ok("status", job).get("prompt", "").endswith("Press a key:"))
    asked = [one for one in cli.ok("events", job)["events"] if one["type"] == "waiting_for_input"]
    assert len(asked) <= 3, "one, and hardly another where the machine is so slow that it stands still"
    cli.ok("kill", job, "--grace-ms", "0")
