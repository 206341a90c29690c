"""Give a job a line of input: text and Enter."""

from __future__ import annotations

from outlive.answers.writing import Written
from outlive.core.records import CONTROL
from outlive.verbs.shared_args import TEXT_FIRST, WRITING
from outlive.verbs.spec import JOB, STR, STRS, Arg, Verb

VERB = Verb(
    "submit",
    "Type text, if any, and press Enter in a job's terminal; without a terminal, write it and a newline to its stdin.",
    "outlive.verbs.submit:submit",
    args=(
        JOB,
        Arg(
            "text",
            STR,
            "Text to type before Enter.",
            aliases=("data",),
            metavar="TEXT",
            mcp_help=TEXT_FIRST,
            typed=True,
        ),
        Arg(
            "texts",
            STRS,
            "Texts to type in turn, each when the job asks; it stops if the job ends or asks nothing more.",
            default=(),
            metavar="TEXT",
            mcp_help="one for each prompt",
            typed=True,
        ),
        Arg(
            "expect",
            STRS,
            "What the prompt of each of the texts holds, as text or RE2; at another prompt it stops.",
            default=(),
            metavar="PATTERN",
            mcp_help="text or RE2 in each prompt, else stop",
        ),
        *WRITING,
    ),
    right=CONTROL,
    result=Written,
)
