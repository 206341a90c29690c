"""Change the size of a job's terminal."""

from __future__ import annotations

from outlive import limits
from outlive.actions import access, feeding
from outlive.actions.spec import INT, JOB, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context


def resize(ctx: Context, *, job: str, cols: int, rows: int) -> Waiting[dict[str, Any]]:
    """The program is told by SIGWINCH. Errors: not_a_pty, invalid_argument, stdin_closed, io_error."""
    with access.open_job(ctx, job) as found_job:
        found = access.look(ctx, found_job)
        feeding.require_pty(found)
        answer = yield from feeding.ask(found_job, {"op": "resize", "cols": cols, "rows": rows})
        return {
            "job_id": found_job.job_id,
            "state": access.look(ctx, found_job).state.state,
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
        Arg("cols", INT, "Columns.", required=True, minimum=1, maximum=limits.MAX_TERMINAL_COLS, metavar="N"),
        Arg("rows", INT, "Rows.", required=True, minimum=1, maximum=limits.MAX_TERMINAL_ROWS, metavar="N"),
    ),
    result="job_id state timeout_ms cols rows",
)
