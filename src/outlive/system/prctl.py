"""What a process does to itself: prctl(2), and its place in the process table.

Apart from `process`, because ctypes costs every command line a millisecond and only supervisors come here.
"""

from __future__ import annotations

import ctypes
import os

from outlive.system.process import stat_fields

_PR_SET_NAME = 15
_CLOSE_RANGE_CLOEXEC = 4
_SYS_CLOSE_RANGE = 436  # the same number on every architecture (it came after the tables were unified)
_PR_SET_CHILD_SUBREAPER = 36
# Made once, before anything is forked: a CDLL is a new class with its functions, and each process would have its own
_libc = ctypes.CDLL(None)
_NOTHING = tuple(map(ctypes.c_ulong, (0, 0, 0)))
_YES = tuple(map(ctypes.c_ulong, (1, 0, 0, 0)))
_areas: tuple[int, ...] | None = None  # where argv and environment lie; the same in whatever is forked from here


def become_subreaper() -> bool:
    """Orphans below us come to us instead of to PID 1 (prctl(2)); False where there is no such thing."""
    try:
        return bool(_libc.prctl(_PR_SET_CHILD_SUBREAPER, *_YES) == 0)
    except AttributeError:
        return False


def mark_cloexec(first: int) -> bool:
    """Mark every fd from `first` on close-on-exec (close_range(2), Linux 5.11); False where there is no such thing."""
    try:
        most = ctypes.c_uint(0xFFFFFFFF)
        return bool(_libc.syscall(_SYS_CLOSE_RANGE, ctypes.c_uint(first), most, _CLOSE_RANGE_CLOEXEC) == 0)
    except AttributeError:  # no syscall(): not Linux
        return False


def rename(title: str) -> None:
    """Show `title` in the process table, and drop the inherited argv and environment from it.

    Agents run `pkill python`; a forked CLI would also show its caller's argv (with what it may hold) for the life of
    the job, and its environment would carry the cookie of an outer job. The areas are those of proc_pid_stat(5),
    fields 48-51; both are ordinary writable memory of the process.
    """
    global _areas
    try:
        _libc.prctl(_PR_SET_NAME, ctypes.c_char_p(title.split(maxsplit=1)[0].encode()[:15]), *_NOTHING)
        if _areas is None:
            fields = stat_fields(os.getpid())
            if not fields or len(fields) < 49:
                return
            _areas = tuple(int(fields[i]) for i in (45, 46, 47, 48))
    except (AttributeError, OSError, ValueError):
        return
    arg_start, arg_end, env_start, env_end = _areas
    if not 0 < arg_start < arg_end or not env_start <= env_end:
        return
    room = arg_end - arg_start
    ctypes.memset(arg_start, 0, room)
    ctypes.memmove(arg_start, title.encode()[: room - 1], min(len(title.encode()), room - 1))
    ctypes.memset(env_start, 0, env_end - env_start)
