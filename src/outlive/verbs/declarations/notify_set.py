"""Change what is reported of a job, and where."""

from __future__ import annotations

from outlive.answers.listing import NotifySet
from outlive.core.records import CONTROL, MATCH_TYPES
from outlive.verbs import shared_args
from outlive.verbs.spec import JOB, PATH, STR, STRS, Arg, Verb

VERB = Verb(
    "notify set",
    "Change what is reported of a job and where: its end, and lines of its output.",
    "outlive.verbs.notify_set:notify_set",
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
