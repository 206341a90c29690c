"""What an answer tells counts as told when the answer has been written, and not before."""

from __future__ import annotations

import select
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli
from support.commands import GATE
from support.mcp_client import RawMcp
from support.wait import until

pytestmark = pytest.mark.leaves_jobs
LARGE = "yes | head -c 900000"
LISTED = {"action": "list", "state": "created"}


def news(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(notice["job_id"], notice["event"]) for notice in answer.get("notices", [])]


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_a_notice_in_an_answer_that_a_killed_server_had_not_written_is_told_again(
    raw_mcp: Callable[..., RawMcp], cli: Cli, era: str, work: Path
) -> None:
    raw = raw_mcp(era=era)
    large = raw.call("exec", command=LARGE, max_bytes=1_000)["job_id"]
    gated = f"{GATE}; echo out; exit 3"
    job = raw.call("exec", command=gated, yield_ms=0)["job_id"]
    raw.begin_call("process", action="poll", job_id=large, since_seq=0, max_bytes=900_000)  # more than a pipe holds
    stdout = raw.process.stdout
    assert stdout
    until(lambda: select.select([stdout], [], [], 0)[0], what="the answer that the others come after")
    (work / "go").touch()
    cli.ok("wait", job)
    raw.begin_call("process", action="poll", job_id="NOSUCHJOB")  # its error carries the notice
    raw.begin_call("exec", command="touch processed")  # begun after it
    until((work / "processed").exists, what="the calls")
    raw.kill()
    assert (job, "finished") in news(raw_mcp(era=era).call("process", **LISTED).result)
