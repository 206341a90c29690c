"""Show the jobs in a browser."""

from __future__ import annotations

from outlive import limits
from outlive.verbs.spec import BOOL, INT, Arg, Verb

VERB = Verb(
    "ui",
    "Show the jobs on a page in the browser: watch, search, type, kill, approve.",
    args=(
        Arg("no_open", BOOL, "Open no browser: print one object with the one-time link as `url`.", default=False),
        Arg("port", INT, f"Port of 127.0.0.1 to listen on (default: that of the last time, else {limits.UI_PORT}, else a "
            "free one).", minimum=0, maximum=65_535),
    ),
    mcp=False,
    program=True,
    result="url root serves",
    detail="The page is served on this machine only, until ^C; jobs go on. The link opens it once, within ten minutes; the "
    "browser is known from then on, for 30 days. If a page of this root is served already, a new link to it is made.",
)  # fmt: skip
