"""Clients on stdio that send more than they read."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import Cli, Jobs
from support.mcp_client import RawMcp

AT_ONCE = 4
FEW = (
    f"import sys; from outlive.mcp.stdio import transport; transport._AT_ONCE = {AT_ONCE}; transport._AHEAD_LINES = 8; "
    "from outlive.__main__ import main; sys.exit(main())"
)
MANY = 400  # messages of 4 KB: far more than two pipes hold


@pytest.fixture
def client(place: Path, cli: Cli) -> Iterator[RawMcp]:
    with RawMcp(log=place / "server.log", command=[sys.executable, "-c", FEW, "mcp"]) as found:
        yield found.start()


def begin(client: RawMcp, action: str, job: str, padding: int = 0) -> int:
    call = {"name": "process", "arguments": {"action": action, "job_id": job, "detail": "full"}}
    return client.begin("tools/call", {**call, "_meta": {"padding": "x" * padding}})


def test_requests_stay_in_the_pipe_while_too_many_are_unanswered_and_none_is_lost(
    client: RawMcp, cli: Cli, jobs: Jobs
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "exec sleep 300")["job_id"]
    sent = []
    while select.select([], [client.process.stdin], [], 1)[1]:  # there is room for 4 KB
        sent.append(begin(client, "wait", job, 3_800))
        assert len(sent) < MANY, "the server reads on for ever"
    cli.ok("kill", job)
    answers = [client.tool_answer(number) for number in sent]
    assert {answer["state"] for answer in answers} == {"killed"}
    jobs.end()


def test_a_cancellation_is_heard_while_requests_wait(client: RawMcp, cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "exec sleep 300")["job_id"]
    waiting = [begin(client, "wait", job) for _ in range(AT_ONCE)]
    status = begin(client, "status", job)
    client.cancel(waiting[1])
    assert client.tool_answer(status)["state"] == "running"
    assert not any(client.is_answered(number) for number in waiting)
    cli.ok("kill", job)
    for number in (waiting[0], *waiting[2:]):
        assert client.tool_answer(number)["state"] == "killed"
    jobs.end()
