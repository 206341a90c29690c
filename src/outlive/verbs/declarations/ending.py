"""What ends jobs, and deletes them."""

from outlive import limits
from outlive.answers.ending import ALL, Deleted, Killed
from outlive.core.records import CONTROL
from outlive.verbs.shared_args import with_those_of_parts
from outlive.verbs.spec import ENDED_JOB_ID, JOB, JOB_ID, MS, STR, STRS, Arg, Verb

TAGS = Arg("tags", STRS, "All jobs of yours with this tag, or a tag below it: project.*; of several, jobs with all (CLI: of this "
           "directory).", default=(), cli="--tag", aliases=("tag",), metavar="TAG", hidden="mcp")  # fmt: skip


def jobs_of(job: Arg) -> Arg:
    """Return the argument for one job or several."""
    return Arg(job.name, STRS, f"{job.help} Several are taken, or tags.", default=(), cli=job.cli, mcp=job.mcp,
               aliases=(*job.aliases, "job_ids", "jobs"), metavar="JOB", mcp_help=job.mcp_help)  # fmt: skip


KILL = Verb(
    "kill",
    "End a job and everything it started.",
    "outlive.verbs.kill:kill",
    group="End and delete",
    reports_end=True,
    long=True,
    args=(
        *with_those_of_parts((jobs_of(JOB),)),
        TAGS,
        Arg("signal", STR, "TERM, which KILL follows, or any other, such as INT or HUP, sent as it is.",
            default="TERM", metavar="SIGNAL", mcp_help="(default TERM, then KILL)"),
        Arg("grace_ms", MS, "Time between TERM and KILL.", default=limits.KILL_GRACE_MS, minimum=0, metavar="DURATION",
            hidden="mcp"),
        Arg("wait_ms", MS, "How long to wait for the end (default: 1 s, for TERM also the grace).", minimum=0,
            metavar="DURATION", mcp_help="for its end"),
    ),
    right=CONTROL,
    result=Killed,
)  # fmt: skip
CLEAR = Verb(
    "clear",
    f"Delete a finished job and its output, or with `{ALL}` those of all finished jobs of yours.",
    "outlive.verbs.remove:clear",
    group="End and delete",
    long=True,
    args=(ENDED_JOB_ID,),
    right=CONTROL,
    result=Deleted,
)
REMOVE = Verb(
    "remove",
    "End a job if it runs, then delete it and its output.",
    "outlive.verbs.remove:remove",
    group="End and delete",
    long=True,
    args=(
        *with_those_of_parts((jobs_of(JOB_ID),)),
        TAGS,
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
