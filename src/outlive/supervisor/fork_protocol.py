"""How a job is handed to a pair of guardian and supervisor: the messages, and the launcher's
connections.

A command line loads this module, and not `guardian`, which it does not need.
"""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.system import fault_points, fds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

# What a reader that adopts a job takes hold of at once, and sends to the new pair
HELD = ("stdout", "stderr", "pidfd")
# Supervisor to guardian: the job is over, and a takeover would find nothing to go on with
OVER = b"over"
# Guardian to a supervisor that waits: no job will come
END = b"end"
# Pair to launcher: it waits for another job. The name of a directory that it made ahead may follow
FREE = "free"
# Words behind the names of the files. LEND, server to fork server: the server can use this pair
# again, and wants an answer. AHEAD, to a supervisor: make a directory for the next job when this
# one is over
LEND, AHEAD = "lend", "ahead"
LENT, NOT_LENT = b"lent", b"none"
# What a supervisor tells its server before it makes a directory for the next job: a server that
# ends waits for it
MAKING = b"making"
_SHUT_WR, _SHUT_RDWR = 1, 2  # sys/socket.h


class Pair:
    """A launcher's connections to a pair that waits for a job."""

    def __init__(self, guardian: socket.socket, supervisor: socket.socket) -> None:
        self._guardian = guardian
        self._supervisor = supervisor
        self._given: list[socket.socket] = []
        self.ahead = False

    def send(self, files: dict[str, int], *, ahead: bool = False) -> None:
        """Give the pair its job.

        `files`: open files by name. Every job has request, lock0, lock1 and waiter; stdin is the
        caller's, if there is one; an adoption has what the reader took hold of. `ahead`: the pair
        makes a directory for the next job. Errors: OSError.
        """
        self.ahead = ahead
        for_supervisor = {name: fd for name, fd in files.items() if name != "lock1"}
        # The guardian first: it must know the job before its supervisor can be killed over it
        names = [name for name in ("lock1", "request", "stdin", *HELD) if name in files]
        fds.send(self._guardian, ",".join(names).encode(), tuple(files[name] for name in names))
        self._given.append(self._guardian)
        fault_points.at("send_guardian")
        try:
            words = ",".join([*for_supervisor, *([AHEAD] if ahead else [])])
            fds.send(self._supervisor, words.encode(), tuple(for_supervisor.values()))
            self._given.append(self._supervisor)
        except (BrokenPipeError, ConnectionResetError):  # the supervisor was killed: its guardian starts the job
            return

    def said(self) -> tuple[str, list[int]] | None:
        """Return the pair's next word about itself with the open files that came with it, None if
        there is none yet.

        FREE means that it waits for another job; the name of a directory may follow, whose open
        files are those that store/preallocated.py describes. An empty word means that the pair
        takes no other job.
        """
        try:
            message, numbers = fds.receive(self._guardian, limits.CONTROL_BYTES, wait=False)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            return "", []
        if message:
            self._is_making()  # it was, and is not any more
        return message.decode(), numbers

    def leave(self) -> bool:
        """Say that no other job will come. Return whether the pair has to be waited for: it makes a
        directory just now, or has just offered one.

        A supervisor says that it makes one, and then looks whether this was said: it either hears
        it or is heard.
        """
        try:
            self._supervisor.shutdown(_SHUT_WR)
            self._guardian.shutdown(_SHUT_RDWR)  # an offer from here on would hold the locks of what is to be deleted
        except OSError:  # it has ended
            pass
        said, numbers = self.said() or ("", ())
        for number in numbers:
            os.close(number)
        return bool(said) or self._is_making()

    def wait(self, deadline: float) -> None:
        """Wait until the supervisor has ended, after `leave`, and no longer than `deadline` on the
        monotonic clock.
        """
        while (left_s := deadline - time.monotonic()) > 0 and ready(left_s, self._supervisor):
            try:
                if not fds.receive(self._supervisor, limits.CONTROL_BYTES, wait=False)[0]:
                    return
            except OSError:
                return

    def _is_making(self) -> bool:
        """Take what the supervisor has said; return whether that was MAKING."""
        try:
            return fds.receive(self._supervisor, limits.CONTROL_BYTES, wait=False)[0] == MAKING
        except OSError:  # it has said nothing, or has ended
            return False

    def lend(self, borrower: socket.socket) -> None:
        """Send copies of both connections to a server, which may give the pair further jobs.

        Errors: OSError, BlockingIOError among them.
        """
        fds.send(borrower, LENT, (self._guardian.fileno(), self._supervisor.fileno()), wait=False)

    @classmethod
    def borrowed(cls, lender: socket.socket) -> Pair | None:
        """Return the pair that answers the oldest LEND of this socket, None if there was none to
        lend.

        Errors: OSError; BlockingIOError while there is no answer.
        """
        message, numbers = fds.receive(lender, limits.CONTROL_BYTES, wait=False)
        if not message:
            raise ConnectionResetError
        lines = [fds.socket_of(number) for number in numbers]
        return cls(*lines) if message == LENT else None

    def was_taken(self) -> bool:
        """Return whether guardian or supervisor received what it was sent, after waiting until that
        is certain.

        Both close their end once they have received. An end that is closed by a death, with a
        message in it that was not received, is reset (unix(7)). So no process has to be looked up,
        whose pid may belong to another one by then.
        """
        return any(_was_received(sock) for sock in self._given)

    def close(self) -> None:
        """Hang up. A pair that was given no job ends by this."""
        self._guardian.close()
        self._supervisor.close()


def read(message: bytes, numbers: list[int]) -> tuple[dict[str, int], list[str]]:
    """Return the open files of a message by name, and the words behind their names."""
    names = message.decode().split(",")
    return dict(zip(names, numbers, strict=False)), names[len(numbers) :]


def ready(timeout_s: float | None, *socks: socket.socket) -> list[int]:
    """Wait until there is something to receive. Return the fds of those sockets, none if the time
    is over.
    """
    import select  # late: the pair of a command line has one job

    poller = select.poll()
    for sock in socks:
        poller.register(sock, select.POLLIN)
    return [fd for fd, _ in poller.poll(None if timeout_s is None else timeout_s * 1000)]


def _was_received(sock: socket.socket) -> bool:
    try:
        return not sock.recv(1)  # nothing is ever sent back: end of file, or the reset
    except ConnectionResetError:
        return False
