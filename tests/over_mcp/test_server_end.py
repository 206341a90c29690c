"""A server that ends waits for what it started, and leaves no file behind, whether its client goes or a signal comes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest

from support import pair, processes
from support.cli import Cli
from support.mcp_client import RawMcp
from support.serve import Served
from support.tiers import first
from support.wait import until

# Its pairs stop while they make a directory for the next job, and it waits for them as long as this test needs
STOPS = (
    "from outlive.launch import fork_server_client; fork_server_client._END_S = 600; "
    "from outlive.system import fault_points; "
    "fault_points.carried = lambda: {fault_points.VARIABLE: 'stop:make_files'}"
)
START = f"import sys; {STOPS}; from outlive.__main__ import main; sys.exit(main())"


def temporary(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name.startswith(".tmp-")]


def supervisor_of(guardians: list[int]) -> int:
    """The supervisor that stopped, once one has."""
    found = [pid for one in guardians for pid in processes.descendants(one) if pair.is_stopped(pid)]
    return found[0] if found else 0


@pytest.mark.parametrize("ending", first(2, ["closed", "SIGTERM", "SIGINT"]))
def test_a_server_waits_for_a_pair_that_makes_a_directory(ending: str, place: Path, root: Path, work: Path) -> None:
    server = RawMcp(log=place / "mcp.log", command=[sys.executable, "-c", START, "mcp"])
    with server:
        server.start()
        job = server.call("exec", command="until [ -e go ]; do sleep 0.01; done", background=True)["job_id"]
        guardian, fork_server = pair.guardian(job), pair.fork_server(job)
        (work / "go").touch()
        stopped = until(lambda: supervisor_of([guardian]), what="a supervisor that stops while it makes a directory")
        try:
            assert temporary(root)
            server.close_stdin() if ending == "closed" else server.kill(getattr(signal, ending))
            until(lambda: not processes.is_alive(fork_server), what="the server to let go of its fork server")
        finally:
            os.kill(stopped, signal.SIGCONT)
        assert server.wait() == (0 if ending == "closed" else -getattr(signal, ending))
        assert not temporary(root)


@pytest.mark.parametrize("number", first(1, [signal.SIGTERM, signal.SIGINT]))
def test_a_signal_ends_a_server_over_http_and_deletes_its_socket(number: int, cli: Cli, place: Path) -> None:
    path = place / "socket"
    with Served(cli, place / "serve.log", "--socket", str(path)) as served:
        assert path.is_socket()
        served.process.send_signal(number)
        assert served.process.wait(60) in (-number, 128 + number)
    assert not path.exists()


def test_sigterm_before_a_server_over_http_listens_deletes_its_socket_too(cli: Cli, place: Path) -> None:
    path = place / "socket"
    early = "from outlive.mcp.http import greeting; import os; greeting.greet = lambda *_: os.kill(os.getpid(), 15)"
    served = Served(cli, place / "serve.log", "--socket", str(path), patch=early)
    with contextlib.ExitStack() as stack:
        with pytest.raises(AssertionError, match="ended with -15"):
            stack.enter_context(served)
        served.__exit__()
    assert not path.exists()
