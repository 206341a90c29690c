"""Answers and notices that a client over HTTP never got: the next call says what was in them."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heart.mcp.test_undelivered import LISTED, news
from outlive.system import locks
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import LEGACY_VERSION
from support.serve import INITIALIZE, TRANSPORTS, HttpSession, Served
from support.wait import until

pytestmark = pytest.mark.leaves_jobs

Serve = Callable[..., Served]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_over_http_a_notice_is_told_once(serve: Serve, cli: Cli, transport: str, work: Path) -> None:
    served = serve("--workdir", os.getcwd())
    with HttpSession(served, transport=transport, era="legacy") as session:
        gated = f"{GATE}; echo out; exit 3"
        job = session.ok("exec", command=gated, yield_ms=0)["job_id"]
        (work / "go").touch()
        cli.ok("wait", job)
        # Told with the first answer after the server saw that the client has the id
        assert until(lambda: news(session.ok("process", **LISTED)), what="the notice") == [(job, "finished")]
        assert news(session.ok("process", **LISTED)) == []
    until(lambda: not list((cli.root / ".owed").glob(f"*/{job}")), what="the kernel has taken the answer that told it")


def _opened(served: Served, *, small: bool = False) -> tuple[socket.socket, str]:
    """A connection, and a session of the handshake era."""
    opened = served.ask("POST", body={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
    session = opened.headers["mcp-session-id"]
    connection = socket.socket()
    if small:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect(served.address)
    return connection, session


def _post(served: Served, connection: socket.socket, session: str, name: str, arguments: dict[str, Any]) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    body = json.dumps(call)
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.tokens['tests']}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\n"
        f"Mcp-Protocol-Version: {LEGACY_VERSION}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall((head + body).encode())


def _call(served: Served, session: str, tool: str = "process", **arguments: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"mcp-session-id": session, "mcp-protocol-version": LEGACY_VERSION}
    found: dict[str, Any] = served.ask("POST", body=body, headers=headers).json["result"]["structuredContent"]
    return found


def _is_claimed(entry: Path) -> bool:
    """Whether an answer that was not sent so far tells of the job."""
    with entry.open("rb") as file:
        return locks.is_held(file.fileno(), 0)


def test_a_job_whose_answer_was_lost_with_the_connection_is_named_by_the_next(
    serve: Serve, cli: Cli, root: Path, work: Path
) -> None:
    served = serve("--workdir", os.getcwd())
    connection, session = _opened(served)
    with connection:
        _post(
            served, connection, session, "exec", {"command": f"touch started; echo shown; {GATE}", "yield_ms": 50_000}
        )
        until((work / "started").exists, what="the command")
    (work / "go").touch()  # only now there is an answer, which finds no one
    (job,) = (path.name for path in root.iterdir() if len(path.name) == 26)
    found = until(lambda: news(_call(served, session, **LISTED)), what="the notice")
    assert found == [(job, "unanswered")]
    polled = [_call(served, session, action="poll", job_id=job, detail="full")["output"] for _ in range(2)]
    assert polled == ["shown\n", ""]


def test_a_notice_in_an_answer_that_the_kernel_had_not_taken_is_told_by_the_next_server(
    serve: Serve, cli: Cli, work: Path
) -> None:
    served = serve("--workdir", os.getcwd())
    connection, session = _opened(served, small=True)
    with connection:
        printed = "head -c 900000 /dev/zero | tr '\\0' '\\1'"  # six bytes each in JSON
        large = _call(served, session, "exec", command=printed, max_bytes=1_000)["job_id"]
        gated = f"{GATE}; echo out; exit 3"
        job = _call(served, session, "exec", command=gated, yield_ms=0)["job_id"]
        (work / "go").touch()
        cli.ok("wait", job)
        given = {"action": "poll", "job_id": large, "since_seq": 0, "max_bytes": 1_000_000, "raw": True}
        _post(served, connection, session, "process", given)
        until(lambda: connection.recv(1, socket.MSG_PEEK), what="the first byte of the answer")
        (entry,) = (cli.root / ".owed").glob(f"*/{job}")  # of the session
        until(lambda: _is_claimed(entry), what="the answer, which takes the notice")
        served.process.kill()

    again = serve("--workdir", os.getcwd(), again=served)
    connection, session = _opened(again)
    connection.close()
    assert news(_call(again, session, **LISTED)) == [(job, "finished")]
