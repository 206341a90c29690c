"""What types into a job."""

from outlive import limits
from outlive.answers.writing import Resized, Written
from outlive.core.records import CONTROL
from outlive.verbs.shared_args import TEXT_FIRST, WRITING
from outlive.verbs.spec import BOOL, INT, JOB, STR, STRS, Arg, Verb

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
SEND_KEYS = Verb(
    "send-keys",
    "Press keys in the terminal of a pty job.",
    "outlive.verbs.send_keys:send_keys",
    group="Write to a job",
    args=(
        JOB,
        Arg("keys_", STRS, "Keys by their names in tmux: C-c, M-x, S-Tab, Enter, Up, F5; a character is itself, other words are refused.", default=(),
            cli="KEY", mcp="keys", metavar="KEY", mcp_help="tmux names: C-c, M-x, Enter, F5"),
        Arg("hex_", STRS, "Bytes in hex, such as 1b.", default=(), cli="--hex", mcp="hex", hidden="mcp", metavar="HEX"),
        Arg("literal", STR, "Text to type as it is, before the keys.", mcp="text", aliases=("literal", "data"),
            metavar="TEXT", mcp_help=TEXT_FIRST, typed=True),
        *WRITING,
    ),
    right=CONTROL,
    result=Written,
    detail="Modifiers C- (or ^), M- and S- in any order. Names: Enter Tab Escape Space BSpace Up Down Left Right Home "
    "End PageUp PageDown Insert Delete F1-F12 KP0-KP9 KPEnter and more. Cursor keys follow the mode the program set.",
)  # fmt: skip
SUBMIT = Verb(
    "submit",
    "Type text, if any, and press Enter in a job's terminal; without a terminal, write it and a newline to its stdin.",
    "outlive.verbs.submit:submit",
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
PASTE = Verb(
    "paste",
    "Paste text into the terminal of a pty job.",
    "outlive.verbs.paste:paste",
    group="Write to a job",
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
RESIZE = Verb(
    "resize",
    "Change the size of a pty job's terminal.",
    "outlive.verbs.resize:resize",
    group="Write to a job",
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
            hidden="mcp",
        ),
        Arg(
            "rows", INT, "Rows.", required=True, minimum=1, maximum=limits.MAX_TERMINAL_ROWS, metavar="N", hidden="mcp"
        ),
    ),
    right=CONTROL,
    result=Resized,
)
