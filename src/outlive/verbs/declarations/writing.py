"""What types into a job."""

from outlive.answers.writing import Written
from outlive.core.records import CONTROL
from outlive.verbs.shared_args import TEXT_FIRST, WRITING
from outlive.verbs.spec import BOOL, JOB, STR, STRS, Arg, Verb

WRITE = Verb(
    "write",
    "Put data into the stdin of a job that was started with stdin open, or type it into its terminal.",
    "outlive.verbs.write:write",
    group="Write to a job",
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
SUBMIT = Verb(
    "submit",
    "Type text, if any, and press Enter in a job's terminal; without a terminal, write it and a newline to its stdin.",
    "outlive.verbs.write:submit",
    group="Write to a job",
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
            "What the prompt of the text, or of each of the texts, holds, as text or RE2; at another prompt it stops.",
            default=(),
            metavar="PATTERN",
            mcp_help="text or RE2 in each prompt, else stop",
        ),
        *WRITING,
    ),
    right=CONTROL,
    result=Written,
)
