"""Read the last lines of both streams."""

from __future__ import annotations

from outlive import limits
from outlive.answers.reading import Tail
from outlive.core.records import READ
from outlive.verbs.spec import ENCODING, INT, JOB, MAX_BYTES, STR, Arg, Verb

VERB = Verb(
    "tail",
    "Read the last lines of both streams as exact text.",
    "outlive.verbs.tail:tail",
    args=(
        JOB,
        Arg("tail_lines", INT, "Lines of each stream.", default=limits.TAIL_LINES, minimum=0, metavar="N",
            mcp_help=f"of each stream (default {limits.TAIL_LINES})"),
        Arg("max_bytes", INT, "Most bytes of each stream.", default=limits.TAIL_BYTES,
            mcp_default=limits.MCP_SHOWN_BYTES // 2, minimum=1,
            maximum=limits.MAX_SHOWN_BYTES, metavar="N", mcp_help=MAX_BYTES.mcp_help),
        Arg("stream", STR, "Which stream.", default="both", choices=("both", "stdout", "stderr"), mcp_help="(default both)"),
        ENCODING,
    ),
    right=READ,
    result=Tail,
)  # fmt: skip
