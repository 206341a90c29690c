"""The verb that deletes old jobs."""

from outlive import limits
from outlive.core.records import CONTROL
from outlive.parts.cleanup import GC as NAME
from outlive.parts.cleanup.answers import Collected
from outlive.verbs.spec import BOOL, FLOAT, INT, STR, Arg, Verb

GC = Verb(
    NAME,
    f"Delete jobs that ended long ago (by default over {limits.GC_OLDER_THAN}).",
    "outlive.parts.cleanup.gc:gc",
    group="End and delete",
    long=True,
    args=(
        Arg("dry_run", BOOL, "Show what would be deleted, and delete nothing.", default=False, hidden="mcp"),
        Arg("older_than", STR, f"Delete jobs that ended longer ago than this, such as 7d or 24h; 0s: all that have ended "
            f"(default {limits.GC_OLDER_THAN}).", metavar="DURATION",
            mcp_help=f"ended longer ago (default {limits.GC_OLDER_THAN}; 0s: all)"),
        Arg("max_jobs", INT, "Keep at most this many finished jobs, the newest; 0: no limit.", minimum=0, hidden="mcp", metavar="N"),
        Arg("max_bytes", INT, "Keep jobs of at most this many bytes in all; the job that ended first goes first. 0: no limit.", minimum=0,
            hidden="mcp", metavar="SIZE"),
        Arg("max_percent", FLOAT, f"Keep jobs of at most this part of the file system (default {limits.GC_MAX_PERCENT}); "
            "those of the last day go only if nothing else helps. 0: no limit.", minimum=0, maximum=100, hidden="mcp",
            metavar="PERCENT"),
    ),
    right=CONTROL,
    result=Collected,
    detail="Running jobs are never touched. --older-than needs a unit: s, m, h, d or w.",
)  # fmt: skip
