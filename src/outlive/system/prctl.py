"""What a process does to itself: prctl(2), close_range(2), and its title in the process table.

Only the C half of `ctypes` is loaded, as long as it has the functions that we know. The Python half
would add 2 ms to each job that a command line starts, and memory to guardian and supervisor.
"""

from __future__ import annotations

import os

from outlive.system.process import stat_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_NAME = 15
_CLOSE_RANGE_CLOEXEC = 4
# The same number on every architecture (it came after the tables were unified)
_SYS_CLOSE_RANGE = 436
_PR_SET_CHILD_SUBREAPER = 36
# Where argv and environment lie; the same in whatever is forked from here
_areas: tuple[int, ...] | None = None


def _by_address() -> Callable[..., int]:
    """Return a function that calls libc's functions by their names. Errors: ImportError,
    AttributeError."""
    from _ctypes import call_cdeclfunction, dlopen, dlsym

    library = dlopen(None, 0)  # type: ignore[arg-type]  # None: what is in this process

    def call(name: str, *values: int | bytes) -> int:
        """Call a function of libc. Errors: OSError if there is none of this name."""
        return int(call_cdeclfunction(dlsym(library, name), values))

    return call


def _by_ctypes() -> Callable[..., int]:
    import ctypes

    library = ctypes.CDLL(None)

    def call(name: str, *values: int | bytes) -> int:
        try:
            return int(getattr(library, name)(*values))
        except AttributeError as error:
            raise OSError(str(error)) from error

    return call


try:
    _libc = _by_address()
except (ImportError, AttributeError):
    _libc = _by_ctypes()
libc = _libc  # for system calls that the module `os` does not have


def become_subreaper() -> bool:
    """Make orphans below this process its children instead of PID 1's (prctl(2)); return False
    where that is not possible."""
    try:
        return _libc("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except OSError:
        return False


def mark_cloexec(first: int) -> bool:
    """Mark every fd from `first` on close-on-exec; return False where close_range(2) cannot do it
    (before Linux 5.11)."""
    try:
        return _libc("syscall", _SYS_CLOSE_RANGE, first, -1, _CLOSE_RANGE_CLOEXEC) == 0
    except OSError:  # a libc without syscall()
        return False


def rename(title: str) -> None:
    """Show `title` in the process table instead of the inherited argv, and wipe the inherited
    environment.

    Agents run `pkill python`. A forked CLI would also show its caller's argv, with any secret in
    it, for the life of the job, and its environment would carry the cookie of an outer job. The
    areas are those of proc_pid_stat(5), fields 48-51; both are ordinary writable memory of the
    process.
    """
    global _areas
    try:
        _libc("prctl", _PR_SET_NAME, title.split(maxsplit=1)[0].encode()[:15], 0, 0, 0)
        if _areas is None:
            fields = stat_fields(os.getpid())
            if not fields or len(fields) < 49:
                return
            _areas = tuple(int(fields[i]) for i in (45, 46, 47, 48))
    except (OSError, ValueError):
        return
    arg_start, arg_end, env_start, env_end = _areas
    if not 0 < arg_start < arg_end or not env_start <= env_end:
        return
    room = arg_end - arg_start
    _overwrite((arg_start, title.encode()[: room - 1].ljust(room, b"\0")), (env_start, bytes(env_end - env_start)))


def _overwrite(*pieces: tuple[int, bytes]) -> None:
    """Write bytes at addresses of our own memory (proc_pid_mem(5))."""
    try:
        fd = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            for address, data in pieces:
                os.pwrite(fd, data, address)
        finally:
            os.close(fd)
    except OSError:  # some sandboxes do not let a process open it
        import ctypes

        for address, data in pieces:
            ctypes.memmove(address, data, len(data))
