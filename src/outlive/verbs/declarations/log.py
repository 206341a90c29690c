"""Read a job's output by line, by position, or by what is in it."""

from __future__ import annotations

from outlive import limits
from outlive.answers.reading import Log
from outlive.core.records import READ
from outlive.verbs.spec import BOOL, ENCODING, INT, JOB, MAX_BYTES, RAW, RUN, SINCE_SEQ, STR, Arg, Verb

VERB = Verb(
    "log",
    "Read output by line, by position, or search it.",
    "outlive.verbs.log:log",
    args=(
        JOB,
        Arg("offset", INT, "First line, from 0; -5: the fifth from the end.", metavar="LINE",
            mcp_help="from 0; -5: the last 5 (default: the end)"),
        Arg("limit", INT, f"How many lines (default: the last {limits.LOG_LINES}).", minimum=0, metavar="N",
            mcp_help=f"(default {limits.LOG_LINES}; from offset on: all)"),
        SINCE_SEQ,
        Arg("stream", STR, "Which stream; positions and lines are then those of that stream's log.", default="both",
            choices=("both", "stdout", "stderr"), mcp_help="(default both)"),
        Arg("search", STR, "Show only lines that match this RE2 pattern, with their numbers.", metavar="PATTERN",
            mcp_help="lines that match this RE2"),
        Arg("context", INT, f"Lines around each match (default {limits.SEARCH_CONTEXT_LINES}).", minimum=0,
            maximum=100, metavar="N", mcp_help=f"around a match (default {limits.SEARCH_CONTEXT_LINES})"),
        Arg("compare", RUN, "Show only lines of kinds that another run did not print, and which are gone: previous (the run before, of the "
            "same command in the same directory), passed (the last that ended with 0), or a job. Numbers, times, "
            "addresses and hashes make no kind.", metavar="RUN",
            mcp_help="what is new since true (last run), passed, or a job"),
        MAX_BYTES,
        RAW,
        ENCODING,
        Arg("follow", BOOL, "Show the last 10 lines, or from --limit, --offset or --since-seq on, then what is printed, until the "
            "job ends; no answer follows. Of --search only the lines that match.", default=False, mcp="", short="-f"),
        Arg("propagate", BOOL, "With --follow: exit with the job's exit code.", default=False, mcp=""),
    ),
    right=READ,
    result=Log,
)  # fmt: skip
