"""wait --until port=… and http=…: a listener of the job, not of whatever else has the port."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs
from support.commands import GATE
from support.jobs import background
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST

SERVE = """
import http.server, os, socket, sys
kind, port, *name = sys.argv[1:]
class Server(http.server.HTTPServer):
    allow_reuse_port = kind == "shared"
if name:
    open("/proc/self/comm", "w").write(name[0])
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
server = Server(("127.0.0.1", int(port)), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


class Program:
    """A server that is no job: `port` and `pid`."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", SERVE, *words], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.pid = self._process.pid

    def end(self) -> None:
        self._process.kill()
        with self._process:
            pass


@pytest.fixture
def program() -> Iterator[Callable[..., Program]]:
    running: list[Program] = []

    def start(kind: str = "alone", name: str = "") -> Program:
        running.append(Program(kind, "0", *filter(None, [name])))
        return running[-1]

    yield start
    for one in running:
        one.end()


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        found: int = sock.getsockname()[1]
        return found


def serving(port: int, kind: str = "alone") -> list[str]:
    return ["--", sys.executable, "-c", SERVE, kind, str(port)]


def wait(cli: Cli, job: str, condition: Any, **how: Any) -> dict[str, Any]:
    text = condition if isinstance(condition, str) else json.dumps(condition)
    more = [word for name, value in how.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return cli.ok("wait", job, "--until", text, *more)


@pytest.mark.parametrize("form", ["port={port}", "port=localhost:{port}", "http=http://127.0.0.1:{port}/"])
def test_a_port_that_another_program_has_ends_the_wait_and_the_answer_says_who(
    cli: Cli, jobs: Jobs, program: Callable[..., Program], form: str
) -> None:
    other = program()
    job = background(cli, "exec sleep 60")
    answer = wait(cli, job, form.format(port=other.port))
    assert (answer["fired"], answer["timed_out"], answer["state"]) == (None, False, "running")
    held = answer["held_by"]
    assert (held["port"], held["pid"], held["address"]) == (other.port, other.pid, "127.0.0.1")
    assert held["command"].startswith(sys.executable) and "job_id" not in held
    assert f"Port {other.port} is held by pid {other.pid} ({sys.executable}" in answer["hint"]
    assert '"any": true' in answer["hint"]
    anybodys = wait(cli, job, f"{form.format(port=other.port)} any")
    assert anybodys["fired"] and "held_by" not in anybodys and "hint" not in anybodys
    jobs.end()


def test_another_job_that_has_the_port_is_named_and_once_it_is_gone_the_port_can_be_the_jobs(
    cli: Cli, jobs: Jobs, port: int, work: Path
) -> None:
    old = background(cli, "--title", "old server", *serving(port))
    assert wait(cli, old, {"port": port})["fired"]["owned"] is True
    new = background(cli, f"{GATE}; exec {sys.executable} -c '{SERVE}' alone {port}")
    held = wait(cli, new, {"port": port})
    assert (held["held_by"]["job_id"], held["held_by"]["name"]) == (old, "old server")
    assert f"of job {old} (old server)" in held["hint"] and f"kill job {old}" in held["hint"]
    cli.ok("kill", old)
    (work / "go").touch()
    fired = wait(cli, new, {"http": f"http://localhost:{port}/"})["fired"]
    assert (fired["owned"], fired["pid"]) == (True, cli.ok("status", new)["pid"])
    jobs.end()


def test_a_job_that_ends_because_the_port_is_taken_is_told_with_who_has_it(
    cli: Cli, jobs: Jobs, program: Callable[..., Program]
) -> None:
    other = program()
    failing = f"echo address already in use >&2; [ {other.port} -gt 0 ] && exit 7"
    answer = cli.ok("run", "--until", f"port={other.port}", "--snapshot-after", "60s", failing)
    assert (answer["fired"]["condition"], answer["exit_code"]) == ("exit", 7)
    assert answer["held_by"]["pid"] == other.pid
    who = f"The job ended before port came true. Port {other.port} is held by pid {other.pid}"
    assert answer["hint"].startswith(who)
    assert answer["hint"].count(f"Port {other.port} is held") == 1
    goes_on = cli.ok("run", "--until", f"port={other.port}", "--snapshot-after", "60s", "exec sleep 60")
    assert (goes_on["fired"], goes_on["timed_out"], goes_on["held_by"]["pid"]) == (None, False, other.pid)
    jobs.end()


def test_a_port_that_the_job_can_share_is_waited_for(
    cli: Cli, jobs: Jobs, work: Path, program: Callable[..., Program]
) -> None:
    other = program("shared")
    job = background(cli, f"{GATE}; exec {sys.executable} -c '{SERVE}' shared {other.port}")
    late = wait(cli, job, {"port": other.port}, timeout_ms=500)
    assert (late["fired"], late["timed_out"]) == (None, True)
    assert f"held by pid {other.pid}" in late["hint"]
    with cli.spawn("wait", job, "--until", f"port={other.port}") as waiter:
        (work / "go").touch()
        out, _ = waiter.communicate(timeout=60)
    fired = json.loads(out)["fired"]
    assert (fired["owned"], fired["pid"]) == (True, cli.ok("status", job)["pid"])
    jobs.end()


@pytest.mark.parametrize("condition", ["port={port}", "http=http://127.0.0.1:{port}/"])
def test_whose_a_containers_port_is_is_not_known_and_the_answer_says_so(
    cli: Cli, jobs: Jobs, program: Callable[..., Program], condition: str
) -> None:
    proxy = program(name="docker-proxy")
    job = background(cli, "exec sleep 60")
    answer = wait(cli, job, condition.format(port=proxy.port))
    assert (answer["fired"]["owned"], answer["fired"]["pid"]) == (None, None)
    assert f"docker-proxy (pid {proxy.pid}) listens for a container" in answer["hint"]
    jobs.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
def test_of_a_job_in_a_network_that_it_made_itself_it_is_not_known(
    cli: Cli, jobs: Jobs, program: Callable[..., Program]
) -> None:
    other = program()
    job = background(cli, "--", "unshare", "-n", "sh", "-c", "echo in; exec sleep 60")
    cli.ok("wait", job, "--until", "regex=in")
    answer = wait(cli, job, {"port": other.port})
    assert answer["fired"]["owned"] is None
    assert "in a network of its own" in answer["hint"]
    jobs.end()


def test_a_daemon_that_left_its_session_and_its_environment_is_the_jobs(cli: Cli, jobs: Jobs, port: int) -> None:
    daemon = f"env -i setsid {sys.executable} -c '{SERVE}' alone {port} & exit 0"
    job = background(cli, daemon)
    assert wait(cli, job, {"port": port})["fired"]["owned"] is True
    jobs.end()


def test_before_the_start_of_a_job_no_port_is_its_own(cli: Cli, program: Callable[..., Program]) -> None:
    other = program()
    job = cli.ok("create", "sleep 60")["job_id"]
    for condition in (f"port={other.port}", f"http=http://127.0.0.1:{other.port}/"):
        early = wait(cli, job, condition, timeout_ms=100)
        assert (early["fired"], early["timed_out"]) == (None, True)
        assert "has not started" in early["hint"]


# --- over MCP ----------------------------------------------------------------------------------------------------------


@MODERN_FIRST
def test_a_model_is_told_who_has_the_port_of_its_server(
    cli: Cli, mcp_session: McpSession, port: int, jobs: Jobs
) -> None:
    old = background(cli, "--title", "old server", *serving(port))
    wait(cli, old, {"port": port})
    started = mcp_session.call("exec", command="exec sleep 60", until=[{"port": port}, {"fail_regex": "ERROR"}])
    assert started["fired"] is None and started["held_by"]["job_id"] == old
    assert (
        f"of job {old} (old server), which belongs to the command line. Give the job another port, or ask before"
        in started.text
    )
    assert started["held_by"]["owner"] == "the command line" and "Not yet" not in started.text
    anybodys = mcp_session.call("process", action="wait", job_id=started["job_id"], until=[{"port": port, "any": True}])
    assert "a process that is not this job's listens on it" in anybodys.text
    jobs.end()


@MODERN_FIRST
def test_behind_a_wall_the_job_and_the_command_of_another_client_are_not_told(
    cli: Cli, mcp_connect: Callable[..., McpSession], port: int, jobs: Jobs
) -> None:
    old = background(cli, "--title", "old server", *serving(port))
    wait(cli, old, {"port": port})
    walled = mcp_connect(client_name="walled", args=["--isolate"])
    held = walled.ok("exec", command="exec sleep 60", until=[{"port": port}])["held_by"]
    assert held["command"].startswith("python") and " " not in held["command"]
    assert "job_id" not in held

    jobs.end()
