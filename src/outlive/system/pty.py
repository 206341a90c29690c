"""Pseudo-terminals (pty(7)): a supervisor keeps the master, the command has the slave."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios

from outlive.core.record import Value
from outlive.system import fds

_IUTF8 = 0o40000  # termios(3): erase whole UTF-8 characters; Python knows the name from 3.14 on
# ioctl_tty(2), Linux 4.13: the slave of this master, whatever is mounted at /dev/pts
_TIOCGPTPEER = 0x5441
_LFLAG, _CC = 3, 6  # in what termios.tcgetattr returns


def open_pair(cols: int, rows: int) -> tuple[int, int]:
    """Return a new terminal of this size as (master, slave). The master never blocks. Errors:
    OSError, ENOSPC if the system has no terminal left."""
    master, slave = os.openpty()
    try:
        os.set_blocking(master, False)
        attributes = termios.tcgetattr(slave)
        attributes[0] |= _IUTF8
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        set_size(master, cols, rows)
    except BaseException:
        os.close(master)
        os.close(slave)
        raise
    return master, slave


def slave_of(master: int) -> int | None:
    """Open the slave of a master again, not as our controlling terminal; None where that is not possible."""
    try:
        return fcntl.ioctl(master, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


def set_size(fd: int, cols: int, rows: int) -> None:
    """Set the size. If it differs, the kernel sends SIGWINCH to the foreground group (ioctl_tty(2))."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def size(fd: int) -> tuple[int, int]:
    """Return (columns, rows)."""
    rows, cols, _, _ = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))
    return cols, rows


class Modes(Value):
    """What the line discipline does with typed input. `eof` is the character that ends it."""

    echo: bool
    canonical: bool
    eof: bytes


def modes(master: int) -> Modes:
    """Return the present modes of the slave, which the master answers for (ioctl_tty(2))."""
    attributes = termios.tcgetattr(master)
    eof = attributes[_CC][termios.VEOF]
    return Modes(
        echo=bool(attributes[_LFLAG] & termios.ECHO),
        canonical=bool(attributes[_LFLAG] & termios.ICANON),
        eof=eof if isinstance(eof, bytes) else bytes((eof,)),
    )


def unread(slave: int) -> int:
    """Return how many bytes of what was typed can be read now: in canonical mode only whole lines."""
    count: int = struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, bytes(4)))[0]
    return count


def is_hung_up(master: int) -> bool:
    """Return whether no process has the slave open. It may be opened again by its name."""
    return bool(fds.poll(master, select.POLLIN) & select.POLLHUP)
