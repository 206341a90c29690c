"""Tell what happened to a job: its events."""

from __future__ import annotations

from outlive import limits
from outlive.answers.reading import Events
from outlive.core.records import READ
from outlive.verbs.spec import BOOL, BUDGET, INT, JOB, SINCE_SEQ, Arg, Verb

VERB = Verb(
    "events",
    "Show what happened to a job: start, watch hits, prompts, signals, notifications, end.",
    "outlive.verbs.events:events",
    args=(
        JOB,
        Arg("since_seq", INT, "Only events from this position of the output on.", minimum=0, aliases=("sinceSeq",),
            metavar="SEQ", mcp_help=SINCE_SEQ.mcp_help),
        Arg("since_event", INT, "Only events after this one (a next_event of an earlier answer).", minimum=0,
            metavar="N", mcp_help=""),
        Arg("limit", INT, "At most this many; 0: all.", default=limits.EVENTS,
            mcp_default=limits.MCP_EVENTS, minimum=0, metavar="N",
            mcp_help="at most"),
        BUDGET,
        Arg("follow", BOOL, "Print each event as one line of JSON, and new ones as they come, until the job is over.", default=False,
            mcp="", short="-f"),
    ),
    right=READ,
    result=Events,
    follow="outlive.verbs.events:follow_events",
)  # fmt: skip
