"""Put data into a job's stdin, or type it into its terminal."""

from __future__ import annotations

from typing import Any

from outlive import limits
from outlive.answers.writing import Written
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.interaction import stdin
from outlive.store.job_dir import JobDir


def write(ctx: Context, *, job: str, data: str = "", eof: bool = False, **how: Any) -> Written:
    """Write `data`, then end the input if `eof`. `how` is as for `stdin.deliver`.

    On a terminal `eof` is a character, and more can be typed after it."""
    sent = data.encode("utf-8", "surrogateescape")
    with lookup.open_job(ctx, job) as job_dir:
        too_long = _too_long(ctx, job_dir, sent)
        answer = stdin.deliver(ctx, job_dir, stdin.Input(sent, eof=eof), **how)
    answer.warnings = [*(answer.warnings or ()), *too_long, *_spelt_out(sent)] or None
    return answer


def _too_long(ctx: Context, job: JobDir, sent: bytes) -> list[str]:
    """Return a warning if the terminal cuts a line: in canonical mode it drops the excess silently (termios(3))."""
    longest = max(map(len, sent.split(b"\n")))
    if longest <= limits.TERMINAL_LINE_BYTES or not adoption.inspect_and_adopt(ctx, job).definition.pty:
        return []
    facts = ask(job, {"op": "terminal"})
    if not facts["canonical"]:
        return []
    told = f"the terminal takes lines of at most {limits.TERMINAL_LINE_BYTES} bytes, and one was {longest}"
    return [f"{told}: the rest of it is lost. Use stdin open without pty, or a file, for data."]


def _spelt_out(sent: bytes) -> list[str]:
    """Return a warning for a newline that was meant, and written as two characters."""
    if not sent.endswith(b"\\n"):
        return []
    told = "the last two characters were a backslash and an n, not a newline"
    return [f"{told}: in JSON a newline is written with one backslash, in bash as $'\\n'"]
