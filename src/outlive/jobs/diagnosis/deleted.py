"""Why a job is not there: gc may have deleted it, or another session removed it."""

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
    """Return the error job_not_found for `text`, which says when and why gc deleted the job, or who
    removed it, if that is known. A job behind the wall was never there."""
    deletion = deletions.find(ctx.store, text, ctx.wall)
    if deletion is None:
        return error
    if deletion["bound"] == deletions.REMOVED:
        return OutliveError(
            "job_not_found",
            f"no job {text!r}: {deletion['by']} removed it on {deletion['at']}",
            hint="Its output is gone. Run the command again if you need it.",
            details={"deleted_at": deletion["at"]},
        )
    by = "automatic gc" if deletion["by"] == "automatic" else "gc"
    bound = str(deletion["bound"])
    why = _WHY.get(bound, "it was beyond a bound")
    return OutliveError(
        "job_not_found",
        f"no job {text!r}: {by} deleted it on {deletion['at']}, because {why} ([gc] {bound})",
        hint="Its output is gone. Run the command again if you need it.",
        details={"deleted_at": deletion["at"], "bound": bound},
    )
