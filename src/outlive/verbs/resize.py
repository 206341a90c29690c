"""Change the size of a job's terminal."""

from __future__ import annotations

from outlive import limits
from outlive.core.records import CONTROL
from outlive.jobs import adoption, lookup
from outlive.jobs.control_client import ask
from outlive.jobs.interaction import stdin
from outlive.verbs.spec import INT, JOB, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def resize(ctx: Context, *, job: str, cols: int, rows: int) -> Waiting[dict[str, Any]]:
    """Set the size; the program gets SIGWINCH.

    Errors: not_a_pty, invalid_argument, stdin_closed, io_error.
    """
    with lookup.open_job(ctx, job) as found_job:
        found = adoption.inspect_and_adopt(ctx, found_job)
        stdin.require_pty(found)
        answer = yield from ask(found_job, {"op": "resize", "cols": cols, "rows": rows})
        return {
            "job_id": found_job.job_id,
            "state": adoption.inspect_and_adopt(ctx, found_job).state.state,
            "timeout_ms": found.definition.timeout_ms,
            "cols": answer["cols"],
            "rows": answer["rows"],
        }


VERB = Verb(
    "resize",
    "Change the size of a pty job's terminal.",
    resize,
    args=(
        JOB,
        Arg(
            "cols",
            INT,
            "Columns.",
            required=True,
            minimum=1,
            maximum=limits.MAX_TERMINAL_COLS,
            metavar="N",
            mcp_help="",
        ),
        Arg("rows", INT, "Rows.", required=True, minimum=1, maximum=limits.MAX_TERMINAL_ROWS, metavar="N", mcp_help=""),
    ),
    right=CONTROL,
    result="job_id state timeout_ms cols rows hint?",
)
