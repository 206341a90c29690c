"""Press Enter in a job's terminal."""

from __future__ import annotations

from outlive import limits
from outlive.actions import access, feeding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context


def submit(ctx: Context, *, job: str, timeout_ms: int = limits.WRITE_MS) -> Waiting[dict[str, Any]]:
    """Send one carriage return. Errors: not_a_pty, as for write."""
    with access.open_job(ctx, job) as found_job:
        feeding.require_pty(access.look(ctx, found_job))
        return (yield from feeding.deliver(ctx, found_job, b"\r", timeout_ms=timeout_ms))


VERB = feeding.verb("submit", "Press Enter (a carriage return) in the terminal of a pty job.", submit)
