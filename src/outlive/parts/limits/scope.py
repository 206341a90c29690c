"""A job in a control group of its own.

`systemd-run --scope` puts a fork server for one job into a new transient scope, where it forks
guardian and supervisor. What ends the control group of the caller (a logout with KillUserProcesses,
the restart of a service) then does not end the job. The job is sent when the fork server in the
scope has said that it runs: if systemd cannot be reached, nothing ran.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping

from outlive import limits
from outlive.core.records import Definition
from outlive.errors import OutliveError, argument
from outlive.launch import fork_server_client
from outlive.launch.engine import Caller
from outlive.parts.limits import own_group
from outlive.parts.resources import RESOURCES
from outlive.system import fault_points, fds, own_programs, systemd
from outlive.system.waiting import pause

_PROGRAM = "systemd-run"
_THERE = b"there"
# What systemd-run needs to find the manager of the user; the environment of the job travels in its
# request
_KEPT = ("PATH", "HOME", "LANG", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


def for_limits(caller: Caller, definition: Definition) -> Launcher | None:
    """Return a launcher in a scope of the job's own, which is a control group that systemd delegates, if its limits need
    one; None where none can be had: the answer then says what is not limited."""
    if definition.host is not None or not own_group.needs_scope(definition.kept[RESOURCES]):
        return None
    try:
        return asked_for(caller, definition)
    except OutliveError:
        return None


def asked_for(caller: Caller, definition: Definition) -> Launcher:
    """Return a launcher in a scope of the job's own. Errors: launch_failed; then nothing was started."""
    launcher: Launcher | None = None
    deadline = time.monotonic() + limits.LAUNCH_S
    try:
        launcher = Launcher(definition.job_id, caller.env)
        while not launcher.is_there():
            if time.monotonic() >= deadline:
                raise OSError(f"systemd-run made no scope within {limits.LAUNCH_S:.0f} s")
            pause((launcher.fileno(),), deadline)
    except BaseException as error:
        if launcher is not None:
            launcher.give_up()
        if isinstance(error, OSError):
            raise OutliveError("launch_failed", f"{error}; nothing was run", hint=_without_scope(caller)) from error
        raise
    return launcher


def _without_scope(caller: Caller) -> str:
    flag = f"{argument('no_systemd_scope')}, or " if caller.face == "cli" else ""
    return (
        "A scope needs a systemd that can be reached (`systemctl status`, for a user `systemctl --user status`); "
        f"`outlive doctor` tells. Without one: {flag}systemd_scope = false in [exec] of the configuration."
    )


def _words(job_id: str) -> list[str]:
    """Return the arguments of systemd-run. Jobs of root go to the system manager: root has no other one
    unless it logged in."""
    manager = [] if os.geteuid() == 0 else ["--user"]
    # Delegated, because systemd would stop the whole scope when the kernel ends one process in it
    # for want of memory (OOMPolicy=), and the command could not make groups below it
    return [
        *(*manager, "--scope", "--collect", "--quiet", f"--unit={systemd.scope_of_job(job_id)}"),
        *("--property=Delegate=yes", f"--description=outlive job {job_id}", "--"),
        *fork_server_client.interpreter("once"),
    ]


class Launcher:
    """Start one job in a scope. `fileno` is readable when `is_there` may return something new. Close it after use."""

    def __init__(self, job_id: str, env: Mapping[str, str]) -> None:
        """Errors: OSError if there is no systemd-run."""
        self._pid = 0
        here, there = fds.pair()
        here.setblocking(False)
        self._sock = here
        with contextlib.closing(there):
            self._said = fds.memory_file("systemd-run", b"")
            files = (there.fileno(), fork_server_client.code_file(self._said), self._said)
            moves = [(os.POSIX_SPAWN_DUP2, old, new) for new, old in enumerate(files)]
            try:
                words = own_programs.elsewhere([own_programs.find(_PROGRAM, env), *_words(job_id)], env)
                self._pid = os.posix_spawn(words[0], words, _environment(env), file_actions=moves)
            except OutliveError as error:
                self.close()
                raise OSError(f"{_PROGRAM} cannot be run: {error.message}") from error
            except OSError as error:
                self.close()
                raise OSError(f"{_PROGRAM} cannot be run: {error.strerror}") from error

    def fileno(self) -> int:
        return self._sock.fileno()

    def is_there(self) -> bool:
        """Return whether the fork server runs in the scope. Errors: OSError, in the words of
        systemd-run, if it never will."""
        try:
            message = self._sock.recv(len(_THERE))
        except BlockingIOError:
            return False
        except ConnectionResetError:
            message = b""
        if message != _THERE:
            raise OSError(self._why())
        fault_points.at("scope_entered")
        return True

    def _why(self) -> str:
        lines = fds.read_all(self._said).decode("utf-8", "replace").split("\n")
        words = next((line.strip() for line in lines if line.strip()), "it ended without a word")
        return f"{_PROGRAM} made no scope: {words}"

    def send(self, files: dict[str, int]) -> None:
        """Hand the job to a pair that is forked in the scope. `files` as in `Pair.send`. Errors: OSError."""
        fds.send(self._sock, ",".join(files).encode(), tuple(files.values()))

    def close(self) -> None:
        """Hang up. The fork server in the scope forks the pair that it was asked for and ends, or just ends."""
        self._sock.close()
        os.close(self._said)
        if self._pid:
            os.waitpid(self._pid, 0)
            self._pid = 0

    def give_up(self) -> None:
        """End a start that took too long, or that was cancelled. Nothing was sent, so nothing can have run."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)  # a child that was not reaped yet: the pid cannot be another process's
        self.close()


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    safe = own_programs.environment(env)
    kept = {name: safe[name] for name in _KEPT if name in safe}
    kept.setdefault("PATH", os.defpath)
    place = f"/run/user/{os.geteuid()}"
    if os.path.isdir(place):  # a client may have started this process with a bare environment
        kept.setdefault("XDG_RUNTIME_DIR", place)
    return kept | fault_points.carried()
