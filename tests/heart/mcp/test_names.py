"""Names with characters that nobody sees: each is an escape wherever a name is shown, to a model and to a person."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from support import pair
from support.cli import Cli, configured, environment
from support.commands import GATE
from support.mcp_client import RawMcp
from support.notified import wait_for_end
from support.preloaded import OUTLIVE

# A bidirectional override, Braille's blank, a space of no width, Hangul's filler, selectors, look-alike spaces, a tag
HIDDEN = "\u202e\u2800\u200b\u3164\ufe0f\U000e0101\u00a0\u2003\u3000\U000e0041"
NAME = "a" + "b".join(HIDDEN) + "c"
SEEN = r"a\u202eb\u2800b\u200bb\u3164b\ufe0fb\U000e0101b\u00a0b\u2003b\u3000b\U000e0041c"
ORDINARY = "\u26a0\ufe0f gr\u00fcn \u4e2d\u6587 \U0001f680"  # the emoji of a warning keeps its selector


def check(place: str, text: str) -> None:
    assert SEEN in text.replace(r"\xa0", r"\u00a0"), (place, text)  # as Python's repr has it, in some errors
    assert not [char for char in HIDDEN if char in text], (place, text)


def shown(raw: RawMcp, tool: str, **given: Any) -> str:
    return "\n".join(
        block["text"] for block in raw.request("tools/call", {"name": tool, "arguments": given})["content"]
    )


def of_json(text: str) -> str:
    """What is a string of JSON in a text of ours has JSON's escapes."""
    return text.replace("\\\\", "\\").replace(r"\udb40\udd01", r"\U000e0101").replace(r"\udb40\udc41", r"\U000e0041")


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
    raw.call("exec", command=f"true '{NAME}'", workdir=NAME, background=True)
    jobs = raw.call("process", action="list", all=True)["jobs"]
    named = next(job["job_id"] for job in jobs if job["name"].startswith("true"))
    places["a status"] = shown(raw, "process", action="status", job_id=named)
    for place, text in places.items():
        if place == "a prompt":  # its output follows, as it is
            assert SEEN in of_json(text.partition("Answer with")[0]), (place, text)
        else:
            check(place, text)
    for job in jobs:
        raw.call("process", action="kill", job_id=job["job_id"])


def test_no_notice_hides_a_character_from_a_model(raw_mcp: Any, cli: Cli, work: Path) -> None:
    raw: RawMcp = raw_mcp(detail=None)
    watch = [{"pattern": NAME, "once": True}]
    given = {"command": f"{GATE}; echo '{NAME}'", "title": NAME, "background": True}
    job = raw.call("exec", **given)["job_id"]
    raw.call("process", action="notify_set", job_id=job, watch=watch)
    (work / "go").touch()
    wait_for_end(cli, job)
    check("notices", of_json(shown(raw, "process", action="list", state="created")))
    check("a status", shown(raw, "process", action="status", job_id=job))
    check("events", shown(raw, "process", action="events", job_id=job))


def test_no_name_hides_a_character_from_a_person(cli: Cli, work: Path) -> None:
    cli.ok("run", "--wait", "--title", NAME, "--", "true", NAME)
    job = cli.ok("list")["jobs"][0]["job_id"]
    places = {
        "a list": cli.text("list", "--human").stdout,
        "a list of all": cli.text("list", "--human", "--verbose").stdout,
        "a status": cli.text("status", "--human", job).stdout,
        "all of a status": cli.text("status", "--human", "--verbose", job).stdout,
        "an error": cli.text("run", "--human", "--cwd", f"/no/{NAME}", "--", "true").stderr,
        "an error about a job": (missing := cli.text("status", "--human", NAME)).stdout + missing.stderr,
    }
    for place, text in places.items():
        check(place, text)


def test_no_approval_hides_a_character(cli: Cli, place: Path, work: Path) -> None:
    configured(place, '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["true"]\ndecision = "ask"\n')
    job = cli.ok("run", "--snapshot-after", "0", "--", "true", NAME)["job_id"]
    found = cli.ok("status", job)["approval"]
    assert found["state"] == "pending"
    check("the facts", json.dumps(found["facts"], ensure_ascii=False).replace("\\\\", "\\"))
    check("what a person approves", cli.text("status", "--human", job).stdout)
    check("the list of what waits", cli.text("list", "--human").stdout)
    cli.ok("deny", job)


def test_no_title_of_a_process_holds_a_name(cli: Cli, raw_mcp: Any, work: Path) -> None:
    job = cli.ok("run", "--title", NAME, "--snapshot-after", "0", "--", "sh", "-c", GATE)["job_id"]
    for process in (pair.supervisor(job), pair.guardian(job)):
        for file in ("comm", "cmdline"):
            text = Path(f"/proc/{process}/{file}").read_text(encoding="utf-8", errors="surrogateescape")
            assert not [char for char in HIDDEN if char in text], text
    (work / "go").touch()
    cli.ok("wait", job)


def test_what_a_hook_tells_hides_no_character(cli: Cli, work: Path) -> None:
    session = {"CLAUDE_CODE_SESSION_ID": "3f2a9c1e-0000-4000-8000-00000000000a"}
    job = cli.ok("run", "--snapshot-after", "0", "--title", NAME, "sh", "-c", f"{GATE}; exit 3", env=session)["job_id"]
    (work / "go").touch()
    wait_for_end(cli, job)
    event = {"session_id": session["CLAUDE_CODE_SESSION_ID"], "hook_event_name": "UserPromptSubmit", "cwd": "/"}
    done = subprocess.run(
        [*OUTLIVE, "hook", "claude-code"],
        input=json.dumps(event),
        env=environment(None),
        capture_output=True,
        text=True,
        check=True,
    )
    check("a hook", json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])


def test_what_is_ordinary_in_a_title_is_shown_as_it_is(cli: Cli, work: Path) -> None:
    cli.ok("run", "--wait", "--title", ORDINARY, "--", "true")
    assert ORDINARY in cli.text("list", "--human").stdout
