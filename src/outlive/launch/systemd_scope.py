"""A job in a control group of its own: `systemd-run --scope` puts a small process of ours into a new transient scope, and
that one forks guardian and supervisor there. What ends the group of whoever started the job (a logout with
KillUserProcesses, the restart of a service) then leaves the job alone.

Nothing is sent before our process in the scope has said that it is there: if systemd cannot be reached, nothing ran.
"""

from __future__ import annotations

import os
import signal

from outlive.launch import fork_server_client
from outlive.system import fault_points, fds, systemd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PROGRAM = "systemd-run"
_THERE = b"there"
# What systemd-run needs to find the manager of the user; the environment of the job travels in its request
_KEPT = ("PATH", "HOME", "LANG", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


def _words(job_id: str) -> list[str]:
    """Root's jobs are the system manager's: root has no manager of its own unless it logged in."""
    manager = [] if os.geteuid() == 0 else ["--user"]
    # Delegated: else systemd stops the whole scope when the kernel ends one process of it for want of memory (OOMPolicy=),
    # and keeps the command from making groups below it
    return [
        *(_PROGRAM, *manager, "--scope", "--collect", "--quiet", f"--unit={systemd.scope_of_job(job_id)}"),
        *("--property=Delegate=yes", f"--description=outlive job {job_id}", "--"),
        *fork_server_client.interpreter("once"),
    ]


class Launcher:
    """One job's way into its scope. `fileno` is readable when `is_there` has something new to say. Close it after use."""

    def __init__(self, job_id: str, env: Mapping[str, str]) -> None:
        """Errors: OSError if there is no systemd-run."""
        self._pid = 0
        here, there = fds.pair()
        here.setblocking(False)
        self._sock = here
        self._said = fds.memory_file("systemd-run", b"")
        code = fork_server_client.code_file()
        try:
            moves = [(os.POSIX_SPAWN_DUP2, old, new) for old, new in ((there.fileno(), 0), (code, 1), (self._said, 2))]
            self._pid = os.posix_spawnp(_PROGRAM, _words(job_id), _environment(env), file_actions=moves)
        except OSError as error:
            self.close()
            raise OSError(f"{_PROGRAM} cannot be run: {error.strerror}") from error
        finally:
            os.close(code)
            there.close()

    def fileno(self) -> int:
        return self._sock.fileno()

    def is_there(self) -> bool:
        """Does our process run in the scope? Errors: OSError, in the words of systemd-run, if it never will."""
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
        said = fds.read_all(self._said).decode("utf-8", "replace").split("\n")
        words = next((line.strip() for line in said if line.strip()), "it ended without a word")
        return f"{_PROGRAM} made no scope: {words}"

    def send(self, files: dict[str, int]) -> None:
        """Hand the job to a pair that is forked in the scope. `files` as in `Pair.send`. Errors: OSError."""
        fds.send(self._sock, ",".join(files).encode(), tuple(files.values()))

    def close(self) -> None:
        """Ours in the scope forks the pair it was asked for and ends, or ends because it was asked for nothing."""
        self._sock.close()
        os.close(self._said)
        if self._pid:
            os.waitpid(self._pid, 0)
            self._pid = 0

    def give_up(self) -> None:
        """It took too long, or nobody waits any more. Nothing was sent, so nothing can have run."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)  # our child, and not waited for: it is nobody else
        self.close()


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    kept = {name: env[name] for name in _KEPT if name in env}
    kept.setdefault("PATH", os.defpath)
    place = f"/run/user/{os.geteuid()}"
    if os.path.isdir(place):  # a client may have started us with a bare environment
        kept.setdefault("XDG_RUNTIME_DIR", place)
    return kept | fault_points.carried()
