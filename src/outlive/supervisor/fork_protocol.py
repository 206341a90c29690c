"""How a job is handed to a pair of guardian and supervisor: the messages, and the launcher's
connections.

A command line loads this module, and not `guardian`, which it does not need.
"""

from __future__ import annotations

import json
import select
import socket
from contextlib import suppress

from outlive.system import fault_points, fds

# A message between launcher, guardian and supervisor: names, and their open files beside them
MESSAGE_BYTES = 400
# What a reader that adopts a job takes hold of at once, and sends to the new pair
HELD = ("stdout", "stderr", "pidfd")
# Supervisor to guardian, with the request: import what only some jobs need
PREPARE = b"prepare"
# Pair to launcher: it waits for another job
FREE = b"free"
# Server to fork server, behind the names of the files: the server can use this pair again, and wants an answer
LEND = "lend"
LENT, NOT_LENT = b"lent", b"none"


class Pair:
    """A launcher's connections to a pair that waits for a job."""

    def __init__(self, guardian: socket.socket, supervisor: socket.socket) -> None:
        self._guardian = guardian
        self._supervisor = supervisor
        self._given: list[socket.socket] = []

    @classmethod
    def new(cls) -> tuple[Pair, socket.socket, socket.socket]:
        """Return the connections to a pair that is to be forked, and its ends of them. Errors: OSError."""
        guardian_here, guardian_there = fds.pair()
        supervisor_here, supervisor_there = fds.pair()
        return cls(guardian_here, supervisor_here), guardian_there, supervisor_there

    def send(self, files: dict[str, int]) -> None:
        """Give the pair its job.

        `files`: open files by name. Every job has request, lock0, lock1 and waiter; stdin is the
        caller's, if there is one; an adoption has what the reader took hold of. The guardian's
        message stays in its socket, unread, until the job is over or the supervisor was killed.
        Errors: OSError.
        """
        for_supervisor = {name: fd for name, fd in files.items() if name != "lock1"}
        # The guardian first: the job must be there for it before its supervisor can be killed over it
        names = [name for name in ("lock1", "request", "stdin", *HELD) if name in files]
        fds.send(self._guardian, ",".join(names).encode(), tuple(files[name] for name in names))
        self._given.append(self._guardian)
        fault_points.at("send_guardian")
        with suppress(BrokenPipeError, ConnectionResetError):  # the supervisor was killed: its guardian starts the job
            fds.send(self._supervisor, ",".join(for_supervisor).encode(), tuple(for_supervisor.values()))
            self._given.append(self._supervisor)

    def is_free(self) -> bool | None:
        """Return whether the pair waits for another job, False if it takes no other one; None while it has its job."""
        try:
            return fds.receive(self._guardian, len(FREE), wait=False)[0] == FREE
        except BlockingIOError:
            return None
        except ConnectionResetError:
            return False

    def lend(self, borrower: socket.socket) -> None:
        """Send copies of both connections to a server, which may give the pair further jobs. Errors:
        OSError, BlockingIOError among them."""
        fds.send(borrower, LENT, (self._guardian.fileno(), self._supervisor.fileno()), wait=False)

    @classmethod
    def borrowed(cls, lender: socket.socket) -> Pair | None:
        """Return the pair that answers the oldest LEND of this socket, None if there was none to
        lend. Errors: OSError; BlockingIOError while there is no answer."""
        message, numbers = fds.receive(lender, MESSAGE_BYTES, wait=False)
        if not message:
            raise ConnectionResetError
        lines = [fds.socket_of(number) for number in numbers]
        return cls(*lines) if message == LENT else None

    def was_taken(self) -> bool:
        """Return whether the pair, which takes one job, received what it was sent, after waiting
        until that is certain.

        The supervisor closes its end once it has received. An end that is closed by a death, with a
        message in it that was not received, is reset (unix(7)). After a reset the guardian is
        asked: it receives when its supervisor was killed, and then closes its end too. So no
        process has to be looked up, whose pid may belong to another one by then.
        """
        return any(_was_received(sock) for sock in reversed(self._given))

    def close(self) -> None:
        """Hang up. A pair that was given no job ends by this."""
        self._guardian.close()
        self._supervisor.close()


def read(message: bytes, numbers: list[int]) -> tuple[dict[str, int], list[str]]:
    """Return the open files of a message by name, and the words behind their names."""
    names = message.decode().split(",")
    return dict(zip(names, numbers, strict=False)), names[len(numbers) :]


def refuse(waiter: socket.socket, error: OSError, **more: object) -> None:
    """Tell a launcher why nothing runs, unless it has ended."""
    refusal = {"failed": error.strerror or str(error), "errno": error.errno or 0, **more}
    with suppress(OSError):
        fds.send(waiter, json.dumps(refusal).encode())


def ready(timeout_s: float | None, *socks: socket.socket) -> list[int]:
    """Wait until there is something to receive. Return the fds of those sockets, none if the time is over."""
    poller = select.poll()
    for sock in socks:
        poller.register(sock, select.POLLIN)
    return [fd for fd, _ in poller.poll(None if timeout_s is None else timeout_s * 1000)]


def _was_received(sock: socket.socket) -> bool:
    try:
        return not sock.recv(1)  # nothing is ever sent back: end of file, or the reset
    except ConnectionResetError:
        return False
