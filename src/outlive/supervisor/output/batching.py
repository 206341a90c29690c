"""Whether a turn does well to wait for more output.

A flood of single lines wakes the pump for each of them: it takes a core, and the pipe's lock from
the writer, for 80 bytes a turn. A fraction of a millisecond later there are hundreds of lines.
Output that does not come in a flood is taken at once.
"""

from __future__ import annotations

from outlive import limits

FLOOD_TURNS = 16  # this many turns of one stream in a row, ...
_FLOOD_TURN_S = 0.00025  # ... each at most this long after the one before, are a flood of small writes
FLOOD_PAUSE_S = 0.0003  # a turn of a flood waits this long for more
_LARGE_BYTES = limits.PIPE_BYTES // 8  # at once: writes so large are worth a turn each
_FULL_BYTES = limits.PIPE_BYTES * 15 // 16  # after a pause: the pipe may have made its writer wait for us


class Batching:
    """Counts the turns of a flood. All times are seconds on one clock."""

    def __init__(self) -> None:
        self._stream = -1
        self._turns = 0
        self._last = self._pause = 0.0

    def pause(self, stream: int, now: float) -> float:
        """A turn of `stream` begins: how long it is to wait first."""
        if stream != self._stream or now - self._last > _FLOOD_TURN_S:
            self._turns = 0  # what two streams write keeps its order best if each is taken at once
        self._pause = FLOOD_PAUSE_S if self._turns >= FLOOD_TURNS else 0.0
        self._stream, self._last = stream, now + self._pause
        self._turns += 1
        return self._pause

    def moved(self, count: int) -> None:
        """The turn moved `count` bytes."""
        if count > (_FULL_BYTES if self._pause else _LARGE_BYTES):
            self._turns = 0
