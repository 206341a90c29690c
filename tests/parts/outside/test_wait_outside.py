"""wait --until: a file, a port and a web server, beside conditions about the job itself."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import Cli
from support.jobs import background, wait
from support.wait import until

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


def test_a_file_that_appears_or_changes(cli: Cli, work: Path) -> None:
    (work / "old").write_text("before")
    os.utime(work / "old", (1, 1))
    script = "until [ -e go ]; do sleep 0.1; done; mkdir -p a/b; echo x > a/b/new; until [ -e go2 ]; do sleep 0.1; done; echo y >> old; exec sleep 60"
    job = background(cli, script)
    assert wait(cli, job, "file=a/b/new", timeout_ms=100)["timed_out"]
    (work / "go").touch()
    assert wait(cli, job, "file=a/b/new")["fired"] == {
        "condition": "file",
        "path": str(work / "a/b/new"),
        "job_id": job,
    }
    assert (
        wait(cli, job, {"file": str(work / "a" / "b" / "new")})["waited_ms"] < 20_000
    )  # made since the start: already true
    cli.ok("kill", job)


def test_a_file_that_was_there_before_has_to_change(cli: Cli, work: Path) -> None:
    (work / "old").write_text("before")
    job = background(cli, "sleep 0.1; echo up; until [ -e go ]; do sleep 0.1; done; echo y >> old; exec sleep 60")
    cli.ok("wait", job, "--until", "output")
    with cli.spawn("wait", job, "--until", "file=old") as waiter:
        (work / "go").touch()
        out, _ = waiter.communicate(timeout=60)
    assert json.loads(out)["fired"]["path"] == str(work / "old")
    cli.ok("kill", job)


def test_a_port_and_whose_it_is(cli: Cli, port: int) -> None:
    job = background(cli, "--", "sh", "-c", f"sleep 0.2; exec {sys.executable} -c '{LISTEN}' {port}")
    fired = wait(cli, job, {"port": port})["fired"]
    assert (fired["port"], fired["owned"], fired["address"]) == (port, True, "127.0.0.1")
    assert fired["pid"] == cli.ok("status", job)["pid"]
    other = background(cli, "exec sleep 60")
    foreign = wait(cli, other, f"port=localhost:{port} any")
    assert foreign["fired"]["owned"] is False
    assert wait(cli, other, {"port": port, "host": "127.0.0.2"}, timeout_ms=100)["timed_out"]
    for one in (job, other):
        cli.ok("kill", one)


def test_a_server_in_the_background_is_waited_for_after_its_starter_ended(cli: Cli, port: int, work: Path) -> None:
    script = f"(until [ -e go ]; do sleep 0.1; done; exec {sys.executable} -c '{LISTEN}' {port}) & exit 0"
    job = background(cli, "--", "sh", "-c", script)
    cli.ok("wait", job)
    with cli.spawn("wait", job, "--until", f"port={port}") as waiter:
        (work / "go").touch()
        out, _ = waiter.communicate(timeout=60)
    assert json.loads(out)["fired"]["owned"] is True
    cli.ok("kill", job)


class _Handler(http.server.BaseHTTPRequestHandler):
    ready = threading.Event()

    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/none" else 200 if self.ready.is_set() else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    _Handler.ready.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_web_server_that_is_up(cli: Cli, web: str) -> None:
    job = background(cli, "exec sleep 60")
    down = until(
        lambda: "status 503" in (found := wait(cli, job, f"http={web}/health any", timeout_ms=300))["hint"] and found,
        what="a wait as long as the server takes to answer",
    )
    assert down["timed_out"]
    missing = until(
        lambda: "status 404" in (found := wait(cli, job, f"http={web}/none any", timeout_ms=300))["hint"] and found,
        what="a wait as long as the server takes to answer",
    )
    assert missing["hint"].startswith(
        f'Last seen: {web}/none answered with status 404; "status": 404 in the condition takes'
    )
    assert wait(cli, job, {"http": f"{web}/none", "status": 404, "any": True})["fired"]["status"] == 404
    _Handler.ready.set()
    assert wait(cli, job, f"http={web}/health?x=1 any")["fired"]["url"] == f"{web}/health?x=1"
    assert wait(cli, job, f"http={web}/health any", timeout_ms=0)["fired"]["status"] == 200, "true already"
    cli.ok("kill", job)


def test_a_web_server_on_either_loopback_is_localhost(cli: Cli) -> None:
    _Handler.ready.set()
    with _OnIPv6(("::1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        job = background(cli, "exec sleep 60")
        fired = wait(cli, job, f"http=http://localhost:{server.server_port}/ any")["fired"]
        server.shutdown()
        thread.join()
    assert fired["status"] == 200
    cli.ok("kill", job)


class _OnIPv6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


def test_any_of_several_conditions(cli: Cli, port: int) -> None:
    job = background(cli, "sleep 0.1; echo ready; exec sleep 60")
    fired = wait(cli, job, "exit", f"port={port}", "file=never", "regex=ready", "idle_ms=60s")["fired"]
    assert fired["condition"] == "regex"
    cli.ok("kill", job)


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat from the state on (proc(5))."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()


def _ticks(pid: int) -> int:
    return int(_stat(pid)[11]) + int(_stat(pid)[12])


def _sleeps(pid: int) -> int:
    """Return how often a process gave its CPU back because it had nothing to do."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def test_a_wait_costs_no_cpu(cli: Cli, work: Path) -> None:
    job = background(cli, "until [ -e go ]; do sleep 0.1; done; echo hit")

    def looks_at_no_cost() -> bool:  # not in its first second: it loads what a long wait may need
        before, slept = _ticks(waiter.pid), _sleeps(waiter.pid)
        subprocess.run(["sleep", "1"], check=True)
        return _sleeps(waiter.pid) - slept >= 2 and _ticks(waiter.pid) - before <= 2

    with cli.spawn("wait", job, "--until", "regex=hit", "--until", "file=x") as waiter:
        try:
            until(looks_at_no_cost, what="a second in which the waiter looks and sleeps, and has no CPU")
        finally:
            (work / "go").touch()
        waiter.communicate(timeout=60)
