"""The verb of the page."""

from __future__ import annotations

from outlive.answers import Answer, field
from outlive.verbs.spec import BOOL, INT, Arg, Verb


class Ui(Answer):  # of ui
    url: str = field("A one-time link to the page.")
    root: str = field("The job root.")
    serves: bool = field("Whether this process serves the page; false if another one does.")


UI = Verb(
    "ui",
    "Show the jobs on a page in the browser: watch, search, type, kill, approve.",
    group="Read and wait",
    program="outlive.parts.page.program:main",
    args=(
        Arg("no_open", BOOL, "Open no browser: print one object with the one-time link as `url`.", default=False),
        Arg("port", INT, "Port of this machine's loopback addresses to listen on (default: a free one, new each time).",
            minimum=0, maximum=65_535),
    ),
    result=Ui,
    detail="The page is served on this machine only, until ^C; jobs go on. The link opens it once, within ten minutes; from then "
    "on the browser is known until the server ends. If a page of this root is served already, a new link to it is made.",
)  # fmt: skip
