"""What a process does to itself: prctl(2), and its place in the process table.

Apart from `process`, because ctypes costs every command line a millisecond and only supervisors come here.
"""

from __future__ import annotations

import ctypes
import os

from outlive.system.process import stat_fields

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_areas: tuple[int, ...] | None = None  # where argv and environment lie; the same in whatever is forked from here


def become_subreaper() -> bool:
    """Orphans below us come to us instead of to PID 1 (prctl(2)); False where there is no such thing."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, *map(ctypes.c_ulong, (1, 0, 0, 0))) == 0)
    except AttributeError:
        return False


def rename(title: str) -> None:
    """Show `title` in the process table, and drop the inherited argv and environment from it.

    Agents run `pkill python`; a forked CLI would also show its caller's argv (with what it may hold) for the life of
    the job, and its environment would carry the cookie of an outer job. The areas are those of proc_pid_stat(5),
    fields 48-51; both are ordinary writable memory of the process.
    """
    global _areas
    try:
        libc = ctypes.CDLL(None)
        libc.prctl(
            _PR_SET_NAME, ctypes.c_char_p(title.split(maxsplit=1)[0].encode()[:15]), *map(ctypes.c_ulong, (0, 0, 0))
        )
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
