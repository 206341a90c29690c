"""Write answers to stdout and everything else to stderr."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Mapping
from contextlib import suppress

from outlive.core.quoted import in_json, visible
from outlive.system import fds

WARNING, INFO, DEBUG = 0, 1, 2
_LEVELS = {"warning": WARNING, "warn": WARNING, "info": INFO, "debug": DEBUG}


class Unwritten(OSError):
    """A standard stream takes no more, as on a full disk."""


def level(verbose: int, env: Mapping[str, str]) -> int:
    """Return the log level: the larger of -v and OUTLIVE_LOG, where an unknown word means `warning`."""
    return max(min(verbose, DEBUG), _LEVELS.get(env.get("OUTLIVE_LOG", "").lower(), WARNING))


def write(data: bytes, fd: int = 1) -> None:
    """Write all of `data` to a standard stream. A reader that is gone is no error. Errors: Unwritten.

    Not sys.stdout: it raises BlockingIOError half way through where a terminal shared with node is non-blocking, and
    complains about a broken pipe again at exit."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            fds.poll(fd, select.POLLOUT, None)
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.ECONNRESET):
                return
            raise Unwritten(*error.args) from error


def json_line(encoded: bytes) -> None:
    """Write JSON and a newline to stdout. On a terminal, characters that are not seen become escapes, which mean the
    same in JSON. Errors: Unwritten."""
    if os.isatty(1):
        encoded = visible(encoded.decode(), in_json).encode()
    write(encoded + b"\n")


def text(shown: str) -> None:
    """Write text to stdout; what UTF-8 cannot encode is shown as an escape."""
    write(shown.encode("utf-8", "backslashreplace"))


def note(shown: str) -> None:
    """Write text to stderr. A failure is ignored: there is no stream left to report it on."""
    with suppress(Unwritten):
        write(shown.encode("utf-8", "backslashreplace"), 2)
