"""Clients on stdio that send more than they read."""

from __future__ import annotations

import fcntl
import json
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs
from support.mcp_client import McpRefusal, RawMcp
from support.preloaded import MAIN
from support.tiers import first

AT_ONCE = 4
STREAMS = 3
LINE_BYTES = 200_000
LIMITS = f"from outlive import limits; limits.STDIO_LINE_BYTES = {LINE_BYTES}; limits.FOLLOWED_RESOURCES = {STREAMS}; "
FEW = f"import sys; {LIMITS}from outlive.mcp.stdio import transport; transport._AT_ONCE = {AT_ONCE}; {MAIN}"
MANY = 400  # messages of almost 4 KB: far more than two pipes hold
# A whole message fits into PIPE_BUF: it is written at once where poll(2) says that there is room (pipe(7))
PADDING = 3_600


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
    assert client.process.stdin
    while select.select([], [client.process.stdin], [], 1)[1]:  # there is room for PIPE_BUF
        sent.append(begin(client, "wait", job, PADDING))
        assert len(sent) < MANY, "the server reads on for ever"
    cli.ok("kill", job)
    answers = [client.tool_answer(number) for number in sent]
    assert {answer["state"] for answer in answers} == {"killed"}
    jobs.end()


def test_a_cancellation_makes_room_for_the_requests_behind_it(client: RawMcp, cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "exec sleep 300")["job_id"]
    waiting = [begin(client, "wait", job) for _ in range(AT_ONCE)]
    client.cancel(waiting[1])
    client.cancel(waiting[1])  # which makes room once
    status, other = begin(client, "status", job), begin(client, "status", job)
    assert client.tool_answer(status)["state"] == "running"
    assert client.tool_answer(other)["state"] == "running"
    assert not any(client.is_answered(number) for number in waiting)
    cli.ok("kill", job)
    for number in (waiting[0], *waiting[2:]):
        assert client.tool_answer(number)["state"] == "killed"
    jobs.end()


LISTEN: dict[str, Any] = {"notifications": {"resourceSubscriptions": []}}


@pytest.fixture
def listener(place: Path, cli: Cli) -> Iterator[RawMcp]:
    with RawMcp(log=place / "server.log", command=[sys.executable, "-c", FEW, "mcp"], era="modern") as found:
        yield found.start()


def test_subscriptions_stay_in_the_pipe_while_their_answers_are_unread(listener: RawMcp) -> None:
    assert listener.process.stdout
    fcntl.fcntl(listener.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    sent = []
    assert listener.process.stdin
    while select.select([], [listener.process.stdin], [], 1)[1]:
        sent.append(listener.begin("subscriptions/listen", {**LISTEN, "_meta": {"padding": "x" * PADDING}}))
        assert len(sent) < MANY, "the server reads on for ever"
    assert len(sent) > STREAMS
    for number in sent[STREAMS:]:
        with pytest.raises(McpRefusal, match=f"{STREAMS} subscriptions are open already"):
            listener.answer(number)
    assert not any(listener.is_answered(number) for number in sent[:STREAMS])
    fcntl.fcntl(listener.process.stdout, fcntl.F_SETPIPE_SZ, 65_536)  # for what it says at its end


def test_a_subscription_that_ends_makes_room_for_the_next(listener: RawMcp) -> None:
    first, *_ = [listener.begin("subscriptions/listen", LISTEN) for _ in range(STREAMS)]
    with pytest.raises(McpRefusal, match="subscriptions are open already"):
        listener.request("subscriptions/listen", LISTEN)
    listener.cancel(first)
    again = listener.begin("subscriptions/listen", LISTEN)
    listener.request("tools/list")
    assert not listener.is_answered(again)


def too_long(number: int, *, last: bool) -> bytes:
    """A call of more than LINE_BYTES, with its id before or after the arguments."""
    arguments = {"action": "write", "job_id": "x", "data": "x" * LINE_BYTES, "id": 1}
    call = {"method": "tools/call", "params": {"name": "process", "arguments": arguments}}
    named = {"jsonrpc": "2.0", "id": number}
    return json.dumps({**call, **named} if last else {**named, **call}).encode() + b"\n"


@pytest.mark.parametrize(("last", "loaded"), first(2, [(True, False), (False, True), (False, False), (True, True)]))
def test_a_message_that_is_too_long_is_refused_and_the_connection_goes_on(
    client: RawMcp, last: bool, loaded: bool
) -> None:
    if loaded:
        assert client.call("process", action="list")["ok"]
    client.send_bytes(too_long(700, last=last))
    with pytest.raises(McpRefusal, match="MiB, and was not read") as refused:
        client.answer(700)
    assert refused.value.code == -32600
    assert client.call("process", action="list")["ok"]


@pytest.mark.parametrize("number", ['"a\tb"', '"\\q"', "٣"])
def test_a_message_that_is_too_long_with_an_id_that_is_no_json_is_refused_too(client: RawMcp, number: str) -> None:
    client.send_bytes(f'{{"id": {number}, "method": "{"x" * LINE_BYTES}"}}\n'.encode())
    with pytest.raises(McpRefusal, match="MiB, and was not read"):
        client.answer(None)
    assert client.request("ping") == {}


def test_an_endless_line_is_not_kept(client: RawMcp) -> None:
    for _ in range(8):
        client.send_bytes(b"x" * LINE_BYTES)
    client.send_bytes(b"\n")
    with pytest.raises(McpRefusal, match="MiB, and was not read"):
        client.answer(None)
    assert client.request("ping") == {}
