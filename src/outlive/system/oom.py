"""Who is ended first when memory runs out (proc_pid_oom_score_adj(5): from -1000, never, to 1000), and who was."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE = "oom_score_adj"
_SPARED = (-500, 0)  # what a supervisor asks for, the first that is permitted
_LOG = "/dev/kmsg"
_RECORD_BYTES = 8_192
_CLOCKS_APART_US = 1_000_000  # between the log's clock and CLOCK_MONOTONIC
_NAMED = b"Killed process "  # mm/oom_kill.c; the pid follows

_callers: int | None = None  # the score we came with, if we have a lower one now


def score(pid: int | str = "self") -> int | None:
    """What is added to the process's badness; None where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/{_FILE}", "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def set_score(wanted: int, pid: int | str = "self") -> bool:
    """False where it is not permitted: lowering it below where it was once set needs CAP_SYS_RESOURCE."""
    try:
        fd = os.open(f"/proc/{pid}/{_FILE}", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(fd, b"%d" % wanted)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def may_fall() -> bool:
    """May this process lower its score? Tried out, and put back."""
    now = score()
    if now is None or now <= -1000:
        return now is not None
    if not set_score(now - 1):
        return False
    set_score(now)
    return True


def spare() -> None:
    """Let others be ended before this process, as far as that is permitted; what it starts as `AsCaller` is not spared.
    Where it is not permitted nothing changes."""
    global _callers
    before = score()
    if before is None or _callers is not None:
        return
    for wanted in _SPARED:
        if wanted < before and set_score(wanted):
            _callers = before
            return


class AsCaller:
    """What is started in here has the score that we were started with. Whoever was permitted to lower it may raise it and
    lower it again (__set_oom_adj() in fs/proc/base.c)."""

    __slots__ = ("_spared",)

    def __enter__(self) -> None:
        self._spared = None if _callers is None else score()
        if _callers is not None:
            set_score(_callers)

    def __exit__(self, *_: object) -> None:
        if self._spared is not None:
            set_score(self._spared)


def named_since(start_us: int) -> set[int]:
    """The pids, as the kernel counts them, of processes that its log says were ended for want of memory since then
    (microseconds of CLOCK_MONOTONIC). Empty where the log may not be read."""
    try:
        fd = os.open(_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return set()
    found = set()
    try:
        for record in _records(fd):
            head, _, text = record.partition(b";")
            fields, pid = head.split(b","), text.partition(_NAMED)[2].partition(b" ")[0]
            if pid.isdigit() and len(fields) > 2 and int(fields[2]) >= start_us - _CLOCKS_APART_US:
                found.add(int(pid))
    finally:
        os.close(fd)
    return found


def _records(fd: int) -> Iterator[bytes]:
    """One a read, oldest first (Documentation/ABI/testing/dev-kmsg)."""
    while True:
        try:
            record = os.read(fd, _RECORD_BYTES)
        except BrokenPipeError:  # it was overwritten before we came to it: the next read goes on behind it
            continue
        except OSError:  # EAGAIN: that was all
            return
        if not record:
            return
        yield record
