"""The changes of a job, for subscriptions, the channel and tasks.

A change carries no content: it says that the files of the job are worth another look.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio

from outlive.errors import OutliveError
from outlive.jobs.control_client import ControlClient
from outlive.store.job_dir import JobDir


async def changes(job: JobDir, *, output: bool, every_s: float) -> AsyncGenerator[None]:
    """Yield once at the start, then after each change of the job's state or events, with `output` of its output too, at
    most once in `every_s` seconds. End when the job is over or was removed; the last item comes after the last change.
    This costs one connection to the job's supervisor, and no CPU while nothing happens. The caller closes the job
    afterwards."""
    line = ControlClient(job, output=output)
    try:
        while True:
            over = _is_over(job)
            yield
            if over:
                return
            await _changed(line)
            await anyio.sleep(every_s)
            line.drain()
    finally:
        line.close()


async def _changed(line: ControlClient) -> None:
    """Wait as `line.pause` does, without a thread."""
    awaited = line.awaited(None)
    if awaited is None:
        return
    with anyio.move_on_after(awaited.left_s()):
        for fd in awaited.fds:  # at most one
            await anyio.wait_readable(fd)
            line.drain()
            return
        await anyio.sleep_forever()


def _is_over(job: JobDir) -> bool:
    """Return whether nothing of the job can change any more."""
    try:
        if not job.is_in_place():
            return True
        state = job.read_state()
        return state is not None and state.finished and not job.is_supervised()
    except (OSError, OutliveError):  # removed or damaged meanwhile
        return True
