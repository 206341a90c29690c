"""Log of the libraries below `outlive serve`: faults of the program only, without any value.

By themselves the libraries log a line for each malformed request, so that strangers could fill a
disk, and quote what a client sent, which may be its secret.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator

import anyio
from starlette.requests import ClientDisconnect

from outlive.parts.http.private_parts import QUOTING_LOGGER

_LEFT = (ClientDisconnect, anyio.ClosedResourceError, anyio.BrokenResourceError)


def keep_mistakes(log: Callable[[str], None]) -> None:
    """From here on log only faults of the program, with their tracebacks and no value."""
    root = logging.getLogger()
    root.handlers[:] = [_Mistakes(log)]
    logging.raiseExceptions = False


class _Mistakes(logging.Handler):
    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or record.name == QUOTING_LOGGER or not (mistakes := list(_mistakes(error))):
            return
        said = [f"{record.name}: {record.msg}"]  # without its arguments, which come from the client
        for one in mistakes:
            said += [
                "Traceback (most recent call last):",
                "".join(traceback.format_tb(one.__traceback__)) + type(one).__name__,
            ]
        self._log("\n".join(said))


def _mistakes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of a group, without those that only say that a client went away."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _mistakes(one)
    elif not isinstance(error, _LEFT):
        yield error
