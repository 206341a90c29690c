"""A job without a sandbox may write into its own directory and stop its own supervisor: kill ends it all the same."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.system import tree
from support import pair, processes
from support.cli import Cli
from support.tiers import first
from support.wait import until

# A descendant in a session of its own, without a parent, and without the cookie
ESCAPED = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; open('escaped', 'w').write(str(__import__('os').getpid())); time.sleep(600)"], {})
    os._exit(0)
time.sleep(600)
"""


def _deaf_socket(directory: Path) -> None:
    """A socket of another program: this one. It takes every connection, and never answers."""
    os.unlink(directory / ".io" / "control")
    here = os.getcwd()
    os.chdir(directory / ".io")
    try:
        _listening.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        _listening[-1].bind("control")
        _listening[-1].listen(100)
    finally:
        os.chdir(here)


_listening: list[socket.socket] = []


def _emptied(*names: str) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        for name in names:
            (directory / name).write_bytes(b"")

    return spoil


def _another_lock(directory: Path) -> None:
    (directory / "lock").unlink()
    (directory / "lock").touch(0o600)


SPOILT: dict[str, Callable[[Path], object]] = {
    "a socket of another program": _deaf_socket,
    "state and order": _emptied("state.json", "order"),
    "no socket": lambda directory: shutil.rmtree(directory / ".io"),
    "all records": _emptied("state.json", "order", "events.ndjson", "meta.json"),
    "garbage": lambda directory: [(directory / name).write_bytes(b"\xff") for name in ("state.json", "order")],
    "another lock": _another_lock,
    "no lock": lambda directory: (directory / "lock").unlink(),
    "nothing": lambda directory: None,
}


@pytest.mark.fault("D08")
@pytest.mark.parametrize("stopped", first(1, [False, True]))
@pytest.mark.parametrize("spoilt", first(2, SPOILT))
def test_kill_ends_what_a_job_started_whatever_it_has_made_of_its_directory(
    cli: Cli, root: Path, work: Path, spoilt: str, stopped: bool
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", sys.executable, "-c", ESCAPED)["job_id"]
    until((work / "escaped").exists)
    until((work / "escaped").read_text, what="its pid")
    pids = {int((work / "escaped").read_text()), *(member.pid for member in tree.with_cookie(job))}
    assert len(pids) == 2
    supervisor = pair.supervisor(job)
    SPOILT[spoilt](root / job)
    if stopped:
        os.kill(supervisor, signal.SIGSTOP)
        until(lambda: pair.is_stopped(supervisor), what="the stop")
    try:
        found = cli.ok("kill", job, "--grace-ms", "2s", timeout=60)
        assert found["survivors"] == []
        assert not [pid for pid in pids if processes.is_alive(pid)]
        if stopped and spoilt == "nothing":
            assert f"kill -CONT {supervisor}" in found["hint"]
    finally:
        os.kill(supervisor, signal.SIGCONT) if stopped else None
        while _listening:
            _listening.pop().close()
    until(lambda: not pair.supervisor_now(job), what="the supervisor's end")
    if spoilt not in ("nothing", "no socket"):
        return
    assert cli.ok("status", job)["state"] == "killed"
