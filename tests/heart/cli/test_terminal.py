"""Jobs with a terminal, and jobs that ask: driven as a model or a person drives them."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from support import pair
from support.cli import Cli
from support.in_terminal import BASH, ended, start, waits
from support.jobs import job_ids
from support.wait import until

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


def test_an_end_in_the_middle_of_a_line_ends_the_reader_and_keeps_the_terminal(cli: Cli) -> None:
    job = start(cli, "cat; echo; echo again; cat")["job_id"]
    answer = cli.ok("write", job, "--data", "abc", "--eof")
    assert (answer["bytes_written"], answer["stdin"]) == (3, "open")
    until(lambda: "again" in cli.ok("poll", job)["output"], what="the second reader")
    waits(cli, job)
    cli.ok("write", job, "--data", "more\n")
    cli.ok("write", job, "--eof")
    assert "more\nmore\n" in ended(cli, job)["output"]


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


# --- bad input -------------------------------------------------------------------------------------------------------


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
