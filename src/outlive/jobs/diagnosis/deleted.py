"""Why a job is not there: gc may have deleted it."""

from __future__ import annotations

from outlive.errors import OutliveError
from outlive.store.cleanup import deletions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.context import Context

_WHY = {
    "older_than": "it ended longer ago than jobs are kept",
    "max_jobs": "there were more finished jobs than are kept",
    "max_bytes": "the jobs took more bytes than they may",
    "max_percent": "the jobs took more than their share of the file system",
}


def explained(ctx: Context, text: str, error: OutliveError) -> OutliveError:
    """Return the error job_not_found for `text`, which says when and why gc deleted the job, if it
    did. A job behind the wall was never there."""
    found = deletions.find(ctx.store, text, ctx.wall)
    if found is None:
        return error
    by = "automatic gc" if found["by"] == "automatic" else "gc"
    bound = str(found["bound"])
    why = _WHY.get(bound, "it was beyond a bound")
    return OutliveError(
        "job_not_found",
        f"no job {text!r}: {by} deleted it on {found['at']}, because {why} ([gc] {bound})",
        hint="Its output is gone. Run the command again if you need it.",
        details={"deleted_at": found["at"], "bound": bound},
    )
