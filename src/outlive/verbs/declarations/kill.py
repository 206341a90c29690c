"""End a job and everything it started, or send it a signal."""

from __future__ import annotations

from outlive import limits
from outlive.answers.ending import Killed
from outlive.core.records import CONTROL
from outlive.verbs.spec import JOB, MS, STR, Arg, Verb

VERB = Verb(
    "kill",
    "End a job and everything it started.",
    "outlive.verbs.kill:kill",
    args=(
        JOB,
        Arg("signal", STR, "TERM, which KILL follows, or any other, such as INT or HUP, sent as it is.",
            default="TERM", metavar="SIGNAL", mcp_help="(default TERM, then KILL)"),
        Arg("grace_ms", MS, "Time between TERM and KILL.", default=limits.KILL_GRACE_MS, minimum=0, metavar="DURATION",
            hidden="mcp"),
        Arg("wait_ms", MS, "How long to wait for the end (default: 1 s, for TERM also the grace).", minimum=0,
            metavar="DURATION", mcp_help="wait for the end"),
    ),
    right=CONTROL,
    result=Killed,
)  # fmt: skip
