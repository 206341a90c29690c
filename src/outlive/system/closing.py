"""Close inherited file descriptors. Apart from fds.py: a command line closes none, and `prctl` takes a millisecond."""

from __future__ import annotations

import os

from outlive.system import prctl
from outlive.system.fds import open_fds


def cloexec_from(first: int) -> None:
    """Mark every fd from `first` on close-on-exec. `recv_fds` returns inheritable fds whatever flags say."""
    if prctl.close_from(first, at_exec=True):
        return
    for fd in open_fds():
        if fd >= first:
            try:
                os.set_inheritable(fd, False)
            except OSError:  # the fd of the listing itself, closed by now
                continue


def close_others(keep: set[int]) -> None:
    """Close all fds from 3 on but `keep`: an inherited listening socket would keep its port busy for ever."""
    first = 3
    for fd in sorted(keep - {0, 1, 2}):
        os.closerange(first, fd)
        first = fd + 1
    if not prctl.close_from(first):
        os.closerange(first, open_fds()[-1] + 1)  # `closerange` would try each number up to a high limit
