"""What a program says to what is typed comes with the answer to the call that types it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.cli import Cli
from support.mcp_client import McpSession
from support.wait import until

pytestmark = pytest.mark.parametrize("era", ["modern"], indirect=True)
LONG_MS = 40_000  # a call that is woken ends long before


@pytest.fixture
def session(shared_session: McpSession) -> McpSession:
    return shared_session


def asks(session: McpSession, command: str, **how: object) -> str:
    """Start a job, and return its id when it waits for input."""
    found = session.ok("exec", command=command, yield_ms=LONG_MS, **how)
    assert found["waiting_for_input"], found
    job: str = found["job_id"]
    return job


def test_what_was_not_read_before_the_write_is_shown_and_nothing_is_shown_twice(
    session: McpSession, work: Path
) -> None:
    script = "until [ -e go ]; do sleep 0.1; done; echo early; read -r a; echo got $a; read -r b"
    job = session.ok("exec", command=script, stdin="open", yield_ms=0)["job_id"]
    (work / "go").touch()
    until(lambda: session.call("process", action="status", job_id=job)["waiting_for_input"], what="a question")
    found = session.call("process", action="write", job_id=job, data="x\n", wait_ms=LONG_MS)
    assert (found["since_seq"], found["output"]) == (0, "early\ngot x\n")
    assert session.call("process", action="poll", job_id=job)["output"] == ""


@pytest.mark.parametrize(("how", "output"), [({"pty": True}, "x\n"), ({"stdin": "open"}, "")])
def test_the_echo_of_a_terminal_is_no_reaction(
    session: McpSession, work: Path, how: dict[str, object], output: str
) -> None:
    job = asks(session, "read -r a; until [ -e go ]; do sleep 0.1; done; echo done", **how)
    found = session.call("process", action="write", job_id=job, data="x\n", wait_ms=1_500)
    assert (found["output"], found["state"], found["waiting_for_input"]) == (output, "running", False)
    assert ("echoed" if output else "nothing yet") in found["hint"]
    assert "wait until output" in found.text
    (work / "go").touch()
    found = session.call("process", action="wait", job_id=job, until=["output"], timeout_ms=LONG_MS)
    assert found["output"] == "done\n"


def test_a_long_reaction_is_shortened_and_says_how_to_read_the_rest(session: McpSession) -> None:
    job = asks(session, "read -r a; seq 1 30000", stdin="open")
    found = session.call("process", action="write", job_id=job, data="x\n", wait_ms=LONG_MS, max_bytes=1_000)
    assert len(found["output"]) <= 1_000
    assert found["output"].endswith("\n30000\n")
    assert found["truncated"]["lines"] > 29_000
    assert "shows them" in found.text


def test_the_echo_of_a_shell_that_edits_lines_is_no_reaction(session: McpSession, work: Path) -> None:
    job = asks(session, "bash --norc -i", pty=True)
    typed = "until [ -e go ]; do sleep 0.1; done"
    found = session.call("process", action="submit", job_id=job, text=typed, wait_ms=1_500)
    assert found["output"].strip() == typed
    assert "echoed" in found["hint"]
    (work / "go").touch()
    found = session.call("process", action="submit", job_id=job, text="exit 4", wait_ms=LONG_MS)
    assert found["exit_code"] == 4


def test_a_caller_that_does_not_wait_is_told_no_output(session: McpSession) -> None:
    job = asks(session, "read -r a; echo got $a", stdin="open")
    found = session.call("process", action="write", job_id=job, data="x\n", wait_ms=0)
    assert "output" not in found.result
    assert session.call("process", action="wait", job_id=job, until=["exit"])["output"] == "got x\n"


def test_a_newline_that_was_spelt_out_is_named(session: McpSession, cli: Cli) -> None:
    job = session.ok("exec", command="cat", stdin="open", yield_ms=0)["job_id"]
    told = session.ok("process", action="write", job_id=job, data="Ada\\n")["warnings"]
    assert told == cli.ok("write", job, "--data", "Ada\\n")["warnings"]
    assert "a backslash and an n, not a newline" in told[0]
    assert "warnings" not in session.ok("process", action="write", job_id=job, data="Ada\n")
    session.ok("process", action="kill", job_id=job)


def test_half_a_line_says_that_its_newline_is_missing(session: McpSession) -> None:
    job = asks(session, "read -r a; echo got $a; read -r b", stdin="open")
    half = session.call("process", action="write", job_id=job, data="ab", wait_ms=LONG_MS)
    assert (half["output"], half["waiting_for_input"]) == ("", True)
    assert "no newline at its end" in half["hint"]
    whole = session.call("process", action="write", job_id=job, data="c\n", wait_ms=LONG_MS)
    assert (whole["output"], "hint" in whole.result) == ("got abc\n", False)


@pytest.mark.slow
def test_a_program_that_never_stops_printing_is_answered_all_the_same(session: McpSession) -> None:
    job = asks(session, "read -r a; while :; do echo $a; echo $a; sleep 0.02; done", stdin="open")
    found = session.call("process", action="write", job_id=job, data="tick\n")
    assert found["output"].startswith("tick\ntick\n")
    assert (found["state"], "hint" in found.result) == ("running", False)


@pytest.mark.slow
def test_the_questions_of_npm_are_answered_in_one_call(session: McpSession, work: Path) -> None:
    """Expected is what npm asks; the last questions differ between its versions."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    (work / "new").mkdir()
    started = session.call(
        "exec", command="npm init", pty=True, workdir=str(work / "new"), until=["input"], yield_ms=LONG_MS
    )
    texts = ["called", "2.0.0", "What it is", "", "true", "", "one two"]
    expect = ["package name", "version", "description", "entry point", "test command", "git repository", "keywords"]
    found = session.call(
        "process", action="submit", job_id=started["job_id"], texts=texts, expect=expect, wait_ms=LONG_MS
    )
    assert (found["sent"], found["state"]) == (7, "running"), found.text
    assert "version: (1.0.0) 2.0.0" in found["output"] and found.text.splitlines()[1] == "7 texts sent."
    for _ in range(8):
        if found["state"] == "running":
            found = session.call("process", action="submit", job_id=started["job_id"], wait_ms=LONG_MS)
    made = json.loads((work / "new" / "package.json").read_text())
    assert (made["name"], made["version"], made["description"]) == ("called", "2.0.0", "What it is")
    assert made["keywords"] == ["one", "two"]


def test_a_repaint_that_scrolls_lines_away_is_shown_as_its_text(session: McpSession) -> None:
    paint = r"for n in 1 2; do printf '\033[H\033[2J'; seq 40; done; printf 'go on? '; read -r a"
    found = session.call("exec", command=paint, pty=True, yield_ms=LONG_MS)
    assert found["output"].count("\n7\n") == 2
    assert (found["prompt"], "cursor" in found.result) == ("go on?", False)


def test_what_the_answer_of_a_kill_showed_is_read(shared_session: McpSession) -> None:
    dumps = "trap 'echo dumped; exit 3' TERM; echo up; while :; do sleep 0.05; done"
    job = shared_session.ok("exec", command=["sh", "-c", dumps], until="regex=up")["job_id"]
    assert shared_session.ok("process", action="kill", job_id=job)["output"].endswith("dumped\n")
    assert shared_session.ok("process", action="poll", job_id=job)["output"] == ""


MENU = """
import os, select, tty
tty.setcbreak(0)
print("Pick one:", flush=True)
for number in range(3):
    WAIT
    while (got := os.read(0, 99)) not in (b"\\r", b"\\n"):
        print("took", got.decode(), flush=True)
"""


@pytest.mark.parametrize(
    "wait", ["pass", "select.select([0], [], [])", "select.select([0, os.open('/dev/tty', 0)], [], [])"]
)
def test_what_wait_reports_as_a_prompt_takes_the_texts(session: McpSession, work: Path, wait: str) -> None:
    (work / "menu.py").write_text(MENU.replace("WAIT", wait))
    job = session.ok("exec", command="python3 menu.py", pty=True, yield_ms=0)["job_id"]
    waited = session.ok("process", action="wait", job_id=job, until=["input"], timeout_ms=LONG_MS)
    assert waited["fired"]["condition"] == "input"
    found = session.ok("process", action="submit", job_id=job, texts=["a", "b", "c"])
    assert (found["sent"], found["exit_code"]) == (3, 0), found


READER = """
import os, select, sys, tty
tty.setcbreak(0)
depth = 0
while True:
    print(">>> " if not depth else CONTINUED, end="", flush=True)
    select.select([0, SOCKET], [], [])
    line = ""
    while not line.endswith(("\\r", "\\n")):
        line += os.read(0, 1).decode()
    print(flush=True)
    depth = depth + 1 if line.strip().endswith(":") else depth if depth and line.strip() else 0
    if line.strip() == "exit": break
"""


@pytest.mark.parametrize("continued", ["... ", "| ", "...     ", "   ...: "])
def test_a_prompt_that_goes_on_with_a_statement_takes_the_next_text(
    session: McpSession, work: Path, continued: str
) -> None:
    (work / "reader.py").write_text(READER.replace("CONTINUED", repr(continued)).replace(", SOCKET", ""))
    job = asks(session, "python3 reader.py", pty=True)
    found = session.ok("process", action="submit", job_id=job, texts=["def f():", "    return 7", "", "exit"])
    assert (found["sent"], found["exit_code"]) == (4, 0), found


def test_an_answer_waits_until_it_is_known_whether_the_job_asks(session: McpSession, work: Path) -> None:
    """No sign of a prompt stands at the end of `name`: whether it asks is known after it has stood still."""
    script = "import os, select, tty\ntty.setcbreak(0)\nfor _ in range(3):\n    print('name', end=' ', flush=True)\n"
    (work / "slow.py").write_text(script + "    select.select([0], [], [])\n    os.read(0, 99)\n    print()\n")
    job = asks(session, "python3 slow.py", pty=True)
    found = session.ok("process", action="submit", job_id=job, text="x")
    assert (found["waiting_for_input"], found["prompt"]) == (True, "name")
    session.ok("process", action="kill", job_id=job)
