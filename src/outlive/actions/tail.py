"""The last lines of both streams."""

from __future__ import annotations

from outlive import limits
from outlive.actions import access, answers, window
from outlive.actions.spec import INT, JOB, Arg, Verb
from outlive.store.output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.spec import Context


def tail(ctx: Context, *, job: str, tail_lines: int, max_bytes: int) -> dict[str, Any]:
    """The end of stdout and of stderr, exact text."""
    with access.open_job(ctx, job) as found_job:
        found = access.look(ctx, found_job)
        with Output(found_job) as output:
            tails = window.tails(output, tail_lines, max_bytes)
            lost = answers.losses(found, output)
        return {
            "job_id": found_job.job_id,
            "state": found.state.state,
            "timeout_ms": found.definition.timeout_ms,
            **tails,
            **answers.paths(found_job),
            **lost,
        }


VERB = Verb(
    "tail",
    "The last lines of both streams, exact text.",
    tail,
    args=(
        JOB,
        Arg("tail_lines", INT, "Lines of each stream.", default=limits.TAIL_LINES, minimum=0, metavar="N"),
        Arg("max_bytes", INT, "Most bytes of each stream.", default=limits.TAIL_BYTES, minimum=1,
            maximum=limits.MAX_SHOWN_BYTES, metavar="N"),
    ),
    result="job_id state timeout_ms stdout_tail stderr_tail truncated encoding stdout_observed_bytes stderr_observed_bytes "
    "stdout_included_bytes stderr_included_bytes gaps? stdout_log_path stderr_log_path dropped_bytes? missing_bytes? hint?",
)  # fmt: skip
