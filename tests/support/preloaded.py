"""Starts of `python -m outlive` that cost a fork instead of an interpreter and its imports.

The default tier starts outlive some thousand times. Python, `site` and our imports take 30 ms of CPU each time, 0.8 s
with the SDK of MCP. So `subprocess.Popen` asks a process that has all of it loaded (`preloading.py`) for a copy. The
copy is a child of the process that asked (CLONE_PARENT), and everything that belongs to a start is as after a real one:
parent, process group and session, signals, mask, limits, umask, directory, open files, environment and arguments (also
where /proc shows them), `sys.argv`, `sys.path` and the standard streams (test_preloaded.py compares). What differs
is that the modules are loaded already, and that their memory is shared. The fork server of such a server is a copy too, and
the archives of code that a server makes are copied from ones that were made before (`preloading.py`). So is the mirror of a
job on another machine, and our end there, of a process that has loaded what was carried there (`fake_ssh.py`). These starts
are real:

- in tests that carry the marker `real_start`: tests about the start itself, about what it inherits, and about memory;
- of the HTTP server that the tests of a module share; over stdio, test_first_answers.py starts for real in both eras;
- in the slow tier, and everywhere with `--real-starts`;
- of commands that are worded in any other way than `OUTLIVE` (a shell that runs outlive, as on the pages of docs/, a
  copy of outlive, a patched call), and of a Popen with options that this module does not know. A server may have a
  patch: `python -c CODE mcp`, where CODE ends with `MAIN`. It is made when all modules are loaded;
- where the environment has other variables that an interpreter reads at its start, or this process other rights,
  another control group or another priority than when it started the preloaded process.
"""

from __future__ import annotations

import atexit
import inspect
import marshal
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support import preloading

OUTLIVE = (sys.executable, "-m", "outlive")
SERVERS = ("mcp", "serve", "ui")
MAIN = "from outlive.__main__ import main; sys.exit(main())"  # the end of what a patched server runs
_PROGRAM = Path(preloading.__file__)
# All of our own code but what brings large packages with it (the SDK, urwid, a parser of XML). A call that starts a job is
# four forks and more, and a fork costs what there is to share: with 80 MB of it instead of 36 a call takes a quarter longer
_FOR_CALLS = tuple(
    "outlive -outlive.mcp -outlive.parts.demo -outlive.parts.page -outlive.parts.http -outlive.parts.top -outlive.parts.reports"
    " -outlive.parts.hosts.ssh.mirror_process -outlive.parts.clients.asking -outlive.parts.after.chain -outlive.parts.push -outlive.parts.approvals.extension -outlive.parts.approvals.elicitation -mcp -pydantic -urwid".split()
)
_FOR_SERVERS = tuple("outlive anyio._backends._asyncio -outlive.parts.demo -outlive.parts.top".split())
BOUND_S = 180  # it loads the SDK, in each worker at once
# Where a copy shows its arguments and its environment is as long as ours are
_ARGUMENTS, _ENVIRONMENT = 8_192, 32_768
# What the interpreter, libc, the dynamic linker and libraries read once
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "TZ", "COVERAGE", "OPENSSL", "PYDANTIC", "OTEL")
_RIGHTS = ("Uid", "Gid", "Groups", "Cap", "NoNewPrivs", "Seccomp", "Cpus_allowed:", "Mems_allowed:")
_USUAL = {
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "startupinfo": None,
    "creationflags": 0,
    "shell": False,
    "restore_signals": True,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
}

allowed = True  # runner.py decides for each test
_popen: Any = subprocess.Popen  # with its private parts
_execute = _popen._execute_child
_parameters = inspect.signature(_execute)


class Preloaded:
    """A preloaded process, started when the first copy is asked for."""

    def __init__(self, *packages: str, place: str = "") -> None:
        """`place`: where the code lies, if it is not that of this environment."""
        self._packages = packages
        self._place = place
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None
        self.address = b""  # where copies of servers ask for a fork
        self._surroundings: Any = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def fileno(self) -> int:
        return self._sock.fileno() if self._sock else -1

    def copy(self, how: dict[str, Any], status: dict[str, str], forks: Preloaded | None = None) -> int | None:
        """Return the pid of a copy that runs what `how` says; None if only a real start can. `forks`: where it may ask for
        its fork server."""
        given = os.environ if how["env"] is None else how["env"]
        env = {os.fsencode(name): os.fsencode(value) for name, value in given.items()}
        argv = [os.fsencode(word) for word in how["args"]]
        surroundings = _surroundings(env, status)
        if not self._is_ready(env, status, surroundings) or not _fits(argv, env):
            return None
        forks_at = forks.address if forks is not None and forks._is_ready(env, status, surroundings) else b""
        with self._lock:
            files = [how[name] if how[name] >= 0 else fd for fd, name in enumerate(("p2cread", "c2pwrite", "errwrite"))]
            numbers = [0, 1, 2, *how["pass_fds"]]
            wanted = {
                "argv": argv,
                "env": env,
                "fds": numbers,
                "session": bool(how["start_new_session"]),
                "group": -1 if how["process_group"] is None else how["process_group"],
                "umask": int(status["Umask"], 8),
                "ignored": _numbers(status["SigIgn"]),
                "blocked": _numbers(status["SigBlk"]),
                "limits": {kind: resource.getrlimit(kind) for kind in _LIMITS},
                "forks_at": forks_at,
            }
            cwd = os.open(how["cwd"] or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return self._ask(marshal.dumps(wanted), [cwd, *files, *how["pass_fds"]])
            finally:
                os.close(cwd)

    def ready(self) -> bytes:
        """Return where a process with our environment may ask for a fork; nothing if only a real start can be."""
        env, status = dict(os.environb), _status()
        return self.address if allowed and self._is_ready(env, status, _surroundings(env, status)) else b""

    def _is_ready(self, env: dict[bytes, bytes], status: dict[str, str], surroundings: Any) -> bool:
        """Return whether it runs, is started if need be, and has these surroundings."""
        with self._lock:
            if self._process is None and surroundings != _surroundings(dict(os.environb), status):
                return False  # what it is told by variables of one test would hold for the next ones
            if self._process is None:
                self._start(env, surroundings)
            return bool(surroundings == self._surroundings)

    def _ask(self, data: bytes, files: list[int]) -> int:
        assert self._sock is not None
        socket.send_fds(self._sock, [data], files)
        said = {self._heard(), self._heard()}  # of the two processes, in either order
        assert b"ready" in said, said
        said.remove(b"ready")
        return int(said.pop())

    def _heard(self) -> bytes:
        assert self._sock is not None
        found = self._sock.recv(100)
        assert found, "the preloaded process has ended"
        return found

    def _start(self, env: dict[bytes, bytes], surroundings: Any) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(BOUND_S)
        room = {b"ROOM": b"-" * _ENVIRONMENT}
        kept = {name: value for name, value in env.items() if name == b"PATH" or _is_read_at_start(name)}
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind("")  # a name that is free (unix(7), "Autobind feature")
        listener.listen()
        self.address = listener.getsockname()
        numbers = [str(theirs.fileno()), str(listener.fileno())]
        words = [sys.executable, str(_PROGRAM), *numbers, ",".join(self._packages), self._place, " " * _ARGUMENTS]
        with theirs, listener:
            self._process = subprocess.Popen(
                words,
                env=kept | room,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), listener.fileno()],
            )
        self._sock, self._surroundings = ours, surroundings
        atexit.register(self.close)

    def close(self) -> None:
        """End the process; its copies go on."""
        if self._process is not None and self._sock is not None:
            self._sock.close()
            self._process.wait(BOUND_S)
            self._process = self._sock = None


_for_calls, _for_servers = Preloaded(*_FOR_CALLS), Preloaded(*_FOR_SERVERS)
_far: dict[Path, Preloaded] = {}


def far(place: Path) -> bytes:
    """Return where a program `ssh` of the tests asks for a fork of our end, which lies unpacked in this directory; nothing if
    only a real start can be."""
    return _far.setdefault(place, Preloaded("outlive.parts.hosts.far.main", place=str(place))).ready()


def _all() -> list[Preloaded]:
    return [_for_calls, _for_servers, *_far.values()]


def pids() -> set[int]:
    """Return the pids of the preloaded processes: children that no test has started."""
    return {one.pid for one in _all()} - {0}


def files() -> set[int]:
    """Return the file descriptors of the lines to them."""
    return {one.fileno() for one in _all()} - {-1}


def install() -> None:
    """Let each `subprocess.Popen` of this process take copies, where they are as good as a real start."""
    _popen._execute_child = _execute_or_copy


def _execute_or_copy(popen: Any, *arguments: Any) -> None:
    how = _parameters.bind(popen, *arguments).arguments
    pid = _copied(how)
    if pid is None:
        _execute(popen, *arguments)
        return
    popen.pid = pid
    popen._child_created = True
    pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
    popen._close_pipe_fds(*(how[name] for name in pipes))


def _copied(how: dict[str, Any]) -> int | None:
    words = how["args"]
    if not allowed or isinstance(words, (str, bytes, os.PathLike)) or not _is_known(words):
        return None
    how["args"] = list(words)
    if any(how[name] != value for name, value in _USUAL.items()):
        return None
    sys.audit("subprocess.Popen", words[0], how["args"], how["cwd"], how["env"])
    if words[3:4] and words[3] in (*SERVERS, "doctor"):  # which asks servers for their tools
        return _for_servers.copy(how, _status(), _for_calls)
    return _for_calls.copy(how, _status(), _for_calls)


def _is_known(words: Sequence[Any]) -> bool:
    """Return whether a command line is `OUTLIVE …`, or that of a server with a patch."""
    patched = tuple(words[:2]) == (sys.executable, "-c") and str(words[2]).endswith(MAIN) and len(words) > 3
    return words[3] in SERVERS if patched else tuple(words[:3]) == OUTLIVE


def _status() -> dict[str, str]:
    lines = Path("/proc/thread-self/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _surroundings(env: dict[bytes, bytes], status: dict[str, str]) -> Any:
    """Return what a copy cannot take on, for a comparison."""
    return (
        {name: value for name, value in env.items() if _is_read_at_start(name)},
        {name: value for name, value in status.items() if f"{name}:".startswith(_RIGHTS)},
        os.getpriority(os.PRIO_PROCESS, 0),
        Path("/proc/self/cgroup").read_text(),
        Path("/proc/self/oom_score_adj").read_text(),
        (os.getpgrp(), os.getsid(0)),
    )


def _is_read_at_start(name: bytes) -> bool:
    return os.fsdecode(name).startswith(_READ_AT_START)


def _fits(argv: list[bytes], env: dict[bytes, bytes]) -> bool:
    arguments, environment = sum(map(len, argv)) + len(argv), sum(len(k) + len(v) + 2 for k, v in env.items())
    return arguments < _ARGUMENTS and environment + len("PADDING=") < _ENVIRONMENT


def _numbers(mask: str) -> list[int]:
    bits = int(mask, 16)
    return [number for number in _SIGNALS if bits >> (number - 1) & 1]


_SIGNALS = sorted(map(int, signal.valid_signals()))
_LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
