"""How a job is given to a pair: what its launcher holds of it. Apart from `pair`, which a command line has no need to load."""

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
# What a supervisor says to its guardian that has let go of its job
OVER = b"over"
# What a guardian says to its supervisor that waits: no job will come
END = b"end"
# What a pair says that waits for another job; behind it the name of a blank that it has made
FREE = "free"
# Words behind the names of the files. A server to its nursery: it can use the pair again, and is answered. To a
# supervisor: make a blank when the job is over.
LEND, AHEAD = "lend", "ahead"
LENT, NOT_LENT = b"lent", b"none"
# What a supervisor tells its server before it makes a directory for the next job: a server that ends waits for it
MAKING = b"making"
_SHUT_WR, _SHUT_RDWR = 1, 2  # sys/socket.h


class Pair:
    """The launcher's two lines to a pair that waits."""

    def __init__(self, guardian: socket.socket, supervisor: socket.socket) -> None:
        self._guardian = guardian
        self._supervisor = supervisor
        self._given: list[socket.socket] = []
        self.ahead = False

    def send(self, files: dict[str, int], *, ahead: bool = False) -> None:
        """Give the pair its job, by open files: request, lock0, lock1, waiter and, if the caller gave one, stdin; for an
        adoption what it took hold of. `ahead`: it makes a directory for the next one."""
        self.ahead = ahead
        for_supervisor = {name: fd for name, fd in files.items() if name != "lock1"}
        # The guardian first: it must know the job before its supervisor can be lost in it.
        names = [name for name in ("lock1", "request", "stdin", *HELD) if name in files]
        fds.send(self._guardian, ",".join(names).encode(), tuple(files[name] for name in names))
        self._given.append(self._guardian)
        fault_points.at("send_guardian")
        try:
            words = ",".join([*for_supervisor, *([AHEAD] if ahead else [])])
            fds.send(self._supervisor, words.encode(), tuple(for_supervisor.values()))
            self._given.append(self._supervisor)
        except (BrokenPipeError, ConnectionResetError):  # it was killed: its guardian starts the job
            return

    def said(self) -> tuple[str, list[int]] | None:
        """What it says of itself, if it has said anything new. FREE, and maybe a blank's name with its open files
        (store/preallocated.py): it waits for another job. "": there will be no other one."""
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
        """Say that no other job will come. Return whether the pair has to be waited for: it makes a directory just now,
        or has just offered one.

        A supervisor says that it makes one, and then looks whether this was said: it either hears it or is heard.
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
        """Wait until the supervisor has ended, after `leave`, and no longer than `deadline` on the monotonic clock."""
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
        """Hand our lines to somebody else, who may give it further jobs. Errors: OSError, BlockingIOError among them."""
        fds.send(borrower, LENT, (self._guardian.fileno(), self._supervisor.fileno()), wait=False)

    @classmethod
    def borrowed(cls, lender: socket.socket) -> Pair | None:
        """The answer to the oldest LEND of this socket; None: there was no pair to lend. Errors: OSError, BlockingIOError among
        them while there is no answer."""
        message, numbers = fds.receive(lender, limits.CONTROL_BYTES, wait=False)
        if not message:
            raise ConnectionResetError
        lines = [fds.socket_of(number) for number in numbers]
        return cls(*lines) if message == LENT else None

    def was_taken(self) -> bool:
        """Has one of them received what it was sent? Waits until one has, or none can any more.

        Both close their end once they have received. An end that is closed, by whatever death, with a message that nobody
        received is reset (unix(7)), so that no look at processes is needed, which are somebody else's in the next moment.
        """
        return any(_was_received(sock) for sock in self._given)

    def close(self) -> None:
        """A pair that was given nothing ends by this."""
        self._guardian.close()
        self._supervisor.close()


def read(message: bytes, numbers: list[int]) -> tuple[dict[str, int], list[str]]:
    """(files by name, the words behind them) of a message with open files."""
    names = message.decode().split(",")
    return dict(zip(names, numbers, strict=False)), names[len(numbers) :]


def ready(timeout_s: float | None, *socks: socket.socket) -> list[int]:
    """Return the fds of those sockets that have something to read, none if that took longer than `timeout_s`."""
    import select  # late: a command line's pair has one job

    poller = select.poll()
    for sock in socks:
        poller.register(sock, select.POLLIN)
    return [fd for fd, _ in poller.poll(None if timeout_s is None else timeout_s * 1000)]


def _was_received(sock: socket.socket) -> bool:
    try:
        return not sock.recv(1)  # nothing is ever sent back: the end of file, or the reset
    except ConnectionResetError:
        return False
