"""Put data into a job's stdin, or type it into its terminal."""

from __future__ import annotations

from outlive import limits
from outlive.actions import access, feeding
from outlive.actions.spec import BOOL, STR, Arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context


def write(
    ctx: Context, *, job: str, data: str = "", eof: bool = False, timeout_ms: int = limits.WRITE_MS
) -> Waiting[dict[str, Any]]:
    """Write `data`, then end the input if `eof`. On a terminal the end is a character: more can be typed after it."""
    sent = data.encode("utf-8", "surrogateescape")
    with access.open_job(ctx, job) as found_job:
        too_long = yield from _too_long(ctx, found_job, sent)
        answer = yield from feeding.deliver(ctx, found_job, sent, timeout_ms=timeout_ms, eof=eof)
    warnings = [*answer.get("warnings", []), *too_long]
    return answer | ({"warnings": warnings} if warnings else {})


def _too_long(ctx: Context, job: Any, sent: bytes) -> Waiting[list[str]]:
    """A terminal that reads line by line drops what is too long for one line, and tells nobody (termios(3))."""
    longest = max(map(len, sent.split(b"\n")))
    if longest <= limits.TERMINAL_LINE_BYTES or not access.look(ctx, job).definition.pty:
        return []
    facts = yield from feeding.ask(job, {"op": "terminal"})
    if not facts["canonical"]:
        return []
    told = f"the terminal takes lines of at most {limits.TERMINAL_LINE_BYTES} bytes, and one was {longest}"
    return [f"{told}: the rest of it is lost. Use stdin open without pty, or a file, for data."]


VERB = feeding.verb(
    "write",
    "Put data into the stdin of a job that was started with stdin open, or type it into its terminal.",
    write,
    Arg("data", STR, "Text to write, as it is: a line needs its newline.", default="", metavar="TEXT"),
    Arg("eof", BOOL, "End the input after it.", default=False),
)
