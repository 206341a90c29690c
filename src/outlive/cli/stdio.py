"""The CLI's own writing: answers on stdout, everything else on stderr."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WARNING, INFO, DEBUG = 0, 1, 2
_LEVELS = {"warning": WARNING, "warn": WARNING, "info": INFO, "debug": DEBUG}


def level(verbose: int, env: Mapping[str, str]) -> int:
    """How much is logged: the larger of -v and OUTLIVE_LOG (an unknown word there is `warning`)."""
    return max(min(verbose, DEBUG), _LEVELS.get(env.get("OUTLIVE_LOG", "").lower(), WARNING))


def write(data: bytes, fd: int = 1) -> None:
    """All of `data` to a standard stream. A reader that is gone is no error; OSError for everything else.

    Not sys.stdout: it raises BlockingIOError half way through where a terminal shared with node is non-blocking, and
    complains about a broken pipe again at exit.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            _until_writable(fd)
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.ECONNRESET):
                return
            raise


def text(shown: str) -> None:
    """Text to stdout; what UTF-8 cannot carry is shown as an escape."""
    write(shown.encode("utf-8", "backslashreplace"))


def note(shown: str) -> None:
    """Text to stderr. Nobody is left to hear that this failed."""
    try:
        write(shown.encode("utf-8", "backslashreplace"), 2)
    except OSError:
        pass


def open_standard_fds() -> None:
    """Takes the places of closed standard streams, or a file of the store would get fd 1 and our answer with it."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free fd: this one


def _until_writable(fd: int) -> None:
    import select

    poller = select.poll()
    poller.register(fd, select.POLLOUT)
    poller.poll()
