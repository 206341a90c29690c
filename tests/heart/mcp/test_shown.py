"""What a client gets of an answer: text, the object, or both, as its name or `--answers` says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from outlive.mcp import shown
from support.mcp_client import RawMcp

RawConnect = Callable[..., RawMcp]
TEXT_ALONE = ("claude-code", "codex-mcp-client", "openclaw-bundle-mcp")
ERAS = {"claude-code": "modern", "openclaw-bundle-mcp": "legacy"}


def listed(raw: RawMcp) -> list[bool]:
    return ["outputSchema" in tool for tool in raw.request("tools/list")["tools"]]


def sent(raw: RawMcp, tool: str, **given: Any) -> tuple[str, Any]:
    """The text and the structured content of an answer."""
    result = raw.request("tools/call", {"name": tool, "arguments": given})
    (part,) = result["content"]
    return part["text"], result.get("structuredContent")


@pytest.mark.parametrize("name", TEXT_ALONE)
def test_a_client_that_shows_the_object_in_place_of_the_text_gets_the_text_alone(name: str) -> None:
    assert shown.answers_of(name) == "text"
    assert not shown.has_output_schema(name)
    assert shown.has_output_schema(name, "both")


@pytest.mark.parametrize("name", ["opencode", "gemini-cli-mcp-client-outlive", "Visual Studio Code", "", None])
def test_every_other_client_gets_both(name: str | None) -> None:
    assert shown.answers_of(name) == "both"
    assert shown.has_output_schema(name)
    assert not shown.has_output_schema(name, "text")


def test_gemini_cli_which_shows_all_of_a_failed_call_gets_an_error_once(raw_mcp: RawConnect) -> None:
    raw = raw_mcp(client_name="gemini-cli-mcp-client-outlive")
    words, nothing = sent(raw, "process", action="poll")
    assert words.startswith("invalid_argument: process poll needs job_id") and nothing is None
    assert sent(raw, "exec", command="exit 3")[1]["exit_code"] == 3
    assert shown.error_of("gemini-cli-mcp-client-outlive", "both") == shown.error_of("opencode") == "both"


@pytest.mark.parametrize("name", ["codex-mcp-client", "opencode"])
def test_the_object_is_in_meta_where_the_text_is_all_and_no_model_was_seen_to_get_it(
    raw_mcp: RawConnect, name: str
) -> None:
    raw = raw_mcp(client_name=name, args=("--answers", "text"))
    result = raw.request("tools/call", {"name": "exec", "arguments": {"command": "echo hello; exit 3"}})
    assert "structuredContent" not in result
    answer = result.get("_meta", {}).get(shown.ANSWER)
    assert (answer and (answer["exit_code"], answer["output"])) == ((3, "hello\n") if name != "opencode" else None)


@pytest.mark.parametrize("name", ["claude-code", "openclaw-bundle-mcp"])
def test_text_alone_says_all_that_there_is_to_act_on(raw_mcp: RawConnect, name: str) -> None:
    raw = raw_mcp(client_name=name, era=ERAS[name])
    assert listed(raw) == [False, False]
    assert sent(raw, "exec", command="echo 23 characters of output") == ("rc=0\n\n23 characters of output", None)
    words, nothing = sent(raw, "exec", command="echo no; exit 3")
    assert nothing is None and re.fullmatch(r"Command exited with code 3 \(job [0-9A-Z]{8}\)\n\nno", words)
    wrong, nothing = sent(raw, "process", action="log", job_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert (wrong.partition(":")[0], nothing) == ("job_not_found", None)
    assert "list" in wrong, "the hint too"
    full, nothing = sent(raw, "process", action="list", detail="full")
    assert nothing is None
    (entry,) = [json.loads(line) for line in full.splitlines() if line.startswith("{")]
    assert {job["exit_code"] for job in entry["jobs"]} == {0, 3}
    assert entry["schema_version"] == "0.1"


def test_openclaw_reads_its_own_name_of_an_id(raw_mcp: RawConnect) -> None:
    raw = raw_mcp(client_name="openclaw-bundle-mcp")
    words, _ = sent(raw, "exec", command="sleep 60", background=True)
    assert words.startswith("Command still running (sessionId 01")
    job = words.partition("sessionId ")[2][:26]
    assert sent(raw, "process", action="remove", sessionId=job)[0].startswith(f"Removed sessionId {job};")


@pytest.mark.parametrize(("answers", "name"), [("json", "claude-code"), ("both", "claude-code"), ("text", "tests")])
def test_an_option_wins_over_the_name(raw_mcp: RawConnect, answers: str, name: str) -> None:
    raw = raw_mcp(client_name=name, args=("--answers", answers))
    assert listed(raw) == [answers != "text"] * 2
    words, found = sent(raw, "exec", command="echo out")
    assert (found is None) == (answers == "text")
    if answers == "json":
        assert json.loads(words) == found
    else:
        assert words == "rc=0\n\nout"


def test_a_masked_value_is_masked_in_what_the_job_prints_and_the_text_says_so(raw_mcp: RawConnect) -> None:
    words, found = sent(raw_mcp(), "exec", command="echo $TOKEN", env={"TOKEN": "secret"}, mask=["TOKEN"])
    said, _, output = words.partition("\n\n")
    assert said == "rc=0\nmask: if the job prints TOKEN, it is shown as ****; the log file has it as it is."
    assert output == found["output"].strip() == "******"


def test_an_answer_names_the_sandbox_that_its_job_ran_in(raw_mcp: RawConnect) -> None:
    words, _ = sent(raw_mcp(client_name="claude-code"), "exec", command="echo out", sandbox="read-only", network="none")
    if words.startswith("sandbox_unavailable"):
        pytest.skip("no sandbox can be made here")
    assert words == "rc=0\nsandbox: read-only, network none\n\nout"
