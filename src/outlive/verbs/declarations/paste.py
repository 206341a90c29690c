"""Paste text into a job's terminal."""

from __future__ import annotations

from outlive.answers.writing import Written
from outlive.core.records import CONTROL
from outlive.verbs.shared_args import WRITING
from outlive.verbs.spec import BOOL, JOB, STR, Arg, Verb

VERB = Verb(
    "paste",
    "Paste text into the terminal of a pty job.",
    "outlive.verbs.paste:paste",
    args=(
        JOB,
        Arg("text", STR, "Text to paste.", default="", aliases=("data",), metavar="TEXT", mcp_help="", typed=True),
        Arg(
            "bracketed", BOOL, "Add paste markers even if the program did not ask for them.", default=None, hidden="mcp"
        ),
        *WRITING,
    ),
    right=CONTROL,
    result=Written,
)
