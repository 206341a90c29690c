"""A server goes on with the code that it was started with while `pip` replaces or deletes the files of that code.

Our own modules are in memory from the start (launch/fork_server_client.py). Here the server takes care of the other
packages that it imports late, and tells its log once that another version of outlive is installed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module

import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult

import outlive
from outlive.mcp.caller import Request
from outlive.supervisor import large_code
from outlive.system import code_archive, fds

# They import parts of themselves late; no process maps a page of the 7 MB of their archive
_PACKAGES = ("anyio", "mcp", "pydantic", "starlette")
_LOOK_EVERY_S = 60.0
_VERSION = re.compile(r"^__version__ = ['\"]([^'\"]+)", re.MULTILINE)


class OwnCode:
    """Middleware of the SDK's server. `log` gets the line about another version."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._has_own = False
        self._look_at = 0.0  # on the monotonic clock

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        finally:
            if not self._has_own:  # after the first answer, which clients wait for
                self._has_own = True
                ctx.lifespan_context.start_soon(partial(anyio.to_thread.run_sync, _keep, abandon_on_cancel=True))
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


def _keep() -> None:
    """Import what the server imports late, or keep it within reach. Call it in a thread, so that other requests are
    answered meanwhile."""
    with suppress(OSError, ImportError):  # then they are imported when they are needed, if they are still there
        archive = fds.memory_file("packages", b"")  # open as long as this process lives
        code_archive.write(archive, *_PACKAGES)
        code_archive.import_from(archive, *_PACKAGES)
        large_code.load()
        import_module("h11")  # with which a wait asks a web server
