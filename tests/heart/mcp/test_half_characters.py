"""JavaScript cuts text between the halves of a surrogate pair. Such a message is refused, and says why, over every
transport; a NUL is a failed call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli
from support.mcp_client import MODERN_VERSION, McpRefusal, RawMcp
from support.serve import Served

HALF = "\ud83d"
WRONG: dict[str, Any] = {
    "command": f"touch ran {HALF}",
    "env": {"A": HALF},
    "notify_command": f"cat {HALF}",
    "notify_file": f"/tmp/{HALF}",
    "shell": f"sh -c {HALF}",
    "title": HALF,
    "tags": [HALF],
    "watch": [{"pattern": HALF}],
    "stdin_data": f"{HALF}",
    "workdir": f"/tmp/{HALF}",
    "dedupe_key": "\udc80",
}
NUL = {name: json.loads(json.dumps(value).replace("\\ud83d", "\\u0000")) for name, value in WRONG.items()}

CLIENT = "io.modelcontextprotocol/clientInfo"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    CLIENT: {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _check_refused(result: dict[str, Any], field: str, word: str) -> None:
    assert result["isError"], result
    error = result["structuredContent"]["error"]
    assert (error["code"], error["details"]["field"]) == ("invalid_argument", field), error
    assert word in error["message"]
    assert word in result["content"][0]["text"]


def test_half_a_character_is_no_json_on_stdio(shared_raw: RawMcp, place: Path) -> None:
    for name, value in WRONG.items():
        given = {"command": "touch ran", "detail": "full", name: value}
        with pytest.raises(McpRefusal, match="half a character") as refused:
            shared_raw.request("tools/call", {"name": "exec", "arguments": given}, timeout=20)
        assert refused.value.code == -32700, name
    assert not shared_raw.call("process", action="list", all=True)["jobs"]
    assert shared_raw.call("exec", command="echo 'a whole 😀, \\ud83d'")["output"] == "a whole 😀, \\ud83d\n"
    assert not (place / "work" / "ran").exists()


def test_a_nul_is_a_failed_call_but_in_what_is_typed(shared_raw: RawMcp) -> None:
    for name, value in NUL.items():
        if name in ("stdin_data", "dedupe_key"):
            continue
        given = {"command": "touch ran", "detail": "full", name: value}
        result = shared_raw.request("tools/call", {"name": "exec", "arguments": given}, timeout=20)
        _check_refused(result, name, "NUL")
    assert shared_raw.call("exec", command="wc -c", stdin_data="a\0b")["output"].strip() == "3"


def test_half_a_character_is_a_failed_call_over_http(shared_serve: Served) -> None:
    for name, value in WRONG.items():
        given = {"command": "touch ran", "detail": "full", name: value}
        reply = shared_serve.rpc("tools/call", {"name": "exec", "arguments": given, "_meta": META})
        _check_refused(reply.json["result"], name, "half a character")


def test_half_a_character_elsewhere_in_a_request_over_http_does_not_keep_its_answer_back(
    shared_serve: Served, place: Path
) -> None:
    odd = {**META, "progressToken": HALF, "sessionId": HALF, CLIENT: {"name": HALF, "version": "1"}}
    params = {"name": "exec", "arguments": {"command": "echo text", "workdir": str(place)}, "_meta": odd}
    assert "text" in shared_serve.rpc("tools/call", params).json["result"]["content"][0]["text"]


def test_bytes_that_are_not_utf_8_go_on_working_on_the_command_line(cli: Cli, work: Path) -> None:
    odd = work / "odd \udcff"
    odd.mkdir()
    found = cli.ok("run", "--cwd", str(odd), "--title", "\udcff", "--", "printf", "\udcfe")
    assert (found["cwd"], found["name"]) == (str(odd), "\udcff")
    sink = odd / "sink \udcff"
    cli.ok("run", "--notify-file", str(sink), "--env", "A=\udcff", "true")
