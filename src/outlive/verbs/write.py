"""Put data into a job's stdin, or type it into its terminal: `write` as it is, `submit` with Enter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from outlive.answers.writing import Written
from outlive.errors import argument, invalid
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import stdin
from outlive.jobs.interaction.exchange import Exchange


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


def submit(
    ctx: Context,
    *,
    job: str,
    text: str | None = None,
    texts: Sequence[str] = (),
    expect: Sequence[str] = (),
    wait_ms: int = 0,
    timeout_ms: int,
    max_bytes: int,
) -> Written:
    """Send `text` and what ends a line, in one write: a carriage return to a terminal, a newline to a stdin that is
    open. Or send each of `texts` so, when the job asks for it; with `expect`, `text` is one of these. Errors: as for
    write."""
    if texts and text is not None:
        raise invalid("texts", f"give {argument('text')} or {argument('texts')}, not both")
    field = "texts" if texts else "text"
    if expect and not texts:
        texts = (text or "",)
    if expect and len(expect) != len(texts):
        each = f"for each of {argument('texts')}" if field == "texts" else f"for {argument('text')}"
        message = f"{argument('expect')} has one entry {each}: {len(expect)} and {len(texts)}"
        hint = None if field == "texts" else f"{argument('texts')} takes several, one for each prompt."
        raise invalid("expect", message, hint=hint)
    with lookup.open_job(ctx, job) as job_dir:
        if texts:
            exchange = Exchange(ctx, job_dir, texts, expect, wait_ms, field=field)
            return exchange.run(timeout_ms=timeout_ms, max_bytes=max_bytes)
        given = stdin.Input((text or "").encode("utf-8", "surrogateescape"), "text", enter=True)
        return stdin.deliver(ctx, job_dir, given, timeout_ms=timeout_ms, wait_ms=wait_ms, max_bytes=max_bytes)
