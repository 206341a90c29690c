"""What real clients show to a model. CONTRIBUTING.md has the command that measures all five."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from clients.row import measured, ran_with_clients
from clients.script import SCRIPTS
from outlive import config
from outlive.mcp.tools import listing
from outlive.parts.clients.registry import CLIENTS
from support.codex_schema import normalised

pytestmark = pytest.mark.slow
RUN_S = 400


@pytest.fixture
def shown(request: pytest.FixtureRequest, place: Path) -> dict[str, Any]:
    """What was measured in the client that the test is parametrized with."""
    return measured(request.param, place, run_s=RUN_S)


def told(name: str, sessions: str, place: Path) -> dict[str, dict[str, str]]:
    """Return what the model was shown in these sessions, by script and step."""
    found = place / "told.json"
    command = [sys.executable, str(Path(__file__).parent), name, "--sessions", sessions, "--json", str(found)]
    ran_with_clients(command, 2 * RUN_S)
    row: dict[str, dict[str, str]] = json.loads(found.read_text(encoding="utf-8"))[0]
    for script in sessions.replace("+", "/").split("/"):
        assert list(row[script]) == [step.name for step in SCRIPTS[script]], "the client did not come to the end"
    return row


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_a_session_after_a_killed_server_goes_on_with_its_job(name: str, place: Path) -> None:
    found = told(name, "lose/find", place)
    assert "begun" in found["lose"]["start"]
    assert "running" in found["find"]["list"]
    assert "over" in found["find"]["wait"]
    assert re.search(r"\b4\b", found["find"]["wait"])


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_of_two_sessions_at_once_the_one_that_started_a_job_is_told_of_its_end(name: str, place: Path) -> None:
    found = told(name, "fails+other", place)
    assert "of-first" in found["fails"]["next"]
    assert "of-first" not in "".join(found["other"].values())
    assert "I am second" in found["other"]["first"]


def check_what_is_shown(shown: dict[str, Any], quick: int) -> None:
    """At most `quick` characters for 24 of output, 18,000 for 5,000 lines, and of 60 lines of 1 kB how they ended; an alias is no
    error."""
    steps = shown["shown"]
    assert steps["quick"]["characters"] <= quick
    assert "hello from outlive" in steps["quick"]["text"]
    assert steps["lines"]["characters"] <= 18_000
    assert steps["failing"]["exit_code"]
    assert steps["failing"]["stderr"]
    assert "tick" in steps["alias"]["text"]
    assert "killed" in steps["kill"]["text"]
    assert not shown["meta"]


@pytest.mark.parametrize("shown", ["codex"], indirect=True)
def test_codex_shows_its_model_every_description_and_short_answers(shown: dict[str, Any]) -> None:
    tools = listing.tools(("exec", "process"), config.load({}))
    assert shown["schemas"] == {tool["name"]: normalised(tool["inputSchema"]) for tool in tools}
    check_what_is_shown(shown, quick=150)


@pytest.mark.parametrize("shown", ["codex-code"], indirect=True)
def test_codex_in_its_code_mode_shows_its_model_short_answers(shown: dict[str, Any]) -> None:
    check_what_is_shown(shown, quick=150)


@pytest.mark.parametrize("shown", ["claude"], indirect=True)
def test_claude_code_shows_its_model_both_tools_and_short_answers(shown: dict[str, Any]) -> None:
    assert set(shown["schemas"]) == {"exec", "process"}
    check_what_is_shown(shown, quick=60)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_end_a_port_and_a_question_are_waited_for_in_one_call(name: str) -> None:
    """A twentieth of the times of docs/how-to/wait-as-an-agent.md."""
    words = [sys.executable, str(Path(__file__).with_name("waiting.py")), name, "--part", "0.05"]
    cases = ("job", "port", "prompt")
    alone = [word for case in cases for word in ("--case", case)]
    printed = ran_with_clients([*words, *alone], 2 * RUN_S)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()[2:]]
    assert [row[:4] for row in rows] == [[name, case, "1", "0"] for case in cases]
    for *_, characters, sent, late in rows:
        assert int(sent.replace(",", "")) > int(characters.replace(",", "")), "an answer is sent to the model once"
        assert late != "never"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "openclaw"])
def test_a_server_gets_the_variables_that_the_page_of_the_client_says(name: str, place: Path) -> None:
    client = CLIENTS["claude-code" if name == "claude" else name]
    seen = told(name, "environment", place)["environment"]["seen"]
    assert f"outside={'1' if client.passes is None else ''}." in seen


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "openclaw"])
def test_what_the_page_of_a_client_gives_to_try_it_leads_to_a_job(name: str, place: Path) -> None:
    words = [sys.executable, str(Path(__file__).parent), name, "--page"]
    found = place / "told.json"
    ran_with_clients([*words, "--json", str(found)], RUN_S)
    shown = json.loads(found.read_text(encoding="utf-8"))[0]["page"]
    assert re.search(r"(?:\\n|\b)done\b", shown["wait"]), shown  # some show JSON
