"""Our ends of a job: what its supervisor holds open, and what lies in escrow so that it stays open without one."""

from __future__ import annotations

import os

from outlive import limits
from outlive.store.job_dir import FIFOS, JobDir
from outlive.supervisor.control_server import listen
from outlive.supervisor.escrow import Escrow, adopt_socket
from outlive.supervisor.fork_protocol import HELD
from outlive.supervisor.sources import Fifo, Master, new_relay
from outlive.system import process
from outlive.system import pty as pty_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from outlive.core.records import Identity


def open_readers(job: JobDir) -> list[int]:
    """The read ends of both FIFOs. They open at once, with or without a writer (fifo(7))."""
    return [job.open_file(name, os.O_RDONLY | os.O_NONBLOCK) for name in FIFOS]


def take_hold(job: JobDir, command: Identity | None, *, pty: bool) -> dict[str, int]:
    """What is lost when a command ends that nobody supervises: what lies in its FIFOs, and the handle by which the kernel
    tells its exit code. `command`: its identity. Names of HELD, as far as there is anything to hold. Errors: OSError, with nothing left open."""
    held: dict[str, int] = {}
    try:
        if not pty:
            try:
                held.update(zip(HELD, open_readers(job), strict=False))
            except FileNotFoundError:  # it ended, and they were removed
                pass
        pidfd = None if command is None else process.open_pidfd(command["pid"])
        if pidfd is not None:
            held["pidfd"] = pidfd
            if not process.is_same(command):  # looked at behind the open: from here on it is nobody else
                os.close(held.pop("pidfd"))
    except OSError:
        for fd in held.values():
            os.close(fd)
        raise
    return held


class Ends:
    """`sources`: where output comes from. `stdin`: the write end of an open stdin. `master` and `slave`: of a job with a
    terminal; while the command runs we keep its slave open, so that a program that closes its terminal for a while is
    not taken for one that is done with it. `data`: an open file with the input that is to be fed first. `pidfd`: the
    command's, if it was opened before we had the job.
    """

    __slots__ = ("data", "listener", "master", "pidfd", "slave", "sources", "stdin", "stdin_escrow")

    def __init__(self, sources: list[Fifo | Master], listener: socket.socket, stdin_escrow: Escrow) -> None:
        self.sources = sources
        self.listener = listener
        self.stdin_escrow = stdin_escrow
        self.stdin: int | None = None
        self.data: int | None = None
        self.master: int | None = None
        self.slave: int | None = None
        self.pidfd: int | None = None

    @classmethod
    def made(cls, job: JobDir, escrow: Escrow, stdin_escrow: Escrow, *, pty: bool) -> Ends:
        """New ones, in escrow before anything can be written into them. Errors: OSError."""
        if not pty:
            readers = open_readers(job)
            ends = cls([Fifo(fd) for fd in readers], listen(job), stdin_escrow)
            escrow.put({"stdout": readers[0], "stderr": readers[1], "listener": ends.listener.fileno()})
            return ends
        master, slave = pty_module.open_pair(limits.TERMINAL_COLS, limits.TERMINAL_ROWS)
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
            ends.slave = pty_module.slave_of(ends.master)
        return ends

    @classmethod
    def reopened(cls, job: JobDir, escrow: Escrow, stdin_escrow: Escrow, held: dict[str, int], *, pty: bool) -> Ends:
        """What can be had of a job whose supervisors are all dead: what a reader took hold of, else its FIFOs by their
        names. A terminal went with the last fd of its master, and so did an open stdin."""
        job.make_io()
        kept = {name: held[name] for name in HELD if name in held}
        if not pty and not {"stdout", "stderr"} <= kept.keys():
            kept.update(zip(HELD, open_readers(job), strict=False))
        sources: list[Fifo | Master] = [] if pty else [Fifo(kept[name]) for name in ("stdout", "stderr")]
        ends = cls(sources, listen(job), stdin_escrow)
        ends.pidfd = kept.get("pidfd")
        escrow.put({**kept, "listener": ends.listener.fileno()})
        return ends

    def close_slave(self) -> None:
        if self.slave is not None:
            os.close(self.slave)
            self.slave = None
