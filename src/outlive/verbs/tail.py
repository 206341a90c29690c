"""Read the last lines of both streams."""

from __future__ import annotations

from outlive import limits
from outlive.core.records import READ
from outlive.jobs import adoption, job_answer, lookup
from outlive.render import window
from outlive.store.output.merged import Output
from outlive.verbs.spec import INT, JOB, MAX_BYTES, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def tail(ctx: Context, *, job: str, tail_lines: int, max_bytes: int) -> dict[str, Any]:
    """Return the end of stdout and of stderr as exact text."""
    with lookup.open_job(ctx, job) as found_job:
        found = adoption.inspect_and_adopt(ctx, found_job)
        with Output(found_job) as output:
            tails = window.tails(output, tail_lines, max_bytes)
            lost = job_answer.losses(found, output)
        return {
            "job_id": found_job.job_id,
            **job_answer.state_and_end(found),
            "timeout_ms": found.definition.timeout_ms,
            **tails,
            **job_answer.paths(found_job),
            **lost,
        }


VERB = Verb(
    "tail",
    "Read the last lines of both streams as exact text.",
    tail,
    args=(
        JOB,
        Arg("tail_lines", INT, "Lines of each stream.", default=limits.TAIL_LINES, minimum=0, metavar="N",
            mcp_help=f"of each stream (default {limits.TAIL_LINES})"),
        Arg("max_bytes", INT, "Most bytes of each stream.", default=limits.TAIL_BYTES,
            mcp_default=limits.MCP_SHOWN_BYTES // 2, minimum=1,
            maximum=limits.MAX_SHOWN_BYTES, metavar="N", mcp_help=MAX_BYTES.mcp_help),
    ),
    right=READ,
    slow=True,
    result="job_id state exit_code? signal? reason? timeout_ms stdout_tail stderr_tail truncated encoding stdout_observed_bytes stderr_observed_bytes "
    "stdout_included_bytes stderr_included_bytes gaps? stdout_log_path stderr_log_path dropped_bytes? missing_bytes? hint?",
)  # fmt: skip
