"""Run actions in an event loop: what jobs/waiting.py does with poll(2), without blocking the
other calls."""

from __future__ import annotations

import sys
import traceback
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import anyio.to_thread

from outlive.jobs.waiting import is_waiting

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Pause
    from outlive.verbs.spec import Verb

# Slow verbs must never take all threads of anyio
_SLOW_AT_ONCE = 4
_slow = anyio.CapacityLimiter(_SLOW_AT_ONCE)


async def run(verb: Verb, ctx: Context, args: dict[str, Any]) -> Any:
    """Return the result of an action. Cancellation closes the action; what it started goes on."""
    if verb.slow:
        # Abandoned on cancellation: a cancelled call must not wait for a thread that walks
        # thousands of files
        start = partial(verb.run, ctx, **args)
        found = await anyio.to_thread.run_sync(start, abandon_on_cancel=True, limiter=_slow)
    else:
        found = verb.run(ctx, **args)
    return await drive(found, slow=verb.slow) if is_waiting(found) else found


async def drive(found: Generator[Pause, None, Any], *, slow: bool = False) -> Any:
    """Return the result of a waiting action."""
    try:
        while True:
            # Not abandoned: a generator cannot be closed while a thread runs it
            ended, value = await anyio.to_thread.run_sync(_step, found, limiter=_slow) if slow else _step(found)
            if ended:
                return value
            await _sleep(value)
    finally:
        found.close()


async def drive_on(found: Generator[Pause, None, None]) -> None:
    """Drive what goes on after its call was answered. An error is logged: no call is left that it
    could be told to."""
    try:
        await drive(found)
    except Exception:  # noqa: BLE001 - the server outlives its own faults
        traceback.print_exc(file=sys.stderr)


def _step(found: Generator[Pause, None, Any]) -> tuple[bool, Any]:
    """Return (False, the next pause) or (True, the result), since StopIteration cannot cross a
    future."""
    try:
        return False, next(found)
    except StopIteration as stop:
        return True, stop.value


async def _sleep(pause: Pause) -> None:
    fds = set(pause.fds)
    with anyio.move_on_after(pause.timeout_s()):
        if not fds:
            await anyio.sleep_forever()
        elif len(fds) == 1:
            await _readable(fds.pop())
        else:
            await _any_readable(fds)


async def _any_readable(fds: set[int]) -> None:
    async with anyio.create_task_group() as group:

        async def one(fd: int) -> None:
            await _readable(fd)
            group.cancel_scope.cancel()

        for fd in fds:
            group.start_soon(one, fd)


async def _readable(fd: int) -> None:
    try:
        await anyio.wait_readable(fd)
    except PermissionError:
        # epoll(7) refuses regular files; for poll(2) they are always readable
        await anyio.lowlevel.checkpoint()
