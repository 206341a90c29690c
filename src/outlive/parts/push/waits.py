"""Calls that wait longer than a second become tasks: `process wait`, and `exec` with `until`.

Such a task is the call, not the job: it ends when the call would have answered. It lives in this
server, which goes on with the call; its id is that of the job and a mark behind it. A server that
does not know it, since another one began it, answers for the job instead: the task ends with the
job then.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable

import anyio

from outlive.core.ids import new_id
from outlive.core.units import seconds_of, timestamp
from outlive.jobs.context import Context
from outlive.mcp.caller import Caller
from outlive.parts.push.task_view import CANCELLED, COMPLETED, WORKING, poll_interval_ms

FIRST_S = 1.0  # what is over by then is answered at once
OF_JOB, OF_WAIT = "u", "w"  # the marks: cancelling ends the job, or only the waiting
_MARK = "-"
_MOST = 256  # of a server that are over and kept
_MOST_AT_ONCE = 64  # of a caller that go on: each keeps a thread, and its client may forget it
_TTL_MS = 3_600_000
_STARTS_S = 0.02


class Wait:
    """A call that goes on. `kind` is OF_JOB or OF_WAIT; `answer`: its envelope, once it has one."""

    def __init__(self, caller: Caller, kind: str) -> None:
        self.caller = caller
        self.kind = kind
        self.id = ""
        self.answer: dict[str, object] | None = None
        self.over = anyio.Event()
        self.ctx: Context | None = None  # of the call
        self._scope = anyio.CancelScope()
        self._created_at = self._updated_at = timestamp()

    async def run(self, call: Callable[[Wait], Awaitable[dict[str, object]]]) -> None:
        with self._scope:
            self.answer = await call(self)
        self._updated_at = timestamp()
        self.over.set()

    def cancel(self) -> None:
        self._scope.cancel()

    @property
    def job_id(self) -> str | None:
        """The job that it is about; None while there is none, or for any of the caller's."""
        if self.ctx is None:
            return None
        return self.ctx.job_id or next(iter(self.ctx.awaited), None)

    def shown(self) -> dict[str, object]:
        """Return it as a task, without its result."""
        status = WORKING if not self.over.is_set() else CANCELLED if self.answer is None else COMPLETED
        return {
            "taskId": self.id,
            "status": status,
            "createdAt": self._created_at,
            "lastUpdatedAt": self._updated_at,
            "ttlMs": _TTL_MS,
            **({"pollIntervalMs": poll_interval_ms(self._age_ms())} if status == WORKING else {}),
        }

    def _age_ms(self) -> int:
        return round((time.time() - seconds_of(self._created_at)) * 1000)


class Waits:
    """The calls of one server that go on as tasks."""

    def __init__(self) -> None:
        self._known: dict[str, Wait] = {}

    def are_full(self, caller: Caller) -> bool:
        """Return whether no further call of this caller may go on."""
        mine = (one for one in self._known.values() if _is_of(one, caller))
        return sum(not one.over.is_set() for one in mine) >= _MOST_AT_ONCE

    async def begun(
        self,
        caller: Caller,
        kind: str,
        start_soon: Callable[..., object],
        call: Callable[[Wait], Awaitable[dict[str, object]]],
    ) -> Wait:
        """Begin a call, and return it when it is over, or goes on and has an id."""
        wait = Wait(caller, kind)
        start_soon(wait.run, call)
        try:
            with anyio.move_on_after(FIRST_S):
                await wait.over.wait()
            while not wait.over.is_set() and wait.ctx is None:  # a slow start
                await anyio.sleep(_STARTS_S)
        except anyio.get_cancelled_exc_class():
            wait.cancel()
            raise
        if not wait.over.is_set():
            wait.id = f"{wait.job_id or new_id()}{_MARK}{kind}{secrets.token_hex(3)}"
            self._keep(wait)
        return wait

    def _keep(self, wait: Wait) -> None:
        over = [task_id for task_id, one in self._known.items() if one.over.is_set()]
        for task_id in over[: max(0, len(over) - _MOST)]:
            del self._known[task_id]
        self._known[wait.id] = wait

    def get(self, task_id: str, caller: Caller) -> Wait | None:
        """Return a wait of this caller; None for others."""
        wait = self._known.get(task_id)
        return wait if wait is not None and _is_of(wait, caller) else None


def _is_of(wait: Wait, caller: Caller) -> bool:
    return (wait.caller.owner, wait.caller.wall) == (caller.owner, caller.wall)


def job_of(task_id: str) -> str:
    return task_id.partition(_MARK)[0]


def is_wait(task_id: str) -> bool:
    """Return whether cancelling this task leaves its job alone."""
    return task_id.partition(_MARK)[2].startswith(OF_WAIT)
