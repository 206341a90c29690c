"""End a job, if it still runs, and delete it."""

from __future__ import annotations

from outlive import limits
from outlive.answers.ending import Deleted
from outlive.core.records import CONTROL
from outlive.verbs.spec import JOB_ID, MS, Arg, Verb

VERB = Verb(
    "remove",
    "End a job if it runs, then delete it and its output.",
    "outlive.verbs.remove:remove",
    args=(
        JOB_ID,
        Arg(
            "grace_ms",
            MS,
            "Time between TERM and KILL; for a longer one use kill first.",
            default=limits.KILL_GRACE_MS,
            minimum=0,
            maximum=limits.REMOVE_GRACE_MS,
            metavar="DURATION",
            hidden="mcp",
        ),
    ),
    right=CONTROL,
    result=Deleted,
)
