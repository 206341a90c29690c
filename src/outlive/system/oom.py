"""Which process the kernel ends when memory runs out, by its score (-1000, never, to 1000), and which it has ended."""

from __future__ import annotations

import os
from collections.abc import Iterator

from outlive.system import fds

_FILE = "oom_score_adj"
_SPARED = (-500, 0)  # the scores that a supervisor asks for; it gets the first that is permitted
_LOG = "/dev/kmsg"
_RECORD_BYTES = 8_192
_CLOCKS_APART_US = 1_000_000  # between the log's clock and CLOCK_MONOTONIC
_NAMED = b"Killed process "  # mm/oom_kill.c; the pid follows

_callers: int | None = None  # the score we came with, if we have a lower one now


def score(pid: int | str = "self") -> int | None:
    """Return what is added to the badness of a process; None where the kernel does not say."""
    text = fds.content(f"/proc/{pid}/{_FILE}")
    return int(text) if text else None


def set_score(wanted: int) -> bool:
    """Set the score of this process; return False where it is not permitted. Lowering it below a value that was set
    needs CAP_SYS_RESOURCE."""
    try:
        with fds.Closing(os.open(f"/proc/self/{_FILE}", os.O_WRONLY | os.O_CLOEXEC)) as fd:
            os.write(fd, b"%d" % wanted)
    except OSError:
        return False
    return True


def spare() -> None:
    """Let the kernel end other processes before this one, as far as that is permitted; commands
    that are started inside `AsCaller` are not spared. Where it is not permitted nothing changes."""
    global _callers
    before = score() if _callers is None else None
    if before is None:
        return
    for wanted in _SPARED:
        if wanted < before and set_score(wanted):
            _callers = before
            return


class AsCaller:
    """A context in which started processes get the score that this process was started with. A
    process that was permitted to lower its score may raise it and lower it again (__set_oom_adj()
    in fs/proc/base.c)."""

    def __enter__(self) -> None:
        self._spared = None if _callers is None else score()
        if _callers is not None:
            set_score(_callers)

    def __exit__(self, *_: object) -> None:
        if self._spared is not None:
            set_score(self._spared)


def named_since(start_us: int) -> set[int]:
    """Return the pids, in the first namespace, that the kernel's log says were ended for lack of memory since
    `start_us` (CLOCK_MONOTONIC); none where the log may not be read."""
    try:
        fd = os.open(_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return set()
    pids = set()
    with fds.Closing(fd):
        for record in _records(fd):
            head, _, text = record.partition(b";")
            fields, pid = head.split(b","), text.partition(_NAMED)[2].partition(b" ")[0]
            if pid.isdigit() and len(fields) > 2 and int(fields[2]) >= start_us - _CLOCKS_APART_US:
                pids.add(int(pid))
    return pids


def _records(fd: int) -> Iterator[bytes]:
    """Yield the records of the log, oldest first (Documentation/ABI/testing/dev-kmsg)."""
    while True:
        try:
            record = os.read(fd, _RECORD_BYTES)
        except BrokenPipeError:
            # It was overwritten before this read: the next one goes on after it
            continue
        except OSError:  # EAGAIN: that was all
            return
        if not record:
            return
        yield record
