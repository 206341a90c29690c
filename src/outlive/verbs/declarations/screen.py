"""Show a job's terminal as it is now."""

from __future__ import annotations

from outlive.answers.reading import Screen
from outlive.core.records import READ
from outlive.verbs.spec import BUDGET, INT, JOB, Arg, Verb

VERB = Verb(
    "screen",
    "Show the terminal of a pty job as a person would see it now.",
    "outlive.verbs.screen:screen",
    args=(
        JOB,
        Arg("offset", INT, "First row to show, from 0.", minimum=0, hidden="mcp", metavar="ROW"),
        BUDGET,
    ),
    right=READ,
    result=Screen,
)
