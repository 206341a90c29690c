"""Everything that one answer shows obeys one budget, and the answer says how to see the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from outlive import config, limits
from outlive.mcp.tools.arguments import Tools
from support import pair
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpSession
from support.wait import until


@pytest.fixture(scope="module")
def era() -> str:
    """Which era carries an answer makes no difference to it."""
    return "modern"


@pytest.mark.parametrize("action", ["list", "events", "screen"])
def test_the_budget_holds_by_default_and_is_configured(action: str) -> None:
    given = {"action": action, **({} if action == "list" else {"job_id": "x"})}
    for found, expected in ((config.Config({}, None), limits.MCP_SHOWN_BYTES),
                            (config.Config({("exec", "max_output_bytes"): 5_000}, None), 5_000)):  # fmt: skip
        tools = Tools(("exec", "process"), found)
        assert tools.read("process", given)[1]["max_bytes"] == expected


@pytest.mark.parametrize("detail", ["brief", "full"])
def test_a_long_list_is_shown_page_by_page(shared_session: McpSession, cli: Cli, detail: str) -> None:
    started = [
        shared_session.ok("process", action="create", command=f"true {number}")["job_id"] for number in range(12)
    ]
    most = 500 if detail == "brief" else 4_000
    listed: list[str] = []
    pages = 0
    hint = "offset=0 "
    while hint:
        offset = int(hint.partition("offset=")[2].split()[0])
        given: dict[str, Any] = {"action": "list", "limit": 0, "offset": offset, "max_bytes": most, "detail": detail}
        page = shared_session.call("process", **given)
        assert len(json.dumps(page["jobs"], separators=(",", ":")).encode()) <= most
        listed += [job["job_id"] for job in page["jobs"]]
        hint = page.result.get("hint", "")
        assert hint in page.text
        pages += 1
    assert listed == started[::-1]
    assert pages > 1
    words = ["list", "--limit", "0", "--all", "--max-bytes", str(most), "--offset", "2", "--detail", detail]
    over_mcp = shared_session.ok("process", action="list", limit=0, all=True, max_bytes=most, offset=2, detail=detail)
    assert cli.ok(*words)["jobs"] == over_mcp["jobs"]


def test_long_events_show_the_newest_and_lead_from_the_first_to_the_last(shared_session: McpSession, cli: Cli) -> None:
    job = shared_session.ok("exec", command="seq 20; exit 1", watch=["[0-9]"])["job_id"]
    pair.until_free(cli.root, job)
    every = cli.ok("events", job)["events"]

    def page(**more: Any) -> dict[str, Any]:
        found = shared_session.call("process", action="events", job_id=job, max_bytes=1_000, **more)
        assert found.result.get("hint", "") in found.text
        assert len(json.dumps(found["events"], separators=(",", ":"))) <= 1_000
        return found.result

    newest = page()
    assert newest["events"] == every[-len(newest["events"]) :]
    assert newest["hint"] == "Older events are left out: since_event=0 begins with the first."
    told, after = [], 0
    while True:
        found = page(since_event=after)
        told += found["events"]
        after = found["next_event"]
        if "hint" not in found:
            break
        assert found["hint"] == f"More events follow: since_event={after}."
    assert sorted(event["n"] for event in told) == sorted(event["n"] for event in every)


def test_a_huge_screen_shows_the_rows_around_the_cursor(shared_session: McpSession, cli: Cli, work: Path) -> None:
    draw = f"{GATE}; for i in $(seq 0 198); do echo row $i; done; exec sleep 60"
    job = shared_session.ok("exec", command=draw, pty=True, yield_ms=0, workdir=str(work))["job_id"]
    shared_session.ok("process", action="resize", job_id=job, rows=200, cols=100)
    (work / "go").touch()
    until(lambda: "row 198" in cli.ok("screen", job)["lines"], what="the rows")
    whole = cli.ok("screen", job)["lines"]
    answer = shared_session.call("process", action="screen", job_id=job, max_bytes=500)
    first, lines = answer["first_row"], answer["lines"]
    assert lines == whole[first : first + len(lines)]
    assert first <= answer["cursor"]["row"] < first + len(lines)
    assert sum(len(line) for line in lines) <= 500
    assert answer["hint"] in answer.text and f"Rows {first} to " in answer["hint"]
    above = shared_session.call("process", action="screen", job_id=job, max_bytes=500, offset=3)
    assert above["first_row"] == 3 and above["lines"][:2] == whole[3:5]
    assert shared_session.ok("process", action="screen", job_id=job, max_bytes=20_000)["lines"] == whole
    cli.ok("kill", job)


def test_an_explicit_bound_is_that_of_output_and_of_snapshot_each(shared_session: McpSession, cli: Cli) -> None:
    command = "seq 5000; seq 5000 >&2"
    for found in (  # the budget without one: test_detail.py
        shared_session.ok("exec", command=command, max_bytes=4_000, detail="full"),
        cli.ok("run", "--wait", "--max-bytes", "4000", command),
    ):
        assert all(200 < len(text) <= 4_000 for text in _shown(found))
        assert sum(map(len, _shown(found))) > 4_000


def _shown(found: dict[str, Any]) -> list[str]:
    return [found["output"], found["snapshot"]["stdout_tail"], found["snapshot"]["stderr_tail"]]
