"""List jobs."""

from __future__ import annotations

from outlive import limits
from outlive.answers.listing import List
from outlive.core.records import READ, STATES
from outlive.verbs.spec import BOOL, BUDGET, INT, PATH, STR, STRS, Arg, Verb

VERB = Verb(
    "list",
    "List jobs: running ones first, then the newest.",
    "outlive.verbs.list:list_jobs",
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
            cli="--tag", aliases=("tag",), metavar="TAG", mcp_help="with all of these; project.*: any below"),
        Arg("cwd", PATH, "Only jobs of this directory (CLI: the current one by default).", metavar="DIR", hidden="mcp"),
        Arg("owner", STR, "Only jobs of this client (MCP: those of the session by default).", hidden="mcp", metavar="NAME"),
        Arg("host", STR, "Only jobs on this host; local: on this machine.", section="hosts", metavar="NAME", mcp_help=""),
        Arg("all", BOOL, "Jobs of every directory and client.", default=False, mcp_help="of other sessions too"),
        Arg("follow", BOOL, "Print the list again whenever it has changed, one object a line; with --human on a terminal keep a "
            "table up to date. ^C ends it.", default=False, mcp="", short="-f"),
    ),
    right=READ,
    result=List,
)  # fmt: skip
