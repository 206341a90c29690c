"""Put data into a job's stdin."""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.actions import access
from outlive.actions.line import Line, require_supervisor
from outlive.actions.spec import BOOL, JOB, MS, STR, Arg, Verb
from outlive.errors import OutliveError, invalid
from outlive.system import fds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context
    from outlive.store.truth import Look


def write(
    ctx: Context, *, job: str, data: str = "", eof: bool = False, timeout_ms: int = limits.WRITE_MS
) -> Waiting[dict[str, Any]]:
    """Write `data`, then end the input if `eof`. Answers when the job's stdin took it all, or after `timeout_ms`."""
    sent = data.encode("utf-8", "surrogateescape")
    if len(sent) > limits.MAX_STDIN_WRITE_BYTES:
        raise invalid("data", f"at most {limits.MAX_STDIN_WRITE_BYTES:,} bytes can be written at once")
    with access.open_job(ctx, job) as found_job:
        found = access.look(ctx, found_job)
        _require_open(found)
        line = Line(found_job, output=False)
        memory = fds.memory_file("stdin", sent)
        try:
            asked = {"op": "write", "eof": eof, "wait_s": timeout_ms / 1000}
            deadline = time.monotonic() + timeout_ms / 1000 + limits.CONTROL_S
            answer = None
            asked_it = line.request(asked, (memory,))
            if asked_it:
                answer = yield from line.answer(deadline)
            if answer is None and asked_it and not line.connected:
                raise OutliveError(
                    "io_error",
                    "the job's supervisor was killed during the write; part of the data may have arrived",
                    hint="Look at what the job makes of it before writing again.",
                )
            if answer is None:
                raise require_supervisor(found_job)
        finally:
            os.close(memory)
            line.close()
        written = int(answer["written"])
        if answer["closed"] and not eof and written < len(sent):
            raise _closed(found, written)
        return {
            "job_id": found_job.job_id,
            "state": access.look(ctx, found_job).state.state,
            "timeout_ms": found.definition.timeout_ms,
            "bytes_written": written,
            "stdin": "closed" if answer["closed"] else "open",
            **_warnings(written, len(sent), eof),
        }


def _require_open(found: Look) -> None:
    state = found.state
    if state.state == "created":
        raise OutliveError("invalid_state", "the job was not started yet", hint="start runs it.")
    if state.finished:
        raise OutliveError("stdin_closed", f"the job has ended ({state.state}); nothing reads its stdin")
    if found.definition.stdin != "open":
        raise OutliveError(
            "stdin_closed",
            "the job was started with its stdin closed",
            hint='Start it with stdin "open" (CLI: --stdin open) to be able to write to it.',
        )
    if state.stdin == "closed":
        raise OutliveError("stdin_closed", "the job's stdin was ended by an eof, or the job closed it")


def _closed(found: Look, written: int) -> OutliveError:
    return OutliveError(
        "stdin_closed",
        f"the job closed its stdin after {written} bytes",
        hint="It may have ended: poll shows.",
        details={"bytes_written": written},
    )


def _warnings(written: int, wanted: int, eof: bool) -> dict[str, Any]:
    if written == wanted:
        return {}
    lost = "; its stdin was not ended either" if eof else ""
    return {
        "warnings": [
            f"the job took {written} of {wanted} bytes in time{lost}: write the rest, from byte {written} on, later"
        ]
    }


VERB = Verb(
    "write",
    "Put data into the stdin of a job that was started with stdin open.",
    write,
    args=(
        JOB,
        Arg("data", STR, "Text to write, as it is: a line needs its newline.", default="", metavar="TEXT"),
        Arg("eof", BOOL, "End the input after it.", default=False),
        Arg("timeout_ms", MS, "How long the job may take to read it.", default=limits.WRITE_MS, minimum=0,
            metavar="DURATION"),
    ),
    result="job_id state timeout_ms bytes_written stdin warnings? requested_ms? effective_ms?",
)  # fmt: skip
