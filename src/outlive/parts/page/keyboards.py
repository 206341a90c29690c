"""The keyboards that pages hold: each as long as its tab asks for the terminal.

A tab names itself by a random text. While it holds the keyboard of a job, this server holds it for
the tab (parts/terminal/keyboard.py), and lets go when the tab has not asked for some seconds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from outlive import limits
from outlive.core.records import CONTROL, Terminal
from outlive.errors import OutliveError, invalid
from outlive.jobs import acts, adoption, definition, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.interaction import stdin
from outlive.mcp import threads
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from outlive.parts.terminal import keyboard
from outlive.parts.terminal.keyboard import Keyboard
from outlive.parts.user import person

Key = tuple[str, str, str]  # client, job, tab

_LEASE_S = 6.0  # a tab that has not asked for so long is gone
_MOST = 200  # keyboards that one server holds
_TAB_CHARS = 64


class _Held:
    def __init__(self, ctx: Context, keyboard: Keyboard, size: list[int]) -> None:
        self.ctx = ctx
        self.keyboard = keyboard
        self.size = size  # that the tab gave the terminal
        self.calls = 0  # of the tab, under way
        self.last = 0.0  # when its last call ended


class Keyboards:
    """The keyboards of the tabs of one server."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._held: dict[Key, _Held] = {}
        self._taking = threading.Lock()  # two calls of a tab may come at once
        self._ending: set[asyncio.Task[None]] = set()

    async def take(self, caller: Caller, job_id: str, tab: str, size: list[int], *, force: bool) -> bool:
        """Take the keyboard for a tab, or give the terminal another size if it has it. Return False
        if another person holds it and `force` is false. Errors: denied, job_not_found, not_a_pty,
        stdin_closed, invalid_argument."""
        ctx = self._calls.context(caller, CONTROL, "keyboard")
        key = _key(caller, job_id, tab)
        if self._of(key) is None and len(self._held) >= _MOST:
            raise OutliveError("invalid_state", f"this server holds {_MOST} keyboards already")
        take = partial(self._taken, ctx, key, _name(caller), _checked(size), force)
        try:
            return await threads.run(take)
        finally:  # also if the page is gone meanwhile
            self._later(key)

    def _taken(self, ctx: Context, key: Key, name: str, size: list[int], force: bool) -> bool:
        with lookup.open_job(ctx, key[1]) as job:
            inspection = adoption.inspect_and_adopt(ctx, job)
            stdin.require_pty(inspection)
            definition.require_input(ctx, inspection.definition)
            with self._taking:
                held = self._of(key)
                if held is None:
                    acts.about_to(ctx, "attach", job.job_id)
                    known = inspection.state.terminal or Terminal()
                    now = [known.cols, known.rows] if known.cols and known.rows else None
                    taken = keyboard.take(job, name, now, force=force)
                    if taken is None:
                        return False
                    self._held[key] = held = _Held(ctx, taken, size)
            with suppress(OutliveError):  # it is ending
                ask(job, {"op": "resize", "cols": size[0], "rows": size[1]})
            held.size = size
            return True

    async def release(self, caller: Caller, job_id: str, tab: str) -> None:
        """Let go of the keyboard of a tab, and give the terminal the size that it had before."""
        held = self._held.pop(_key(caller, job_id, tab), None)
        if held is not None:
            await _ended(held, job_id)

    def holds(self, caller: Caller, job_id: str, tab: str | None) -> bool:
        return tab is not None and self._of(_key(caller, job_id, tab)) is not None

    @contextmanager
    def asking(self, caller: Caller, job_id: str, tab: str | None) -> Iterator[None]:
        """Keep the keyboard of a tab for the time of a call, and for a while after it."""
        held = self._of(_key(caller, job_id, tab)) if tab is not None else None
        if held is None or tab is None:
            yield
            return
        held.calls += 1
        try:
            yield
        finally:
            held.calls -= 1
            held.last = time.monotonic()
            self._later(_key(caller, job_id, tab))

    async def close(self) -> None:
        """Let go of all keyboards."""
        while self._held:
            (_, job_id, _), held = self._held.popitem()
            await _ended(held, job_id)

    def _of(self, key: Key) -> _Held | None:
        held = self._held.get(key)
        if held is not None and not held.keyboard.is_held:  # another person has taken it
            del self._held[key]
            held.keyboard.release()
            return None
        return held

    def _later(self, key: Key) -> None:
        asyncio.get_running_loop().call_later(_LEASE_S, self._look, key)

    def _look(self, key: Key) -> None:
        """Let go of a keyboard whose tab is gone. Nothing is looked at while no tab holds one."""
        held = self._of(key)
        if held is None or held.calls or time.monotonic() - held.last < _LEASE_S - 0.1:
            return
        del self._held[key]
        task = asyncio.get_running_loop().create_task(_ended(held, key[1]))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _key(caller: Caller, job_id: str, tab: str) -> Key:
    if not tab or len(tab) > _TAB_CHARS:
        raise invalid("tab", f"tab is a text of 1 to {_TAB_CHARS} characters that only this page knows")
    return caller.client, job_id, tab


def _name(caller: Caller) -> str:
    """Return what others are told: the user of this machine, the client whose chat has a view of the
    job, or the name of the token."""
    if caller.person:
        return f"a person at {caller.owner}"
    return person("outlive ui") if caller.program in ("ui", "ui-job") else f"{caller.owner} (outlive serve)"


def _checked(size: list[int]) -> list[int]:
    most = (limits.MAX_TERMINAL_COLS, limits.MAX_TERMINAL_ROWS)
    if len(size) != 2 or not all(type(one) is int and 0 < one <= top for one, top in zip(size, most, strict=True)):
        raise invalid("size", f"size is columns and rows, at most {most[0]} and {most[1]}")
    return size


async def _ended(held: _Held, job_id: str) -> None:
    with suppress(OutliveError, OSError):  # the job may be gone
        await threads.run(partial(_given_back, held, job_id))
    held.keyboard.release()


def _given_back(held: _Held, job_id: str) -> None:
    before = held.keyboard.free_size
    if before is None or not held.keyboard.is_held:
        return
    with lookup.open_job(held.ctx, job_id) as job:
        inspection = adoption.inspect_and_adopt(held.ctx, job)
        known = inspection.state.terminal or Terminal()
        if not inspection.state.finished and [known.cols, known.rows] == held.size != before:
            ask(job, {"op": "resize", "cols": before[0], "rows": before[1]})
