"""A server goes on with the code that it was started with while `pip` replaces or deletes the files of that code.

Our own modules are held in memory from the start (launch/fork_server_client.py). Here the server holds the other
packages that it imports late, and tells its log once that another version of outlive is installed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult

import outlive
from outlive.core.linear_regex import re2
from outlive.mcp.caller import Request
from outlive.system import held_code

# An audit hook in all tests of tests/over_mcp saw these imported after the start: parts of anyio,
# pyte and wcwidth (`screen`), RE2 (`log` with a pattern), h11 (`wait` for a URL). The SDK, pydantic
# and starlette, which import parts of themselves late, are held whole: 7 MB that no process maps.
_LATE_PACKAGES = ("anyio", "mcp", "pydantic", "starlette", "h11", "pyte", "wcwidth")
_LOOK_EVERY_S = 60.0
_VERSION = re.compile(r"^__version__ = ['\"]([^'\"]+)", re.MULTILINE)


class OwnCode:
    """Middleware of the SDK's server. `log` gets the line about another version."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._holding = False
        self._look_at = 0.0  # on the monotonic clock

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        finally:
            if not self._holding:  # after the first answer, which clients wait for
                self._holding = True
                ctx.lifespan_context.start_soon(partial(anyio.to_thread.run_sync, _hold, abandon_on_cancel=True))
            if time.monotonic() >= self._look_at:
                self._look_at = time.monotonic() + _LOOK_EVERY_S
                self._look()

    def _look(self) -> None:
        with suppress(OSError, ValueError):  # it was removed, or is being replaced just now
            with open(outlive.__file__, encoding="utf-8") as file:
                version = _VERSION.search(file.read())
            if version is not None and version[1] != outlive.__version__:
                self._look_at = float("inf")
                self._log(
                    f"outlive {version[1]} is installed now; this server goes on with {outlive.__version__} until it is "
                    "restarted. Jobs are not affected."
                )


def _hold() -> None:
    """Hold the packages. Call it in a thread, so that other requests are answered meanwhile."""
    with suppress(OSError, ImportError):  # then they are imported when they are needed, if they are still there
        fd = held_code.image(*_LATE_PACKAGES)
        try:
            held_code.serve(fd)
        finally:
            os.close(fd)
        re2()  # an extension module cannot be held, only loaded
