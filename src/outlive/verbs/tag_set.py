"""Replace a job's tags."""

from __future__ import annotations

from outlive.core.labels import check_tags
from outlive.core.records import CONTROL
from outlive.jobs import adoption, lookup
from outlive.verbs.spec import JOB, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def tag_set(ctx: Context, *, job: str, tags: list[str] | tuple[str, ...] = ()) -> dict[str, Any]:
    """Set exactly these tags; none clears them."""
    wanted = check_tags(list(tags))
    with lookup.open_job(ctx, job) as found_job:
        definition = lookup.change_meta(found_job, lambda old: old.replace(tags=wanted))
        state = adoption.inspect_and_adopt(ctx, found_job).state.state
        return {"job_id": found_job.job_id, "state": state, "tags": definition.tags}


VERB = Verb(
    "tag set",
    "Replace a job's tags.",
    tag_set,
    args=(
        JOB,
        Arg(
            "tags",
            STRS,
            "The tags; none clears them.",
            default=(),
            cli="--tag",
            aliases=("tag",),
            metavar="TAG",
            mcp_help="all of its tags from now on",
        ),
    ),
    right=CONTROL,
    result="job_id state tags hint?",
    slow=True,
)
