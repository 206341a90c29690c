"""The environment of jobs. Desktop clients start servers with a bare one, so PATH comes from the login shell."""

from __future__ import annotations

import os
import pwd
import select
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from outlive.errors import OutliveError
from outlive.mcp import introduction
from outlive.system import fds, own_programs

PROFILE_S = 3.0  # a login shell that takes longer is killed
FIRST_JOB_S = 1.0  # the first job waits this long for the login shell
_REAP_S = 0.5
_LOOK_S = 0.005
_MARK = "--outlive-path--"  # around PATH, since profiles print greetings
_SCRIPT = f"printf '%s%s%s' {_MARK} \"$PATH\" {_MARK}"
_MAX_BYTES = 262_144


class JobEnvironment:
    """The environment of jobs. Call `start` at once, `get` for each job, and `close` at the end."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._shell: int | None = None  # its pid
        self._reader: threading.Thread | None = None
        self._settled = threading.Event()
        self._settled.set()

    def start(self) -> None:
        """Start the login shell, whose PATH replaces the server's when it prints it. Returns at once."""
        shell = _login_shell(self._env)
        started = None
        if shell is not None:
            with suppress(OSError, ValueError, OutliveError):
                started = _started(shell, self._env)
        if started is None:
            return
        self._shell, printed = started
        self._settled.clear()
        self._reader = threading.Thread(target=self._read_login_path, args=(self._shell, printed), daemon=True)
        self._reader.start()

    @property
    def is_settled(self) -> bool:
        """Whether PATH is known."""
        return self._settled.is_set()

    def wait(self) -> None:
        """Wait until it is, at most FIRST_JOB_S seconds."""
        self._settled.wait(FIRST_JOB_S)

    def current(self) -> dict[str, str]:
        """Return a job's environment as far as it is known."""
        return dict(self._env)

    def close(self) -> None:
        """End the login shell if it still runs."""
        if self._shell is None or self._reader is None:
            return
        if not self._settled.is_set():
            with suppress(ProcessLookupError):
                os.killpg(self._shell, signal.SIGKILL)
        self._reader.join(2 * _REAP_S)

    def _read_login_path(self, shell: int, printed: int) -> None:
        try:
            self._take(_printed(printed))
        finally:
            self._settled.set()
            _end(shell)
            os.close(printed)

    def _take(self, printed: bytes) -> None:
        parts = printed.split(_MARK.encode())
        if len(parts) >= 3:
            own = self._env.get("PATH", "")
            # A profile that adds to PATH was given less than ours: a job gets the whole, in its order
            given = own_programs.environment({"PATH": own, "HOME": self._env.get("HOME", "/")})["PATH"]
            self._env["PATH"] = merged_path(os.fsdecode(parts[-2]).replace(given, own or given, 1), own)


def merged_path(login: str, own: str) -> str:
    """Return a PATH of the login shell's entries and of our other ones. Ours go last, but those stay first that stand
    before all that we share with the login shell: an activated virtual environment puts its own there. Empty entries,
    which would mean the current directory, are left out."""
    of_login, ours = ([entry for entry in path.split(":") if entry] for path in (login, own))
    shared = next((place for place, entry in enumerate(ours) if entry in of_login), 0)
    return ":".join(dict.fromkeys([*ours[:shared], *of_login, *ours])) or os.defpath


def job_directory(env: Mapping[str, str]) -> str | None:
    """Return the directory of a job that names none; None if the server's own is that of a plugin. It may be missing:
    then the call says which one is."""
    project = env.get("CLAUDE_PROJECT_DIR")
    if project and os.path.isabs(project) and os.path.isdir(project):
        return project
    return None if introduction.in_plugin(env) else introduction.current_directory()


def _login_shell(env: Mapping[str, str]) -> str | None:
    """Return the user's shell, that of the system's list where no program that outlive runs may be what SHELL names."""
    shells = [env.get("SHELL", "")]
    with suppress(KeyError):
        shells.append(pwd.getpwuid(os.getuid()).pw_shell)
    usable = (
        one for one in shells if os.path.isabs(one) and os.access(one, os.X_OK) and own_programs.is_safe(one, env)
    )
    shell = next(usable, None)
    return None if shell is None or os.path.basename(shell) in ("nologin", "false", "true") else shell


def _started(shell: str, env: Mapping[str, str]) -> tuple[int, int]:
    """Start the login shell in a session of its own, which keeps its profile off the client's terminal and lets
    us kill the group. Return its pid, and the end of the pipe that it prints to. Errors: OSError, ValueError,
    launch_failed."""
    words = own_programs.elsewhere([shell, "-lc", _SCRIPT], env)
    printed, there = os.pipe()
    try:
        pid = os.posix_spawn(
            words[0],
            words,
            own_programs.environment(env),  # the programs that its profile calls
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, there, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores them
        )
    except BaseException:
        os.close(printed)
        raise
    finally:
        os.close(there)
    return pid, printed


def _printed(pipe: int) -> bytes:
    """Return what the shell prints up to our second mark, in PROFILE_S seconds: a profile may leave an agent behind
    that keeps the pipe open."""
    deadline = time.monotonic() + PROFILE_S
    printed = b""
    while printed.count(_MARK.encode()) < 2 and len(printed) < _MAX_BYTES:
        if not fds.poll(pipe, select.POLLIN, max(0, deadline - time.monotonic()) * 1000):
            break
        data = os.read(pipe, 65_536)
        if not data:
            break
        printed += data
    return printed


def _end(shell: int) -> None:
    """Reap the shell. If it does not end by itself, kill it with its process group."""
    if not _is_reaped(shell, _REAP_S / 10):
        with suppress(ProcessLookupError):
            os.killpg(shell, signal.SIGKILL)
        _is_reaped(shell, _REAP_S)


def _is_reaped(pid: int, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    with suppress(ChildProcessError):
        while not os.waitpid(pid, os.WNOHANG)[0]:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
    return True
