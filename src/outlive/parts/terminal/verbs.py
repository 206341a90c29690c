"""The verbs of terminals, without their functions."""

from __future__ import annotations

from outlive import limits
from outlive.answers.writing import Written
from outlive.core.records import CONTROL, READ
from outlive.parts.terminal.answers import Resized, Screen
from outlive.verbs.shared_args import TEXT_FIRST, WRITING
from outlive.verbs.spec import BOOL, BUDGET, INT, JOB, STR, STRS, Arg, Verb

SEND_KEYS = Verb(
    "send-keys",
    "Press keys in the terminal of a pty job.",
    "outlive.parts.terminal.send_keys:send_keys",
    group="Write to a job",
    args=(
        JOB,
        Arg("keys_", STRS, "Keys by their names in tmux: C-c, M-x, S-Tab, Enter, Up, F5; a character is itself, other words are refused.", default=(),
            cli="KEY", mcp="keys", metavar="KEY", mcp_help="tmux's: C-c, M-x, Enter, F5"),
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
PASTE = Verb(
    "paste",
    "Paste text into the terminal of a pty job.",
    "outlive.parts.terminal.paste:paste",
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
SCREEN = Verb(
    "screen",
    "Show the terminal of a pty job as a person would see it now.",
    "outlive.parts.terminal.screen:screen",
    group="Read and wait",
    args=(
        JOB,
        Arg("offset", INT, "First row to show, from 0.", minimum=0, hidden="mcp", metavar="ROW"),
        BUDGET,
    ),
    right=READ,
    result=Screen,
)
RESIZE = Verb(
    "resize",
    "Change the size of a pty job's terminal.",
    "outlive.parts.terminal.resize:resize",
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
ATTACH = Verb(
    "attach",
    "Join your terminal to the terminal of a pty job.",
    group="Write to a job",
    follow="outlive.parts.terminal.attach:main",
    args=(JOB, Arg("read_only", BOOL, "Only watch: nothing is typed, and the size stays.", default=False)),
    detail="What you type goes to the job, and what the job prints comes to you; the size of its terminal follows yours. "
    "Ctrl-] d detaches, and the job goes on; Ctrl-] twice sends one Ctrl-]. Several people can attach at once: one holds "
    "the keyboard, and Ctrl-] k takes it. What a "
    "program reads with echo off, such as a password, is not stored anywhere. Of a job that waits for approval, with or "
    "without a terminal, attach shows the command and takes your answer.",
)
