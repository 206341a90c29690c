"""Moving bytes from a pipe into a file without ever holding them.

A pump that reads and then writes loses what it holds when it is killed in between (21 of 25 runs
were whole); splice(2) moves pages inside the kernel, and 25 of 25 were.
"""

from __future__ import annotations

import fcntl
import os
import sys
import termios

from outlive.system import fault_points


def move(source: int, target: int, offset: int, count: int) -> int:
    """Move up to `count` bytes from a pipe to a file at `offset`; return how many, 0 at end of file. Errors:
    BlockingIOError when the pipe is empty; OSError of the file (ENOSPC, EDQUOT, EIO, EFBIG)."""
    fault_points.at("output_ordered")
    moved = os.splice(source, target, count, offset_dst=offset, flags=os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK)
    if moved:
        fault_points.at("output_moved")
    return moved


def relay(source: int, target: int, count: int) -> int:
    """Move up to `count` bytes from a terminal's master into a pipe; return how many. Errors: BlockingIOError when
    there are none or the pipe is full, OSError EIO when no process has the slave open."""
    moved = os.splice(source, target, count, flags=os.SPLICE_F_NONBLOCK)
    fault_points.at("output_relayed")
    return moved


def feed(source: int, target: int, count: int) -> int:
    """Move up to `count` bytes from a file, at its own offset, into the non-blocking pipe `target`;
    return how many, 0 at end of file.

    Errors: BlockingIOError when the pipe is full, BrokenPipeError when no process has its read end
    open.
    """
    fed = os.splice(source, target, count, flags=os.SPLICE_F_NONBLOCK)
    fault_points.at("input_moved")
    return fed


def waiting_bytes(fd: int) -> int:
    """Return how many bytes a pipe holds now (FIONREAD, pipe(7))."""
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)
