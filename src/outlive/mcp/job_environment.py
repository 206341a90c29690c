"""The environment of jobs. Desktop clients start servers with a bare one, so PATH comes from the
login shell."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILE_S = 3.0  # a login shell that takes longer is killed
FIRST_JOB_S = 1.0  # the first job waits this long for the login shell
_REAP_S = 0.5
_MARK = "--outlive-path--"  # around PATH, since profiles print greetings
_SCRIPT = f"printf '%s%s%s' {_MARK} \"$PATH\" {_MARK}"
_MAX_BYTES = 262_144


class JobEnvironment:
    """The environment of jobs. Call `start` at once, run `read_login_path` beside the server,
    and `get` for each job."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._shell: subprocess.Popen[bytes] | None = None
        self._settled = anyio.Event()

    def start(self) -> None:
        """Start the login shell, whose profile runs during our imports."""
        shell = _login_shell(self._env)
        if shell is None:
            return
        with suppress(OSError, ValueError):
            self._shell = subprocess.Popen(
                [shell, "-lc", _SCRIPT],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # keeps the profile off the client's terminal, and lets us kill the group
                env=self._env,
            )

    async def read_login_path(self) -> None:
        """Take over PATH when the shell prints it. Without an answer the server's own PATH
        stays. Raises nothing."""
        try:
            if self._shell is not None:
                with anyio.move_on_after(PROFILE_S):
                    self._take(await _printed(self._shell))
        finally:
            self._settled.set()
            if self._shell is not None:
                await _end(self._shell)

    async def get(self) -> dict[str, str]:
        """Return a job's environment. Wait at most FIRST_JOB_S seconds if PATH is not known yet."""
        if not self._settled.is_set():
            with anyio.move_on_after(FIRST_JOB_S):
                await self._settled.wait()
        return dict(self._env)

    def current(self) -> dict[str, str]:
        """Return the environment without waiting, for calls that start nothing."""
        return dict(self._env)

    def _take(self, printed: bytes) -> None:
        parts = printed.split(_MARK.encode())
        if len(parts) >= 3:
            self._env["PATH"] = merged_path(os.fsdecode(parts[-2]), self._env.get("PATH", ""))


def merged_path(login: str, own: str) -> str:
    """Return a PATH of the login shell's entries and then of our other ones.

    Empty entries are left out: they would mean the current directory.
    """
    return ":".join(dict.fromkeys(entry for entry in f"{login}:{own}".split(":") if entry)) or os.defpath


def job_directory(env: Mapping[str, str]) -> str | None:
    """Return the directory of a job that names none, None if the server's own was deleted."""
    project = env.get("CLAUDE_PROJECT_DIR")
    if project and os.path.isabs(project) and os.path.isdir(project):
        return project
    with suppress(OSError):
        return os.getcwd()
    return None


def _login_shell(env: Mapping[str, str]) -> str | None:
    shell = env.get("SHELL", "")
    if not shell:
        with suppress(KeyError):
            shell = pwd.getpwuid(os.getuid()).pw_shell
    usable = os.path.isabs(shell) and os.access(shell, os.X_OK)
    return shell if usable and os.path.basename(shell) not in ("nologin", "false", "true") else None


async def _printed(shell: subprocess.Popen[bytes]) -> bytes:
    """Return what the shell prints up to our second mark. A profile may leave an agent behind
    that keeps the pipe open."""
    assert shell.stdout is not None
    fd = shell.stdout.fileno()
    found = b""
    while found.count(_MARK.encode()) < 2 and len(found) < _MAX_BYTES:
        await anyio.wait_readable(fd)
        data = os.read(fd, 65_536)
        if not data:
            break
        found += data
    return found


async def _end(shell: subprocess.Popen[bytes]) -> None:
    with anyio.CancelScope(shield=True):
        for attempt in ("leave", "kill"):
            if attempt == "kill":
                with suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
            with anyio.move_on_after(_REAP_S if attempt == "kill" else _REAP_S / 10):
                while shell.poll() is None:
                    await anyio.sleep(0.005)
            if shell.returncode is not None:
                break
    assert shell.stdout is not None
    shell.stdout.close()
