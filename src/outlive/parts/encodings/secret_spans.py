"""Which bytes of a log are secrets, for a reader that is not shown them and decodes the log.

A decoder makes other characters of a secret than it has, so it is found before.
"""

from __future__ import annotations

from outlive.store.output.masks import Find, Span
from outlive.store.output.merged import Output

_BLOCK_BYTES = 262_144
_AROUND_BYTES = 16_384  # searched before and behind: a secret may begin or end there


class SecretSpans:
    """The secrets in one log that will be decoded with this encoding."""

    def __init__(self, output: Output, stream: int, encoding: str, find: Find) -> None:
        self._output = output
        self._stream = stream
        self._encoding = encoding
        self._find = find
        self._searched = (0, 0)
        self._found: list[Span] = []

    def between(self, start: int, stop: int) -> list[Span]:
        """Return those with a byte in [start, stop), in order. They do not overlap. No gap may lie in between."""
        if start < self._searched[0] or stop > self._searched[1]:
            self._searched = (start - start % _BLOCK_BYTES, stop + -stop % _BLOCK_BYTES)
            self._found = self._search(start, stop)
        return [span for span in self._found if span.start < stop and span.stop > start]

    def _search(self, start: int, stop: int) -> list[Span]:
        low, high = max(0, self._searched[0] - _AROUND_BYTES), self._searched[1] + _AROUND_BYTES
        hole = self._output.gap.streams[self._stream]
        if hole.crossed_by(low, high):  # what is on its other side does not follow
            low, high = (max(low, hole.stop), high) if hole.stop <= start else (low, min(high, hole.start))
            self._searched = (max(low, self._searched[0]), min(high, self._searched[1]))
        data = self._output.read_stream(self._stream, low, high)
        return [Span(low + span.start, low + span.stop, span.label) for span in self._find(data, self._encoding)]
