"""Our ends of a job: what its supervisor holds open, and what lies in escrow so that it stays open without one."""

from __future__ import annotations

import os

from outlive import limits
from outlive.store.jobdir import FIFOS, JobDir
from outlive.supervisor.control import listen
from outlive.supervisor.escrow import Escrow, adopt_socket
from outlive.supervisor.sources import Fifo, Master, new_relay
from outlive.system import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket


def open_readers(job: JobDir) -> list[int]:
    """The read ends of both FIFOs. They open at once, with or without a writer (fifo(7))."""
    return [job.open_file(name, os.O_RDONLY | os.O_NONBLOCK) for name in FIFOS]


class Ends:
    """`sources`: where output comes from. `stdin`: the write end of an open stdin. `master` and `slave`: of a job with a
    terminal; while the command runs we keep its slave open, so that a program that closes its terminal for a while is
    not taken for one that is done with it. `data`: an open file with the input that is to be fed first.
    """

    __slots__ = ("data", "listener", "master", "slave", "sources", "stdin", "stdin_escrow")

    def __init__(self, sources: list[Fifo | Master], listener: socket.socket, stdin_escrow: Escrow) -> None:
        self.sources = sources
        self.listener = listener
        self.stdin_escrow = stdin_escrow
        self.stdin: int | None = None
        self.data: int | None = None
        self.master: int | None = None
        self.slave: int | None = None

    @classmethod
    def made(cls, job: JobDir, escrow: Escrow, stdin_escrow: Escrow, *, pty: bool) -> Ends:
        """New ones, in escrow before anything can be written into them. Errors: OSError."""
        if not pty:
            readers = open_readers(job)
            ends = cls([Fifo(fd) for fd in readers], listen(job), stdin_escrow)
            escrow.put({"stdout": readers[0], "stderr": readers[1], "listener": ends.listener.fileno()})
            return ends
        master, slave = terminal.open_pair(limits.TERMINAL_COLS, limits.TERMINAL_ROWS)
        relay = new_relay()
        ends = cls([Master(master, relay)], listen(job), stdin_escrow)
        ends.master, ends.slave = master, slave
        held = {"master": master, "relay_out": relay[0], "relay_in": relay[1]}
        escrow.put({**held, "listener": ends.listener.fileno()})
        return ends

    @classmethod
    def taken(cls, job: JobDir, held: dict[str, int], stdin_escrow: Escrow) -> Ends:
        """What a killed supervisor left in escrow."""
        stdin = stdin_escrow.take()
        listener = adopt_socket(held["listener"]) if "listener" in held else listen(job)
        sources: list[Fifo | Master]
        if "master" in held:
            sources = [Master(held["master"], (held["relay_out"], held["relay_in"]))]
        else:
            readers = [held["stdout"], held["stderr"]] if "stdout" in held else open_readers(job)
            sources = [Fifo(fd) for fd in readers]
        ends = cls(sources, listener, stdin_escrow)
        ends.stdin, ends.data, ends.master = stdin.get("stdin"), held.get("data"), held.get("master")
        if ends.master is not None:
            ends.slave = terminal.slave_of(ends.master)
        return ends

    @classmethod
    def reopened(cls, job: JobDir, escrow: Escrow, stdin_escrow: Escrow, *, pty: bool) -> Ends:
        """What can be had of a job whose supervisors are all dead: its FIFOs by their names. A terminal went with the
        last fd of its master, and so did an open stdin."""
        job.make_io()
        if not pty:
            return cls.made(job, escrow, stdin_escrow, pty=False)
        ends = cls([], listen(job), stdin_escrow)
        escrow.put({"listener": ends.listener.fileno()})
        return ends

    def close_slave(self) -> None:
        if self.slave is not None:
            os.close(self.slave)
            self.slave = None
