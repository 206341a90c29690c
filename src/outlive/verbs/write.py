"""Put data into a job's stdin, or type it into its terminal."""

from __future__ import annotations

from typing import Any

from outlive.answers.writing import Written
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import stdin


def write(ctx: Context, *, job: str, data: str = "", eof: bool = False, **how: Any) -> Written:
    """Write `data`, then end the input if `eof`. `how` is as for `stdin.deliver`. On a terminal `eof` is a character,
    and more can be typed after it."""
    sent = data.encode("utf-8", "surrogateescape")
    with lookup.open_job(ctx, job) as job_dir:
        answer = stdin.deliver(ctx, job_dir, stdin.Input(sent, eof=eof, is_exact=True), **how)
    answer.warnings = [*(answer.warnings or ()), *_spelt_out(sent)] or None
    return answer


def _spelt_out(sent: bytes) -> list[str]:
    """Return a warning for a newline that was meant, and written as two characters."""
    if not sent.endswith(b"\\n"):
        return []
    told = "the last two characters were a backslash and an n, not a newline"
    return [f"{told}: in JSON a newline is written with one backslash, in bash as $'\\n'"]
