"""Press Enter in a job's terminal."""

from __future__ import annotations

from outlive import limits
from outlive.jobs import adoption, lookup, stdin
from outlive.verbs.shared_args import WRITE_RESULT, WRITE_TIMEOUT
from outlive.verbs.spec import JOB, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def submit(ctx: Context, *, job: str, timeout_ms: int = limits.WRITE_MS) -> Waiting[dict[str, Any]]:
    """Send one carriage return. Errors: not_a_pty, as for write."""
    with lookup.open_job(ctx, job) as found_job:
        stdin.require_pty(adoption.inspect_and_adopt(ctx, found_job))
        return (yield from stdin.deliver(ctx, found_job, b"\r", timeout_ms=timeout_ms))


VERB = Verb(
    "submit",
    "Press Enter (a carriage return) in the terminal of a pty job.",
    submit,
    args=(JOB, WRITE_TIMEOUT),
    result=WRITE_RESULT,
)
