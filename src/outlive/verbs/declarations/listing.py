"""What finds jobs, and changes what is known of one; and what lists the actions."""

from outlive import limits
from outlive.answers.listing import Help, List, NotifySet, Tagged
from outlive.core.records import CONTROL, MATCH_TYPES, READ, STATES
from outlive.verbs import shared_args
from outlive.verbs.spec import BOOL, BUDGET, INT, JOB, PATH, STR, STRS, Arg, Verb

LIST = Verb(
    "list",
    "List jobs: running ones first, then the newest.",
    "outlive.verbs.list:list_jobs",
    group="Read and wait",
    args=(
        Arg("state", STR, "Only jobs in this state.", choices=STATES, metavar="STATE", mcp_help=""),
        Arg("failed", BOOL, "Only jobs that did not end well: an exit code other than 0, a signal, a time-out, never started, denied, "
            "lost, not known.", default=False, mcp_help="did not end well"),
        Arg("since", STR, "Only jobs that run, or ended since: a duration such as 24h, or a time such as 2026-11-22T14:00:00Z.",
            metavar="WHEN", mcp_help="24h, or a time"),
        Arg("limit", INT, "At most this many; 0: all.", default=limits.LIST_JOBS, minimum=0, metavar="N",
            mcp_help="at most"),
        Arg("offset", INT, "Leave out this many of the first.", default=0, minimum=0, hidden="mcp", metavar="N"),
        BUDGET,
        Arg("tags", STRS, "Only jobs with this tag, or a tag below it: project.*; of several, jobs with all.", default=(),
            cli="--tag", aliases=("tag",), metavar="TAG", mcp_help="with all; project.*: any below"),
        Arg("cwd", PATH, "Only jobs of this directory (CLI: the current one by default).", metavar="DIR", hidden="mcp"),
        *shared_args.with_those_of_parts((
            Arg("owner", STR, "Only jobs of this client (MCP: those of the session by default).", hidden="mcp", metavar="NAME"),
        )),
        Arg("host", STR, "Only jobs on this host; local: on this machine.", section="hosts", metavar="NAME", mcp_help=""),
        Arg("all", BOOL, "Jobs of every directory and client.", default=False, mcp_help="other sessions too"),
        Arg("follow", BOOL, "Print the list again whenever it has changed, one object a line; with --human on a terminal keep a "
            "table up to date. ^C ends it.", default=False, mcp="", short="-f"),
    ),
    right=READ,
    result=List,
)  # fmt: skip
TAG_SET = Verb(
    "tag set",
    "Replace a job's tags.",
    "outlive.verbs.labels:tag_set",
    group="Label and notify",
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
NOTIFY_SET = Verb(
    "notify set",
    "Change what is reported of a job and where: its end, and lines of its output.",
    "outlive.verbs.labels:notify_set",
    group="Label and notify",
    args=(
        JOB,
        Arg("command", STR, "Shell command that gets the job.finished event on its stdin.", mcp="notify_command",
            aliases=("command",), hidden="mcp", metavar="COMMAND"),
        Arg("file", PATH, "File that gets the event as one line.", mcp="notify_file", aliases=("file",),
            hidden="mcp", metavar="FILE"),
        *shared_args.WATCHES,
        Arg("remove_watch", STRS, "Watches to remove, by id or pattern.", default=(), metavar="WATCH", hidden="mcp"),
        Arg("output_pattern", STR, "One pattern; every line that matches is reported.",
            hidden="mcp", metavar="PATTERN"),
        Arg("output_match_type", STR, "How the pattern matches (default: contains).", choices=MATCH_TYPES, hidden="mcp"),
        Arg("output_stream", STR, "Stream to search (default: either).", choices=("stdout", "stderr", "either"), hidden="mcp"),
        Arg("output_command", STR, "Shell command that gets each hit on its stdin.", hidden="mcp", metavar="COMMAND"),
        Arg("output_file", PATH, "File that gets each hit as one line.", hidden="mcp", metavar="FILE"),
    ),
    right=CONTROL,
    result=NotifySet,
    detail="Only output that comes from now on is searched. Hits are events (outlive events), go to the command and the "
    "file given, and are recorded in notification_events.ndjson.",
)  # fmt: skip


HELP = Verb(
    "help",
    "List the actions, and the arguments of each.",
    "outlive.verbs.help:help_",
    cli=False,
    right=READ,
    result=Help,
)
