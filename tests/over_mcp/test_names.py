"""Names with characters that nobody sees: each is an escape wherever a name is shown, to a model and to a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.cli import Cli
from support.mcp_client import RawMcp

# A bidirectional override, Braille's blank, a space of no width, Hangul's filler
HIDDEN = {"\u202e": "\\u202e", "\u2800": "\\u2800", "\u200b": "\\u200b", "\u3164": "\\u3164"}
NAME = "a" + "b".join(HIDDEN) + "c"
SEEN = "a" + "b".join(HIDDEN.values()) + "c"


def shown(raw: RawMcp, tool: str, **given: Any) -> str:
    return "\n".join(
        block["text"] for block in raw.request("tools/call", {"name": tool, "arguments": given})["content"]
    )


def test_no_name_hides_a_character_from_a_model(raw_mcp: Any, work: Path) -> None:
    raw: RawMcp = raw_mcp(detail=None)
    (work / NAME).mkdir()
    places = {
        "an error about a directory": shown(raw, "exec", command="true", workdir=f"/no/{NAME}"),
        "an error about a job": shown(raw, "process", action="status", job_id=NAME),
        "an error about a tag": shown(raw, "exec", command="true", tags=[NAME]),
        "an error about an action": shown(raw, "process", action=NAME),
        "a prompt": shown(raw, "exec", command=f"printf '{NAME}: '; read x", stdin="open", yield_ms=5_000, title=NAME),
        "a list": shown(raw, "process", action="list", all=True),
    }
    for place, text in places.items():
        named = text.partition("Answer with")[0] if place == "a prompt" else text
        assert SEEN in named.replace("\\\\u", "\\u"), (place, text)
        if place != "a prompt":  # where its output follows, as it is
            assert not [char for char in HIDDEN if char in text], (place, text)
    for job in raw.call("process", action="list", all=True)["jobs"]:
        raw.call("process", action="kill", job_id=job["job_id"])


def test_no_name_hides_a_character_from_a_person(cli: Cli, work: Path) -> None:
    cli.ok("run", "--wait", "--title", NAME, "--", "true")
    places = {
        "a list": cli.text("list", "--human").stdout,
        "a status": cli.text("status", "--human", cli.ok("list")["jobs"][0]["job_id"]).stdout,
        "an error": cli.text("run", "--human", "--cwd", f"/no/{NAME}", "--", "true").stderr,
    }
    for place, text in places.items():
        assert SEEN in text, (place, text)
        assert not [char for char in HIDDEN if char in text], (place, text)
