"""Press keys in a job's terminal."""

from __future__ import annotations

from outlive.answers.writing import Written
from outlive.core.records import CONTROL
from outlive.verbs.shared_args import TEXT_FIRST, WRITING
from outlive.verbs.spec import JOB, STR, STRS, Arg, Verb

VERB = Verb(
    "send-keys",
    "Press keys in the terminal of a pty job.",
    "outlive.verbs.send_keys:send_keys",
    args=(
        JOB,
        Arg("keys_", STRS, "Keys as in tmux: C-c, M-x, S-Tab, Enter, Up, F5; a character is itself.", default=(),
            cli="KEY", mcp="keys", metavar="KEY", mcp_help="as in tmux: C-c, M-x, Enter, F5"),
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
