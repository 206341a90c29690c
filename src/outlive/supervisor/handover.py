"""How a job is given to a pair: what its launcher holds of it. Apart from `pair`, which a command line has no need to load."""

from __future__ import annotations

from outlive.system import crash, fds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

# What a reader that adopts a job takes hold of at once, and sends to the new pair
HELD = ("stdout", "stderr", "pidfd")


class Pair:
    """The launcher's two lines to a pair that waits."""

    def __init__(self, guardian: socket.socket, supervisor: socket.socket) -> None:
        self._guardian = guardian
        self._supervisor = supervisor
        self._given: list[socket.socket] = []

    def send(self, files: dict[str, int]) -> None:
        """Give the pair its job, by open files: request, lock0, lock1, waiter and, if the caller gave one, stdin; for an
        adoption what it took hold of."""
        for_supervisor = {name: fd for name, fd in files.items() if name != "lock1"}
        # The guardian first: it must know the job before its supervisor can be lost in it.
        names = [name for name in ("lock1", "request", "stdin", *HELD) if name in files]
        fds.send(self._guardian, ",".join(names).encode(), tuple(files[name] for name in names))
        self._given.append(self._guardian)
        crash.at("send_guardian")
        try:
            fds.send(self._supervisor, ",".join(for_supervisor).encode(), tuple(for_supervisor.values()))
            self._given.append(self._supervisor)
        except (BrokenPipeError, ConnectionResetError):  # it was killed: its guardian starts the job
            return

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


def _was_received(sock: socket.socket) -> bool:
    try:
        return not sock.recv(1)  # nothing is ever sent back: the end of file, or the reset
    except ConnectionResetError:
        return False
