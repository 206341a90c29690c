"""OUTLIVE_HUMAN, and the hint that tells of it once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import Cli
from support.terminal import Terminal

HINT = "OUTLIVE_HUMAN=1"
PERSON: dict[str, str | None] = {"OUTLIVE_HUMAN": None, "CI": None}


def printed(*words: str, env: dict[str, str | None]) -> str:
    with Terminal(*words, env=env) as terminal:
        terminal.status()
        return terminal.text()


def test_a_person_is_told_once_that_text_can_be_the_default(cli: Cli, place: Path) -> None:
    first, second = printed("list", env=PERSON), printed("list", env=PERSON)
    answer, hint = first.splitlines()
    assert json.loads(answer)["ok"]
    assert HINT in hint
    assert HINT not in second
    assert [path.name for path in (place / "home/.local/state/outlive").iterdir()] == ["human-hint"]


@pytest.mark.parametrize("env", [{"OUTLIVE_HUMAN": "0"}, {"OUTLIVE_JOB_ID": "x"}, {"CI": "1"}])
def test_a_program_on_a_terminal_is_not_told(cli: Cli, place: Path, env: dict[str, str | None]) -> None:
    assert HINT not in printed("list", env={**PERSON, **env})
    assert not (place / "home/.local/state/outlive").exists()


def test_a_hint_that_cannot_be_remembered_is_not_given(cli: Cli, place: Path) -> None:
    (place / "home/.local").mkdir(parents=True, exist_ok=True)
    (place / "home/.local/state").write_text("")
    assert HINT not in printed("list", env=PERSON)


def test_text_is_the_default_on_a_terminal_where_it_is_wanted(cli: Cli) -> None:
    cli.ok("run", "--wait", "true")
    text = printed("list", env={"OUTLIVE_HUMAN": "1"})
    assert text.startswith("\x1b[1mJOB")
    assert printed("list", env={"OUTLIVE_HUMAN": "no"}).startswith("{")
    assert "error: " in printed("status", "no-such-job", env={"OUTLIVE_HUMAN": "yes"})


def test_a_pipe_gets_json_whatever_the_environment_wants(cli: Cli) -> None:
    assert cli.ok("list", env={"OUTLIVE_HUMAN": "1"})["jobs"] == []
