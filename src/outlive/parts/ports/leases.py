"""The leases of a user: a file that all job roots share, in which each port has a line and a lock of its own.

The line says which job had the port last, and for which worktree. A port is leased as long as the lock of its byte is
held, which supervisor and guardian do until nothing of the job lives; after that as long as a process of that job lives.
So a SIGKILL of both frees no port that is in use, and none is leased for ever. Nothing is ever removed from the file, and
no lock is waited for.
"""

from __future__ import annotations

import errno
import os
import socket
import time

from outlive.core.ids import ID_CHARS, is_id
from outlive.core.record import Value
from outlive.parts.ports import choice
from outlive.system import locks, tree

_LINE_BYTES = 64
_LOOK_S = 0.02
# So long a port of the same worktree is waited for that is about to be free: its supervisor writes down the end
_LET_GO_S = 0.5
_RESTART_S = 2.0  # ... and that of the job that this one restarts, whose last processes are ending


class Line(Value):
    """What the file says of a port. ("", "") for a port that no job had."""

    job_id: str = ""
    key: str = ""

    @classmethod
    def read(cls, data: bytes) -> Line:
        """What another program has spoilt counts as nothing."""
        words = data.split(b"\n", 1)[0].decode("ascii", "replace")
        return cls(words[:ID_CHARS], words[ID_CHARS + 1 :]) if is_id(words[:ID_CHARS]) else cls()

    def to_bytes(self) -> bytes:
        return f"{self.job_id} {self.key}\n".encode().ljust(_LINE_BYTES, b"\n")


class Leases(locks.LockFile):
    """The open file, with what this job leases of it."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.ports: list[int] = []

    def line(self, port: int) -> Line:
        return Line.read(os.pread(self.fd, _LINE_BYTES, port * _LINE_BYTES))

    def holder(self, port: int) -> str | None:
        """Return the id of the job that leases the port; None if none does."""
        job_id = self.line(port).job_id
        return job_id if job_id and (locks.is_held(self.fd, port) or tree.with_cookie(job_id)) else None

    def lease(self, first: int, last: int, place: str, name: str, job_id: str, before: str | None) -> int:
        """Lease a port of a range to a job, for the port `name` of a worktree. `before`: the job that it restarts. Errors:
        OSError, also if none is free."""
        key = choice.key_of(place, name)
        lines = os.pread(self.fd, (last - first + 1) * _LINE_BYTES, first * _LINE_BYTES)
        begins = (at for at in range(0, len(lines), _LINE_BYTES) if lines[at])
        known = {first + at // _LINE_BYTES: Line.read(lines[at : at + _LINE_BYTES]) for at in begins}
        mine = {port for port, line in known.items() if line.key == key}
        others = {port for port, line in known.items() if line.job_id and line.key != key}
        for port in choice.candidates(first, last, key, mine, others):
            if port in mine:
                self._wait_for(port, before)
            if self._take(port, Line(job_id, key)):
                return port
        raise OSError(
            0, f"no port from {first} to {last} is free: end a job that leases one, or set [ports] first and last"
        )

    def _take(self, port: int, line: Line) -> bool:
        """Take a port that is free, and write down whose it is."""
        if port in self.ports or not locks.take(self.fd, port):
            return False
        had = self.line(port).job_id  # read under the lock: another job may have come and gone
        if (had and had != line.job_id and tree.with_cookie(had)) or not is_free(port):
            locks.free(self.fd, port)
            return False
        os.pwrite(self.fd, line.to_bytes(), port * _LINE_BYTES)
        self.ports.append(port)
        return True

    def _wait_for(self, port: int, before: str | None) -> None:
        """Wait a little for a port that the last job of this worktree is about to let go of."""
        had = self.line(port).job_id
        began = time.monotonic()
        while True:
            is_alive = bool(tree.with_cookie(had))
            is_ending = had == before or not is_alive
            most = _RESTART_S if had == before else _LET_GO_S
            if not (is_alive or locks.is_held(self.fd, port)) or not is_ending or time.monotonic() - began > most:
                return
            time.sleep(_LOOK_S)

    def resume(self, ports: list[int], *, anew: bool) -> None:
        """Go on with the ports of a job whose supervisor was killed. `anew`: its guardian was too, so no lock is held."""
        self.ports = [port for port in ports if not anew or locks.take(self.fd, port)]

    def release(self) -> None:
        """End the leases, whichever processes have the file open too."""
        for port in self.ports:
            locks.free(self.fd, port)
        self.ports = []


def is_free(port: int) -> bool:
    """Return whether a server could listen on a port, at every address of this machine."""
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as sock:
                if family == socket.AF_INET6:
                    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, True)
                # As servers do: connections that a server left behind do not keep the next one from its port (socket(7))
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
                sock.bind((address, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
    return True
