"""Read new output and the state, at once or when there is something new."""

from __future__ import annotations

import time

from outlive.core.records import READ
from outlive.jobs import lookup, read_cursor
from outlive.jobs.interaction import reading
from outlive.verbs.spec import JOB, MAX_BYTES, MS, RAW, SINCE_SEQ, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def poll(
    ctx: Context, *, job: str, since_seq: int | None = None, timeout_ms: int = 0, max_bytes: int, raw: bool = False
) -> Waiting[dict[str, Any]]:
    """Return the output since a position.

    Wait at most `timeout_ms` for output or the end. Reading consumes nothing.
    """
    began = time.monotonic()
    until = began + timeout_ms / 1000
    with lookup.open_job(ctx, job) as found_job:
        since, beyond = read_cursor.beginning(ctx, found_job, since_seq)
        control = None
        if timeout_ms:
            from outlive.jobs.control_client import ControlClient

            control = ControlClient(found_job, output=True)
        try:
            while True:
                answer = yield from reading.read(ctx, found_job, since, max_bytes, raw)
                if (
                    answer["output"]
                    or answer["waiting_for_input"]
                    or answer["state"] not in ("running", "created")
                    or time.monotonic() >= until
                ):
                    break
                assert control is not None
                yield from control.pause(until)
        finally:
            if control is not None:
                control.close()
        read_cursor.mark_seen(ctx, found_job, answer["next_seq"])
        return {**read_cursor.with_hint(beyond, answer), "waited_ms": round((time.monotonic() - began) * 1000)}


VERB = Verb(
    "poll",
    "Read new output since a position, and the state.",
    poll,
    args=(
        JOB,
        SINCE_SEQ,
        Arg(
            "timeout_ms",
            MS,
            "Wait at most this long for output, a prompt or the end; 0: not at all.",
            default=0,
            minimum=0,
            metavar="DURATION",
            mcp_help="wait this long for output, a prompt or the end",
        ),
        MAX_BYTES,
        RAW,
    ),
    right=READ,
    result=f"job_id state {reading.READ} retry_after_ms timeout_ms waited_ms snippet? hint? requested_ms? effective_ms?",
)
