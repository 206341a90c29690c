"""Put data into a job's stdin, or type it into its terminal."""

from __future__ import annotations

from outlive.answers.writing import Written
from outlive.core.records import CONTROL
from outlive.verbs.shared_args import WRITING
from outlive.verbs.spec import BOOL, JOB, STR, Arg, Verb

VERB = Verb(
    "write",
    "Put data into the stdin of a job that was started with stdin open, or type it into its terminal.",
    "outlive.verbs.write:write",
    args=(
        JOB,
        Arg(
            "data",
            STR,
            "Text to write, as it is; a line needs its newline.",
            default="",
            aliases=("text",),
            metavar="TEXT",
            mcp_help="text; a line needs its newline",
            typed=True,
        ),
        Arg("eof", BOOL, "End the input after the data.", default=False, mcp_help="then end the input"),
        *WRITING,
    ),
    right=CONTROL,
    result=Written,
)
