"""Calls in threads: each call of a verb has a thread of its own, in which it may block.

How many calls there are at a time is bounded where requests arrive: for each connection in
stdio/transport.py, for each token in parts/http/quotas.py.
"""

from __future__ import annotations

import _thread
import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

from outlive.errors import OutliveError
from outlive.mcp.job_environment import JobEnvironment
from outlive.system.waiting import Call

T = TypeVar("T")

_CANCELLED_S = 1.0  # so long the end of a cancelled call is waited for; what it started goes on
_LOOK_S = 0.01
_TURNS = 2
_running: set[Call] = set()
_turns: WeakValueDictionary[str, threading.Semaphore] = WeakValueDictionary()  # of each caller with calls


async def run(work: Callable[[], T], *, caller: str = "", cancelled: Callable[[], None] | None = None) -> T:
    """Return what `work` returns, in a thread of its own. `caller` has two turns for long work. `cancelled` is called
    when the call is, before anything else happens. If the task that waits for it is cancelled, so is the call in the
    thread, which has then given back what it held; a thread that does not look up for a second is left alone. Errors:
    io_error if the user may have no more threads, and those of `work`."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()
    ended.add_done_callback(_noted)
    call = Call(threading.Lock(), _turns.setdefault(caller, threading.Semaphore(_TURNS)))
    _running.add(call)
    try:
        # Not threading.Thread: its start waits until the thread runs, twice the time of a short call
        _thread.start_new_thread(_in_thread, (call, work, loop, ended))
    except RuntimeError as error:
        _running.discard(call)
        call.close()
        raise OutliveError("io_error", f"no thread for this call: {error}", retryable=True, hint=_LIMIT) from error
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        call.cancel()
        if cancelled is not None:
            cancelled()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([ended], timeout=_CANCELLED_S)
        raise


async def settled(environment: JobEnvironment) -> dict[str, str]:
    """Return the environment of a job that is started now, once its PATH is known."""
    if not environment.is_settled:
        await to_thread.run_sync(environment.wait, abandon_on_cancel=True)
    return environment.current()


_LIMIT = "This user runs as many processes and threads as it may (`ulimit -u`): end some, and try again."


def _in_thread(call: Call, work: Callable[[], T], loop: asyncio.AbstractEventLoop, ended: asyncio.Future[T]) -> None:
    try:
        with call:
            told = partial(ended.set_result, work())
    except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
        told = partial(ended.set_exception, error)
    _running.discard(call)
    with suppress(RuntimeError):  # the server has ended
        loop.call_soon_threadsafe(told)


def _noted(ended: asyncio.Future[T]) -> None:
    """Look at the exception: of a cancelled call nothing else would."""
    ended.exception()


def from_thread(function: Callable[..., object]) -> Callable[..., None]:
    """Return a function for a thread that has the event loop call `function`."""
    loop = asyncio.get_running_loop()

    def call(*args: object) -> None:
        loop.call_soon_threadsafe(partial(function, *args))

    return call


async def logged(work: Callable[..., Awaitable[object]], *args: object) -> None:
    """Run what goes on beside calls or after them, as long as its client is there. An error is logged: no call is left
    to answer."""
    try:
        await work(*args)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return  # the client is gone
    except Exception:  # noqa: BLE001 - the server outlives its own faults
        traceback.print_exc(file=sys.stderr)


async def end_all() -> None:
    for call in list(_running):
        call.cancel()
    until = time.monotonic() + _CANCELLED_S
    while _running and time.monotonic() < until:
        await anyio.sleep(_LOOK_S)
