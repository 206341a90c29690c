"""`outlive inbox`: what waits for a person, as one object for a script, and answered in place at a terminal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.cli import Cli, Jobs, configured
from support.mcp_client import McpSession
from support.preloaded import OUTLIVE
from support.terminal import CTRL_C, Terminal
from support.tiers import ONE_ERA

RULES = '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\nreason = "because"\n'
RULES += '[[policy.rule]]\nunknown = true\ndecision = "allow"\n'  # a program in a word is not known
ASKS = (
    "python3",
    "-c",
    "import getpass; print('hello', input('Name\\u202e? ')); print(len(getpass.getpass('Word: ')), 'letters')",
)
CTRL_D = b"\x04"
NAMESPACE = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"]


@pytest.fixture
def config(place: Path) -> Path:
    return configured(place, RULES)


def pending(cli: Cli, *words: str) -> str:
    return str(cli.ok("run", "--snapshot-after", "0", "--", "touch", *words)["job_id"])


def asking(cli: Cli, *command: str, title: str = "ask") -> str:
    words = ("--pty", "--until", "input", "--title", title, "--", *(command or ASKS))
    found = cli.ok("run", *words)
    assert found["waiting_for_input"]
    return str(found["job_id"])


def test_each_question_has_its_exact_words_and_says_where_and_since_when(
    cli: Cli, jobs: Jobs, config: Path, work: Path
) -> None:
    assert cli.ok("inbox")["questions"] == []
    command = pending(cli, "main; rm -rf", "/tmp/x\u202e y")
    prompt = asking(cli)
    cli.ok("run", "--wait", "true")
    found = cli.ok("inbox", cwd="/")
    first, second = found["questions"]
    assert (first["job_id"], first["kind"], first["cwd"]) == (command, "approval", str(work))
    assert first["question"] == r"touch 'main; rm -rf' $'/tmp/x\u202e y'"
    assert first["approval"]["rule"] == "rule 1 (touch)" and first["approval"]["facts"][0]["value"] == first["question"]
    assert first["since"] == cli.ok("status", command)["created_at"] < second["since"]
    assert (second["job_id"], second["kind"], second["question"]) == (prompt, "input", r"Name\u202e?")
    assert second["echo"] is True
    assert "outlive approve" in found["hint"]
    shown = cli.text("inbox", "--human").stdout
    assert r"May it run?: touch 'main; rm -rf' $'/tmp/x\u202e y'" in shown and r"It asks: Name\u202e?" in shown
    assert "\u202e" not in shown and f"Directory: {work}" in shown
    jobs.end()
    assert cli.text("inbox", "--human").stdout == "Nothing waits for you.\n"


def test_a_person_answers_one_question_after_the_other(cli: Cli, jobs: Jobs, config: Path, work: Path) -> None:
    allowed, denied, always = pending(cli, "a"), pending(cli, "b"), pending(cli, "c")
    asks = asking(cli)
    with Terminal("inbox", cols=120, rows=60) as person:
        person.until("[4 left]")
        person.until("Command: touch a\n")
        person.until("Enter: later] ")
        person.type(b"allow go ahead\n")
        person.until(f"[job {allowed[-8:]} approved]")
        person.until("Command: touch b\n")
        person.type(b"n not now\n")
        person.until(f"[job {denied[-8:]} denied]")
        person.until("Command: touch c\n")
        person.type(b"always\n")
        person.until(r"It asks: Name\u202e?")
        person.until("^D: stop): ")
        person.type(b"Ada\n")
        person.until("  | hello Ada\n")
        person.until("It hides what is typed")
        person.until("Word:\n", "^D: stop): ")
        person.type(b"secret\n")
        person.until("  | 6 letters\n")
        person.until("Nothing waits for you any more.\n")
        assert person.status() == 0
        assert "secret" not in person.text()
    assert cli.ok("status", allowed)["approval"]["answer"] == "go ahead"
    assert cli.ok("status", denied)["message"].endswith("(outlive inbox): not now; it never ran")
    assert [one["command"] for one in cli.ok("policy", "list")["approvals"]] == [["touch", "c"]]
    assert cli.ok("wait", always)["exit_code"] == 0
    assert cli.ok("wait", asks)["exit_code"] == 0
    assert {path.name for path in work.iterdir()} == {"a", "c"}
    jobs.end()


def test_enter_leaves_a_question_for_later_and_the_end_of_the_input_leaves_all(
    cli: Cli, jobs: Jobs, config: Path
) -> None:
    first, second = pending(cli, "a"), asking(cli)
    with Terminal("inbox") as person:
        person.until("Enter: later] ")
        person.type(b"\n")
        person.until(f"[job {first[-8:]} still waits]")
        person.until("^D: stop): ")
        person.type(b"\n")
        person.until("2 questions wait for later.\n")
        assert person.status() == 0
    for keys, status in ((CTRL_D, 0), (CTRL_C, 130)):
        with Terminal("inbox") as person:
            person.until("Enter: later] ")
            person.type(keys)
            assert person.status() == status
    assert [one["job_id"] for one in cli.ok("inbox")["questions"]] == [first, second]
    jobs.end()


def test_a_line_typed_ahead_answers_no_question_that_was_not_shown(cli: Cli, jobs: Jobs, config: Path) -> None:
    first, second = pending(cli, "a"), pending(cli, "b")
    with Terminal("inbox") as person:
        person.until("Enter: later] ")
        person.type(b"y\ny\ny\n")
        person.until("Command: touch b\n")
        person.until("[1 left]")
        person.type(CTRL_D)
        assert person.status() == 0
    assert cli.ok("status", first)["approval"]["state"] == "approved"
    assert cli.ok("status", second)["approval"]["state"] == "pending"
    jobs.end()


def test_a_line_answers_only_the_question_that_was_read(cli: Cli, jobs: Jobs) -> None:
    """A job that changes its prompt while a person reads gets nothing."""
    script = 'read -p "Colour? " a; read -p "Delete all? " b; echo "$a $b"'
    job = asking(cli, "bash", "-c", script)
    with Terminal("inbox") as person:
        person.until("It asks: Colour?")
        person.until("^D: stop): ")
        assert cli.ok("submit", job, "--text", "red", "--wait-ms", "10s")["prompt"] == "Delete all?"
        person.type(b"yes\n")
        person.until("[it does not ask this any more: nothing was typed]")
        person.until("It asks: Delete all?")
        person.until("^D: stop): ")
        person.type(b".\n")  # an empty line
        person.until("  | red \n")
        person.until("Nothing waits for you any more.\n")
        assert person.status() == 0
    jobs.end()


@pytest.mark.fault("F70")
def test_output_cannot_look_like_a_question_of_ours(cli: Cli, jobs: Jobs) -> None:
    evil = r'printf "\033[2J\033]0;x\007[1 left]\nMay it run?: true\n"; read -p "OK? " a'
    asking(cli, "bash", "-c", evil, title="\x1b[31mred")
    with Terminal("inbox", cols=120) as person:
        person.until("^D: stop): ")
        seen = person.text()
        person.type(CTRL_D)
        assert person.status() == 0
    assert "  | May it run?: true\n" in seen and "\nMay it run?: true" not in seen
    assert "\x1b" not in seen and "\x07" not in seen
    jobs.end()


def _in_job(cli: Cli, words: str) -> str:
    job = cli.ok("run", "--pty", "--wait", "--timeout", "60s", words)["job_id"]
    return str(cli.text("log", "--human", job).stdout)


def test_a_job_answers_no_question(cli: Cli, jobs: Jobs, place: Path) -> None:
    asks = asking(cli)
    refused = "a job neither approves nor denies"
    assert refused in _in_job(cli, f"{' '.join(OUTLIVE)} inbox")
    # Nor one that hides its environment and its supervisor
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0:
        alone = "env -i HOME=$HOME PATH=$PATH OUTLIVE_ROOT=$OUTLIVE_ROOT"
        seen = _in_job(cli, f"{' '.join(NAMESPACE)} {alone} {' '.join(OUTLIVE)} inbox")
        assert "another pid namespace" in seen and refused in seen
    assert [one["job_id"] for one in cli.ok("inbox")["questions"]] == [asks]
    jobs.end()


@ONE_ERA
def test_a_model_is_not_offered_the_inbox(shared_session: McpSession) -> None:
    for name in ("inbox", "INBOX", "in_box"):
        shared_session.error("process", action=name, code="invalid_argument")
