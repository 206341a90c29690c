"""Run actions in an event loop: what jobs/waiting.py does with poll(2), without blocking the
other calls."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.waiting import WORK
from outlive.mcp.threads import Threads
from outlive.store.inspection import engine_record
from outlive.verbs.spec import STRS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, TypeVar

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Pause
    from outlive.verbs.spec import Verb

    Action = Generator[Pause | None, None, Any]
    T = TypeVar("T")

_TURN_S = 0.05  # of work in a thread, after which another call may have it

_threads = Threads()


async def run(verb: Verb, ctx: Context, args: dict[str, Any]) -> Any:
    """Return the result of an action. Cancellation closes the action; what it started goes on."""
    hosts = bool(ctx.config.hosts())
    if _needs_thread(verb, ctx, args, hosts=hosts):
        return await drive(_begun(verb, ctx, args), caller=ctx.owner, slow=True)
    action = verb.run(ctx, **args)
    return await drive(action, caller=ctx.owner, stays=hosts) if verb.waits else action


def _needs_thread(verb: Verb, ctx: Context, args: dict[str, Any], *, hosts: bool) -> bool:
    """Return whether a call works in a thread from its beginning. A call that takes longer than
    was expected goes on in one."""
    if hosts and _is_on_host(verb, ctx, args):
        return True
    return verb.slow is not None and (hosts or verb.slow(ctx))


def _is_on_host(verb: Verb, ctx: Context, args: dict[str, Any]) -> bool:
    """Return whether a call is about a job on another host: each look at it may ask its engine,
    which runs a program."""
    named = args.get("job") or ()
    if not named:  # for any job of the caller, where several can be named
        return any(one.name == "job" and one.kind == STRS for one in verb.args)
    for name in (named,) if isinstance(named, str) else named:
        try:
            with lookup.open_job(ctx, name) as job:
                if engine_record.read(job) is not None:
                    return True
        except (OSError, OutliveError):  # the verb itself tells
            continue
    return False


def _begun(verb: Verb, ctx: Context, args: dict[str, Any]) -> Action:
    """Make a generator of an action that may be a plain function."""
    action = verb.run(ctx, **args)
    return (yield from action) if verb.waits else action


async def drive(action: Action, *, caller: str = "", slow: bool = False, stays: bool = False) -> Any:
    """Return the result of a waiting action.

    Where the action yields WORK, and with `slow` from its beginning, it goes on in a thread: its
    `caller` has a share of these. With `stays` it does not come back from there. A call that is
    cancelled meanwhile ends at once, and keeps its thread until the turn is over; then the action
    is closed.
    """
    working: asyncio.Future[tuple[bool, Any]] | None = None
    threaded = slow
    try:
        while True:
            if threaded:
                working = await _threads.start(caller, partial(_turn, action))
                ended, value = await asyncio.shield(working)
                working = None
            else:
                ended, value = _step(action)
            if ended:
                return value
            threaded = slow or value is WORK or (stays and threaded)
            if value is not WORK:
                await _sleep(value)
    finally:
        if working is None or working.done():
            action.close()
        else:
            working.add_done_callback(lambda _: action.close())


async def apart(caller: str, work: Callable[[], T]) -> T:
    """Return what `work` returns, which runs in one of the threads that `caller` has a share of."""
    return await asyncio.shield(await _threads.start(caller, work))


async def drive_on(action: Action) -> None:
    """Drive what goes on after its call was answered. An error is logged: no call is left that it
    could be told to."""
    try:
        await drive(action)
    except Exception:  # noqa: BLE001 - the server outlives its own faults
        traceback.print_exc(file=sys.stderr)


def _turn(action: Action) -> tuple[bool, Any]:
    """Take steps until the action waits or ends, or until its turn is over."""
    until = time.monotonic() + _TURN_S
    while True:
        ended, value = _step(action)
        if ended or value is not WORK or time.monotonic() >= until:
            return ended, value


def _step(action: Action) -> tuple[bool, Any]:
    """Return (False, what it yields) or (True, the result), since StopIteration cannot cross a
    future."""
    try:
        return False, next(action)
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
