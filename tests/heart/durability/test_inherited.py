"""What a command is born with, whichever process starts it: the caller's umask, limits and directory; nothing else of the caller's."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import pair, processes
from support.cli import Cli, answer_of, environment
from support.mcp_client import RawMcp, server_command
from support.preloaded import OUTLIVE
from support.wait import until

pytestmark = pytest.mark.real_start  # what a start inherits

LIMITS = {
    resource.RLIMIT_NOFILE: (300, 400),
    resource.RLIMIT_CORE: (0, 0),
    resource.RLIMIT_STACK: (4 << 20, 8 << 20),
    resource.RLIMIT_CPU: (3600, 7200),
    resource.RLIMIT_FSIZE: (1 << 40, 1 << 41),
}
# Everything that execve(2) keeps, as the command sees it
PROBE = """
import json, os, resource, signal
blocked = [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())]
ignored = [int(n) for n in signal.valid_signals() if n not in (32, 33) and signal.getsignal(n) == signal.SIG_IGN]
mask = os.umask(0)
fds = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)]
try:
    terminal = bool(os.open("/dev/tty", os.O_RDWR))
except OSError:
    terminal = False
print(json.dumps({"blocked": blocked, "ignored": ignored, "umask": mask, "fds": sorted(fds), "terminal": terminal,
    "leader": os.getpid() == os.getsid(0) == os.getpgid(0), "cwd": os.getcwd(),
    "limits": {str(n): resource.getrlimit(n) for n in %r}}))
""" % (tuple(LIMITS),)
PYTHON_IGNORES = {13, 25}  # SIGPIPE and SIGXFSZ, by every Python for itself


def _checked(output: str, work: Path) -> None:
    found = json.loads(output)
    assert (found["blocked"], set(found["ignored"]) - PYTHON_IGNORES) == ([], set())
    assert found["umask"] == 0o027
    assert set(found["fds"]) == {0, 1, 2, 248, 249}, "the last two are the keepers"
    assert (found["terminal"], found["leader"], found["cwd"]) == (False, True, str(work))
    assert {int(name): tuple(pair_) for name, pair_ in found["limits"].items()} == LIMITS


def _spoilt() -> None:
    """A caller that is as odd as can be."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGINT})
    for name, pair_ in LIMITS.items():
        resource.setrlimit(name, pair_)
    os.umask(0o027)
    for fd in (3, 77, 200):
        os.dup2(2, fd)
        os.set_inheritable(fd, True)


@pytest.mark.fault("F42", "F43", "F50", "F54", "F62")
def test_a_command_line_passes_on_umask_limits_and_directory_and_nothing_else(cli: Cli, work: Path) -> None:
    words = [*OUTLIVE, "run", "--wait", "--", sys.executable, "-c", PROBE]
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=_spoilt,
        close_fds=False,
        timeout=60,
        check=False,
    )
    found = answer_of(done)
    _checked(found["output"], work)


@pytest.mark.fault("F42", "F43", "F50", "F54", "F62")
def test_a_server_passes_on_umask_limits_and_directory_and_nothing_else(
    raw_mcp: Callable[..., RawMcp], work: Path
) -> None:
    code = f"import os, resource\nLIMITS = {LIMITS!r}\n"
    code += "\n".join(line[4:] for line in _source_of_spoilt()) + "\nos.execv(sys.argv[1], sys.argv[1:])\n"
    server = raw_mcp(command=[sys.executable, "-c", "import sys\n" + code, *server_command(())])
    found = server.call("exec", command=[sys.executable, "-c", PROBE])
    _checked(found["output"], work)


def _source_of_spoilt() -> list[str]:
    import inspect

    return inspect.getsource(_spoilt).splitlines()[2:]


@pytest.mark.fault("S25")
def test_a_job_of_somebody_at_a_terminal_has_none_and_does_not_hear_it_close(cli: Cli, work: Path) -> None:
    master, slave = os.openpty()

    def at_the_terminal() -> None:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    words = [
        "run",
        "--snapshot-after",
        "0",
        "(: < /dev/tty) 2> no && echo terminal; until [ -e go ]; do sleep 0.1; done; exit 3",
    ]
    with subprocess.Popen(
        [*OUTLIVE, *words],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment(None),
        preexec_fn=at_the_terminal,  # noqa: PLW1509 - there is one thread
    ) as call:
        os.close(slave)
        job = answer_of(call)
    os.close(master)  # the window is closed: the kernel hangs up
    assert processes.is_alive(job["pid"])
    (work / "go").touch()
    ended = cli.ok("wait", job["job_id"])
    assert (ended["exit_code"], ended["output"]) == (3, "")
    assert "tty" in (work / "no").read_text(encoding="utf-8")


# --- process 1 of a container --------------------------------------------------------------------------------------


def _contained(*words: str) -> list[str]:
    return ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *words]


@pytest.fixture
def contained() -> Callable[..., list[str]]:
    tried = subprocess.run(_contained("true"), capture_output=True, check=False)
    if tried.returncode:
        pytest.skip(f"no namespace of processes here: {tried.stderr.decode().strip()}")
    return _contained


@pytest.mark.fault("F53")
def test_a_server_that_is_process_1_leaves_no_zombie_of_what_others_orphan_and_ends_with_its_client(
    raw_mcp: Callable[..., RawMcp], contained: Callable[..., list[str]], work: Path
) -> None:
    server = raw_mcp(command=contained(*server_command(())))
    assert server.call("exec", command="(sleep 0.05 &); exit 3")["exit_code"] == 3
    first = _first_of(server)
    # Another user of the container, as `docker exec` would: no supervisor is above it
    orphan = "(sleep 0.1 & echo $! >&3; exit) 3> orphan; exit 0"
    subprocess.run(
        ["nsenter", "-t", str(first), "-p", "-m", "sh", "-c", f"cd {work}; {orphan}"], check=True, timeout=30
    )
    assert (work / "orphan").read_text(encoding="utf-8").strip().isdigit()
    until(lambda: not _zombies_below(first), what="the end of all zombies")
    job_id = server.call("exec", command="sleep 60", yield_ms=0)["job_id"]
    fork_server = [pid for pid in processes.descendants(first) if pair.comm(pid) == pair.FORK_SERVER]
    assert fork_server
    pair.end(*fork_server)  # the next start makes a new one; the old one belongs to process 1
    assert server.call("exec", command="exit 4")["exit_code"] == 4
    until(lambda: not _zombies_below(first), what="the end of all zombies")
    assert server.call("process", action="status", job_id=job_id)["state"] == "running"
    server.call("process", action="remove", job_id=job_id)
    server.close_stdin()
    assert server.process.wait(60) == 0


def _first_of(server: RawMcp) -> int:
    """Process 1 of the container, as we see it."""
    (found,) = (pid for pid in processes.descendants(server.pid) if processes.parent(pid) == server.pid)
    return found


def _zombies_below(pid: int) -> list[int]:
    return [one for one in processes.descendants(pid) if not processes.is_alive(one)]


@pytest.mark.fault("F53")
def test_a_server_that_is_process_1_ends_by_term(
    raw_mcp: Callable[..., RawMcp], contained: Callable[..., list[str]]
) -> None:
    server = raw_mcp(command=contained(*server_command(())))
    server.call("exec", command="true")
    first = _first_of(server)
    os.kill(first, 15)
    assert server.process.wait(60) == 128 + 15


def test_a_command_line_that_is_process_1_tells_the_end_of_its_job(contained: Callable[..., list[str]]) -> None:
    done = subprocess.run(
        contained(*OUTLIVE, "run", "--wait", "(sleep 0.01 &); echo out; exit 6"),
        capture_output=True,
        timeout=60,
        check=False,
    )
    found: dict[str, Any] = answer_of(done)
    assert (found["exit_code"], found["output"]) == (6, "out\n")
