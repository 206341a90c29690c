"""The fake model follows its script over each API, and finds the tools that a client hides."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from clients.apis import CALL, RESULT, USER, Call, Tool, Turn
from clients.model import Model, decide, steps_done
from clients.script import PROMPT, SCRIPTS, STEPS, prompt, waiting

EXEC: dict[str, Any] = {"name": "mcp__outlive__exec", "description": "Run.", "parameters": {"type": "object"}}
QUICK = STEPS[0].args["command"]
ASKED: dict[str, dict[str, Any]] = {
    "/v1/messages": {
        "messages": [{"role": "user", "content": PROMPT}],
        "tools": [{"name": EXEC["name"], "input_schema": EXEC["parameters"]}],
    },
    "/v1/responses": {
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]}],
        "tools": [{"type": "namespace", "name": "mcp__outlive", "tools": [{**EXEC, "name": "exec"}]}],
    },
    "/v1/chat/completions": {
        "messages": [{"role": "user", "content": PROMPT}],
        "tools": [{"type": "function", "function": EXEC}],
    },
    "/v1beta/models/any:streamGenerateContent": {
        "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
        "tools": [{"functionDeclarations": [EXEC]}],
    },
}


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("stream", [True, False])
def test_the_first_step_is_called_over_each_api(path: str, stream: bool, place: Path) -> None:
    address = path if stream else path.replace("streamG", "g")
    body: dict[str, Any] = {**ASKED[path], "stream": stream}
    with Model(place) as model:
        request = urllib.request.Request(model.url + address, json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
    assert "hello from outlive; uname -s" in text
    assert ("data: " in text) is stream
    assert [json.loads(path.read_text(encoding="utf-8")) for path in place.glob("001-*.json")] == [body]


def test_a_job_is_named_by_the_last_id_that_was_shown() -> None:
    tools = [Tool("mcp__outlive__exec", "", {}), Tool("mcp__outlive__process", "", {})]
    turns = [Turn(USER, PROMPT)]
    for number, _ in enumerate(STEPS[:4]):
        turns += [Turn(CALL, "{}", "mcp__outlive__exec"), Turn(RESULT, f"job 01M81J7A8A1DDPC62P83HBDVY{number}")]
    assert decide(turns, tools).args["sessionId"] == "01M81J7A8A1DDPC62P83HBDVY3"


def test_a_script_of_waiting_ends_when_the_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCRIPTS, "job", waiting(1)["job"])
    tools = [Tool("mcp__outlive__exec", "", {}), Tool("mcp__outlive__process", "", {})]
    turns = [Turn(USER, prompt("job")), Turn(CALL, "{}", "mcp__outlive__exec")]
    still = Turn(RESULT, "Command still running (job 01M81J7A8A1DDPC62P83HBDVY0, pid 7).")
    assert decide([*turns, still], tools).args["job_id"] == "01M81J7A8A1DDPC62P83HBDVY0"
    assert decide([*turns, Turn(RESULT, '"rc=0\\n\\nbuilt"')], tools).text == "All steps are done."


def test_a_search_for_tools_is_no_step() -> None:
    turns = [Turn(USER, PROMPT), Turn(CALL, "{}", "ToolSearch"), Turn(RESULT, "found")]
    assert steps_done(turns) == []
    found = decide(turns, [Tool("mcp__outlive__exec", "", {}), Tool("ToolSearch", "", {})])
    assert (found.name, found.args["command"]) == ("mcp__outlive__exec", QUICK)


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (("ToolSearch",), ["ToolSearch"]),
        (("tool_search", "tool_describe", "tool_call"), ["tool_search", "tool_describe", "tool_call"]),
        (("tool_search", "exec_command"), ["tool_search", "exec_command", "tool_search"]),
    ],
)
def test_tools_that_a_client_hides_are_searched_for(names: tuple[str, ...], called: list[str]) -> None:
    turns, found = [Turn(USER, PROMPT)], []
    for _ in called:
        call = decide(turns, [Tool(name, "", {}) for name in names])
        found.append(call.name)
        turns += [Turn(CALL, json.dumps(call.args), call.name), Turn(RESULT, "nothing")]
    assert found == called


def test_a_request_for_a_title_is_answered_with_a_word() -> None:
    assert decide([Turn(USER, "Make a title.")], [Tool("mcp__outlive__exec", "", {})]) == Call()
