"""How fast output comes, and whether a turn does well to wait for more of it.

A flood of single lines wakes the pump for each of them: it takes a core, and the pipe's lock from
the writer, for 80 bytes a turn. A fraction of a millisecond later there are hundreds of lines.
Output that does not come in a flood is taken at once.
"""

from __future__ import annotations

from outlive import limits

FLOOD_TURNS = 16  # this many turns of one stream in a row, ...
_FLOOD_TURN_S = 0.00025  # ... each at most this long after the one before, are a flood of small writes
FLOOD_PAUSE_S = (0.00006, 0.0005)  # a turn of a flood waits this long for more; where less would do, not at all


class Batching:
    """Counts turns in laps of `FLOOD_TURNS`. All times are seconds on one clock, sizes bytes."""

    def __init__(self) -> None:
        self._stream = -1
        self._turns = 0
        self._pause = self._paused = 0.0
        self._since = 0.0
        self._from = 0

    def pause(self, stream: int, now: float, size: int) -> float:
        """A turn of `stream` begins, whose log holds `size`: how long it is to wait first."""
        if stream != self._stream:  # what two streams write keeps its order best if each is taken at once
            self._begin(now, size)
            self._stream = stream
            self._pause = 0.0
        elif self._turns == FLOOD_TURNS:
            self._pause = self._best(now, size)
            self._begin(now, size)
        self._turns += 1
        self._paused += self._pause
        return self._pause

    def moved(self, count: int) -> None:
        """The turn moved `count` bytes. A pipe that is nearly full may have made its writer wait for us."""
        if self._pause and count > limits.PIPE_BYTES - limits.PIPE_BYTES // 16:
            self._pause = 0.0
            self._stream = -1

    def _begin(self, now: float, size: int) -> None:
        self._since, self._from = now, size
        self._turns = 0
        self._paused = 0.0

    def _best(self, now: float, size: int) -> float:
        """Three eighths of a pipe may fill meanwhile: the kernel wakes late. 0: it comes too slowly
        for that, or in writes so large that each is worth a turn."""
        took, came = now - self._since, size - self._from
        if came <= 0 or took - self._paused > FLOOD_TURNS * _FLOOD_TURN_S:
            return 0.0
        pause = min(FLOOD_PAUSE_S[1], took * (limits.PIPE_BYTES * 3 // 8) / came)
        return pause if pause >= FLOOD_PAUSE_S[0] else 0.0
