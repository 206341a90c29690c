"""A line on stderr that tells a person how far a call is which takes longer than a second."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from outlive.cli import stdio
from outlive.cli.text import cut
from outlive.core.units import duration, size
from outlive.jobs.context import Context

FIRST_S, AGAIN_S = 1.0, 0.25
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """Draws the line from a timer while the call works or waits. Close it before anything else is printed: it
    disappears then."""

    def __init__(self, ctx: Context, verb: str) -> None:
        self._ctx = ctx
        self._verb = verb
        self._began = time.monotonic()
        self._drawn = False
        self._before = signal.signal(signal.SIGALRM, self._draw)
        signal.setitimer(signal.ITIMER_REAL, FIRST_S, AGAIN_S)

    def _draw(self, *_: object) -> None:
        try:
            width = os.get_terminal_size(2).columns or 80
        except OSError:  # it is gone
            return
        self._drawn = True
        stdio.note(_CLEAR + cut(line(self._verb, time.monotonic() - self._began, self._ctx.progress), width - 1))

    def close(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        if self._drawn:
            stdio.note(_CLEAR)


def line(verb: str, elapsed_s: float, progress: Callable[[], tuple[int, int | None, str]] | None) -> str:
    """Return the line. `progress` returns how much is done, of how much (None: not known) and of what: "bytes", or a
    plural noun."""
    parts = [duration(int(elapsed_s) * 1000)]
    if progress is not None:
        done, total, what = progress()
        if what == "bytes":
            count = size(done) if total is None else f"{size(done)} of {size(total)}"
        else:
            count = f"{done:,} {what}" if total is None else f"{done:,} of {total:,} {what}"
        parts.insert(0, count + (f" ({min(100, 100 * done // total)} %)" if total else ""))
    return f"outlive {verb}: {', '.join(parts)}"
