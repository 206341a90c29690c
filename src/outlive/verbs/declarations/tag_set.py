"""Replace a job's tags."""

from __future__ import annotations

from outlive.answers.listing import Tagged
from outlive.core.records import CONTROL
from outlive.verbs.spec import JOB, STRS, Arg, Verb

VERB = Verb(
    "tag set",
    "Replace a job's tags.",
    "outlive.verbs.tag_set:tag_set",
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
            mcp_help="its tags",
        ),
    ),
    right=CONTROL,
    result=Tagged,
)
