"""The record of a script that is longer than a word of execve(2) has its beginning and its size."""

from __future__ import annotations

import json
from pathlib import Path

from heart.cli.test_long_scripts import FILLED, run
from outlive import limits
from support.cli import Cli, configured


def test_the_audit_record_has_no_part_of_a_secret_that_the_beginning_ends_with(
    cli: Cli, work: Path, place: Path
) -> None:
    configured(place, '[audit]\nto = "file"\n')
    text = f": {'y' * (limits.SCRIPT_CHARS - 10)} tokenvalue\n{FILLED}"
    run(cli, work, text, "--env", "KEY=tokenvalue", "--mask", "KEY")
    (entry,) = [entry for entry in cli.ok("audit")["entries"] if entry["verb"] == "run"]
    assert entry["command"][0].endswith("y ***") and entry["command_cut"]


def test_the_record_of_a_long_script_has_its_beginning_and_its_size(cli: Cli, work: Path, place: Path) -> None:
    configured(place, '[audit]\nto = "file"\n')
    text = f"echo begun\n{FILLED}exit 1"
    run(cli, work, text)
    (entry,) = [entry for entry in cli.ok("audit")["entries"] if entry["verb"] == "run"]
    assert (entry["command"], entry["command_bytes"]) == ([text[: limits.SCRIPT_CHARS]], len(text))
    assert len(json.dumps(entry)) < 10_000
