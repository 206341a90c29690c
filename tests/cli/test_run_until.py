"""run --until: start something and be told when it is ready, in one call."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from support.cli import Cli, Jobs

LISTEN = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as sock:
    time.sleep(60)
"""


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        found: int = sock.getsockname()[1]
        return found


def test_a_server_is_started_and_its_port_awaited_in_one_call(cli: Cli, jobs: Jobs, port: int) -> None:
    server = [sys.executable, "-c", LISTEN, str(port)]
    answer = cli.ok("run", "--until", f"port={port}", "--snapshot-after", "60s", *server)
    assert (answer["state"], answer["timed_out"]) == ("running", False)
    fired = answer["fired"]
    assert (fired["condition"], fired["port"], fired["owned"], fired["job_id"]) == (
        "port",
        port,
        True,
        answer["job_id"],
    )
    jobs.end()


def test_a_wrong_condition_starts_nothing(cli: Cli, root: Path) -> None:
    error = cli.error("run", "--until", "prt=80", "true", code="invalid_argument")
    assert (error["details"]["field"], error["hint"]) == ("--until", "Did you mean port=8080?")
    assert not cli.ok("list", "--all")["jobs"]


def test_start_and_restart_wait_as_well(cli: Cli) -> None:
    job = cli.ok("create", "echo one; sleep 0.1; echo two")["job_id"]
    assert cli.ok("start", job, "--until", "regex=^two", "--snapshot-after", "60s")["fired"]["line"] == "two"
    cli.ok("wait", job)
    again = cli.ok("restart", job, "--until", "regex=^two", "--snapshot-after", "60s")
    assert (again["fired"]["seq"], again["restarted_from"]) == (4, job)
    cli.ok("wait", again["job_id"])
