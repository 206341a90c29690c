"""When lines of output were printed: the time of the run of bytes (store/output/merged.py) in which each begins."""

from __future__ import annotations

import time

from outlive.core.units import seconds_of, timestamp
from outlive.render.sources import Excerpted
from outlive.store.output.merged import Output


class Clock:
    """Knows when bytes of the merged output were printed, or of the log of one stream."""

    def __init__(self, output: Output, stream: int | None) -> None:
        self._output = output
        self._stream = stream
        self._run = (0, 0)  # the positions of the last run
        self._at: str | None = None

    def at(self, position: int) -> str | None:
        """Return when the byte at `position` was printed, as RFC 3339; None: not known."""
        self.run_of(position)
        return self._at

    def run_of(self, position: int) -> int:
        """Return where the run ends that holds the byte at `position`."""
        start, stop = self._run
        if not start <= position < stop:
            seq = position if self._stream is None else self._output.seq_of(self._stream, position)
            first, behind, when_ns = self._output.run_at(seq)
            start = position - (seq - first)
            self._run = start, start + behind - first
            self._at = None if when_ns is None else timestamp(when_ns // 1_000_000 / 1000)
        return self._run[1]

    def of_parts(self, parts: list[Excerpted]) -> list[str | None]:
        """Return the time of each line of an excerpt; None for a line of ours."""
        times: list[str | None] = []
        for part in parts:
            count = part.text.count("\n") + (part.text != "" and not part.text.endswith("\n"))
            if part.data is None:
                times += [None] * count
                continue
            begin = 0
            for _ in range(count):
                times.append(self.at(part.start + begin))
                begin = part.data.find(b"\n", begin) + 1
        return times


def local(stamp: str) -> str:
    """Return the time of day on this machine, as HH:MM:SS.mmm."""
    return f"{time.strftime('%H:%M:%S', time.localtime(seconds_of(stamp)))}.{stamp[-4:-1]}"


def in_front(output: str, times: object) -> str:
    """Return the output with the time of day in front of each line that has one. `times`: of an answer, if it has them."""
    lines = output.removesuffix("\n").split("\n")
    if not isinstance(times, list) or len(lines) != len(times):  # a mask took lines away: none is known to be which
        return output
    timed = [f"{local(at)} {line}" if at else line for line, at in zip(lines, times, strict=True)]
    return "\n".join(timed) + ("\n" if output.endswith("\n") else "")
