"""Type text into a job's terminal and press Enter."""

from __future__ import annotations

from outlive.core.records import CONTROL
from outlive.jobs import adoption, lookup
from outlive.jobs.interaction import stdin
from outlive.verbs.shared_args import TEXT_FIRST, WRITE_RESULT, WRITING
from outlive.verbs.spec import JOB, STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def submit(ctx: Context, *, job: str, text: str = "", **how: Any) -> Waiting[dict[str, Any]]:
    """Send `text` and one carriage return, in one write. Errors: not_a_pty, as for write."""
    typed = text.encode("utf-8", "surrogateescape") + b"\r"
    with lookup.open_job(ctx, job) as found_job:
        stdin.require_pty(adoption.inspect_and_adopt(ctx, found_job))
        return (yield from stdin.deliver(ctx, found_job, typed, field="text", **how))


VERB = Verb(
    "submit",
    "Type text, if any, and press Enter (a carriage return) in the terminal of a pty job.",
    submit,
    args=(
        JOB,
        Arg(
            "text",
            STR,
            "Text to type before Enter.",
            default="",
            aliases=("data",),
            metavar="TEXT",
            mcp_help=TEXT_FIRST,
            typed=True,
        ),
        *WRITING,
    ),
    right=CONTROL,
    result=WRITE_RESULT,
)
