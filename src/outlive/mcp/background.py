"""What goes on in a server between calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server


class BackgroundTasks:
    """The lifespan of the SDK's server: the task group of what goes on between calls. The SDK enters a lifespan once for
    the server, and once more for each SSE stream; all of them share the group of the first, which ends with the
    server."""

    def __init__(self) -> None:
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def __call__(self, _server: Server[TaskGroup]) -> AsyncIterator[TaskGroup]:
        if self._group is not None:
            yield self._group
            return
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield group
            finally:
                self._group = None
                group.cancel_scope.cancel()
