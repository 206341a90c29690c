"""JavaScript cuts text between the halves of a surrogate pair. Such a call fails, and says why, over every transport."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.cli import Cli
from support.mcp_client import MODERN_VERSION, RawMcp
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


def _check_refused(result: dict[str, Any], field: str, word: str) -> None:
    assert result["isError"], result
    error = result["structuredContent"]["error"]
    assert (error["code"], error["details"]["field"]) == ("invalid_argument", field), error
    assert word in error["message"]
    assert word in result["content"][0]["text"]


def test_half_a_character_is_a_failed_call_on_stdio(shared_raw: RawMcp, place: Path) -> None:
    for name, value in WRONG.items():
        given = {"command": "touch ran", "detail": "full", name: value}
        result = shared_raw.request("tools/call", {"name": "exec", "arguments": given}, timeout=20)
        _check_refused(result, name, "half a character")
    answer = shared_raw.call("process", action="write", job_id="01ARZ3NDEKTSV4RRFFQ69G5FAV", data=HALF)
    assert answer.result["error"]["code"] == "invalid_argument"
    assert not shared_raw.call("process", action="list", all=True)["jobs"]
    assert shared_raw.call("exec", command="echo 'a whole 😀'")["output"] == "a whole 😀\n"
    assert not (place / "work" / "ran").exists()


def test_a_nul_is_a_failed_call_but_in_what_is_typed(shared_raw: RawMcp) -> None:
    for name, value in NUL.items():
        if name in ("stdin_data", "dedupe_key"):
            continue
        given = {"command": "touch ran", "detail": "full", name: value}
        result = shared_raw.request("tools/call", {"name": "exec", "arguments": given}, timeout=20)
        _check_refused(result, name, "NUL")
    assert shared_raw.call("exec", command="wc -c", stdin_data="a\0b")["output"].strip() == "3"


def test_half_a_character_elsewhere_in_a_request_does_not_keep_its_answer_back(raw_mcp: Callable[..., RawMcp]) -> None:
    server = raw_mcp(client_name=f"half {HALF}")
    params = {
        "name": "exec",
        "arguments": {"command": "echo text"},
        "_meta": {"progressToken": HALF, "sessionId": HALF},
    }
    answer = server.request("tools/call", params, timeout=20)
    assert "text" in answer["content"][0]["text"]


def test_half_a_character_is_a_failed_call_over_http(shared_serve: Served) -> None:
    for name, value in WRONG.items():
        given = {"command": "touch ran", "detail": "full", name: value}
        meta = {f"io.modelcontextprotocol/{key}": about for key, about in _about(MODERN_VERSION).items()}
        params = {"name": "exec", "arguments": given, "_meta": meta}
        reply = shared_serve.rpc("tools/call", params)
        _check_refused(reply.json["result"], name, "half a character")


def _about(version: str) -> dict[str, Any]:
    return {"protocolVersion": version, "clientInfo": {"name": "tests", "version": "1"}, "clientCapabilities": {}}


def test_bytes_that_are_not_utf_8_go_on_working_on_the_command_line(cli: Cli, work: Path) -> None:
    odd = work / "odd \udcff"
    odd.mkdir()
    found = cli.ok("run", "--cwd", str(odd), "--title", "\udcff", "--", "printf", "\udcfe")
    assert (found["cwd"], found["name"]) == (str(odd), "\udcff")
    sink = odd / "sink \udcff"
    cli.ok("run", "--notify-file", str(sink), "--env", "A=\udcff", "true")
