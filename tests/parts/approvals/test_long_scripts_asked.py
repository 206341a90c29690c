"""A script that is longer than a word of execve(2) is asked about, and an approval is of all of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from heart.cli.test_long_scripts import FILLED, put
from outlive.parts.policy import commands_in
from outlive.system import scripts
from support.cli import Cli, configured

RULES = """
[policy]
default = "allow"
ask_timeout = "1h"

[[policy.rule]]
prefix = ["echo"]
decision = "allow"

[[policy.rule]]
prefix = ["rm"]
decision = "deny"
"""


@pytest.mark.usefixtures("system_path")
def test_a_long_script_is_asked_about_and_an_approval_is_of_all_of_it(cli: Cli, work: Path, place: Path) -> None:
    configured(place, RULES)
    lines = "echo a\n" * 20_000
    script = str(put(work, lines + "echo b"))
    asked = cli.ok("run", "--snapshot-after", "0", "--script", script)
    assert asked["approval"]["state"] == "pending" and "131,071 bytes" in asked["approval"]["reason"]
    checked = cli.ok("policy", "check", "echo a")
    assert checked["decision"] == "allow"
    approved = cli.ok("approve", asked["job_id"], "--always")
    facts = [(fact["label"], fact["value"]) for fact in approved["approval"]["facts"]]
    digest = hashlib.sha256((lines + "echo b").encode()).hexdigest()
    assert ("Command", f"140,006 bytes, SHA-256 {digest}") in facts
    assert facts[0] == ("Command, line 1 of 286", "echo a") and len(facts) < 320
    assert approved["command_bytes"] == 140_006
    assert cli.ok("policy", "list")["approvals"][0]["command_bytes"] == 140_006
    assert cli.ok("wait", asked["job_id"])["exit_code"] == 0
    assert cli.ok("run", "--wait", "--script", script)["exit_code"] == 0  # always
    put(work, lines + "echo c")
    assert cli.ok("run", "--snapshot-after", "0", "--script", script)["approval"]["state"] == "pending"


def test_a_script_that_was_changed_after_the_question_is_not_run(cli: Cli, work: Path, place: Path) -> None:
    configured(place, RULES)
    script = str(put(work, FILLED + "touch good"))
    job = cli.ok("run", "--snapshot-after", "0", "--script", script)["job_id"]
    (cli.root / job / "script").write_text(FILLED + "touch evil")
    message = cli.error("approve", job, code="launch_failed")["message"]
    assert message == f"while starting the command: {scripts.CHANGED}"
    for found in (cli.ok("wait", job), cli.ok("status", job)):
        assert (found["state"], found["reason"], found["message"]) == ("failed", "launch", scripts.CHANGED)
    assert [one.name for one in work.iterdir()] == ["script.sh"]


def test_a_string_that_is_too_long_is_not_split() -> None:
    for words, whole in ((["echo a\n" * 20_000], True), (["echo a"], False)):
        (command,) = commands_in.commands(words, ["/bin/sh", "-c"], whole=whole)
        assert command.unread == "it is longer than 131,071 bytes"
