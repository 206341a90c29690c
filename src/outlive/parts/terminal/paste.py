"""Paste text into a job's terminal."""

from __future__ import annotations

from typing import Any

from outlive.answers.writing import Written
from outlive.errors import invalid
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.interaction import stdin
from outlive.jobs.interaction.typist import BEGIN, END


def paste(ctx: Context, *, job: str, text: str = "", bracketed: bool | None = None, **how: Any) -> Written:
    """Type `text` as a terminal pastes it: newlines become carriage returns, and paste markers surround the text if the
    program asked for them or `bracketed` says so. Errors: not_a_pty, invalid_argument, as for write."""
    if not text:
        raise invalid("text", "there is no text to paste")
    data = _without_markers(text.encode("utf-8", "surrogateescape").replace(b"\r\n", b"\n").replace(b"\n", b"\r"))
    with lookup.open_job(ctx, job) as job_dir:
        stdin.require_pty(adoption.inspect_and_adopt(ctx, job_dir))
        if bracketed is None:
            bracketed = ask(job_dir, {"op": "terminal"})["bracketed_paste"]
        if bracketed:
            data = BEGIN + data + END
        return stdin.deliver(ctx, job_dir, stdin.Input(data, "text"), **how)


def _without_markers(data: bytes) -> bytes:
    """Return the text without paste markers: an end marker inside would end the paste, and the rest would be typed."""
    *pieces, last = data.split(END[-1:])
    kept = bytearray()
    for piece in pieces:
        kept += piece + END[-1:]
        if kept.endswith((BEGIN, END)):  # cutting one out may make another, which ends with a later piece
            del kept[-len(END) :]
    return bytes(kept + last)
