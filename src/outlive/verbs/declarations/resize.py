"""Change the size of a job's terminal."""

from __future__ import annotations

from outlive import limits
from outlive.answers.writing import Resized
from outlive.core.records import CONTROL
from outlive.verbs.spec import INT, JOB, Arg, Verb

VERB = Verb(
    "resize",
    "Change the size of a pty job's terminal.",
    "outlive.verbs.resize:resize",
    args=(
        JOB,
        Arg(
            "cols",
            INT,
            "Columns.",
            required=True,
            minimum=1,
            maximum=limits.MAX_TERMINAL_COLS,
            metavar="N",
            mcp_help="",
        ),
        Arg("rows", INT, "Rows.", required=True, minimum=1, maximum=limits.MAX_TERMINAL_ROWS, metavar="N", mcp_help=""),
    ),
    right=CONTROL,
    result=Resized,
)
