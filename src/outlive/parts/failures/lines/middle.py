"""Find the lines that report a failure between the beginning and the end of a very long output."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from outlive.core.record import Value
from outlive.parts.failures.lines.chosen_lines import MOST_OF_A_KIND, RARE, Lines, best
from outlive.parts.failures.lines.problem_matchers import Hit, Matchers
from outlive.render.sources import Source
from outlive.store.output.line_index import Lines as Log
from outlive.store.output.masks import joined
from outlive.system.waiting import checkpoint

MOST_S = 1.0  # of processor time, in which 120 MB of log lines are searched
_CHUNK_BYTES = 1024**2
_BEFORE, _AFTER = 4, 12  # lines around a failure that are looked at too
_LAST_BYTES = 4_096  # of lines behind a failure at the end of a piece that was searched
_KEPT_BYTES = (192 * 1024, 64 * 1024)  # of lines that report a failure, and of those that may mean one


class Middle(Value):
    """What was found. `spans` are [start, stop) of whole lines, in order. `counts`: how many lines there are of each
    kind that a matcher names. `failures`: how many that a tool prints for a failure alone. `searched_to`: a position."""

    spans: list[tuple[int, int]]
    counts: Counter[int]
    failures: int
    searched_to: int


def searched(source: Source, start: int, stop: int, matchers: Matchers) -> Middle:
    """Search [start, stop), whose ends are those of lines. Errors: Cancelled."""
    counts: Counter[int] = Counter()
    strong, weak = _Spans(_KEPT_BYTES[0]), _Spans(_KEPT_BYTES[1])
    failures, search = 0, Search(source, start, stop, matchers)
    for at, number, hit, lines in search.named():
        kind = lines.exact_kind(number) if hit.located else lines.kinds[number]
        counts[kind] += 1
        failures += hit.strong
        (strong if hit.strong else weak).add(kind, counts[kind], _around(lines, number, at, stop))
    rare = [span for kind, span in weak.kept if counts[kind] <= RARE]
    return Middle(joined([span for _, span in strong.kept] + rare), counts, failures, search.reached)


class Search:
    """Finds the lines of [start, stop) that a matcher names, for at most MOST_S. `reached`: the position up to which
    that was done."""

    def __init__(self, source: Source | Log, start: int, stop: int, matchers: Matchers) -> None:
        self._source, self._start, self._stop, self._matchers = source, start, stop, matchers
        self.reached = start

    def named(self) -> Iterator[tuple[int, int, Hit, Lines]]:
        """Yield (position of a piece, number of a line in it, its hit, the lines of the piece), in order. Errors:
        Cancelled."""
        until = time.thread_time() + MOST_S
        for at, text in _pieces(self._source, self._start, self._stop):
            lines = Lines(text)
            for number, hit in sorted(best(lines, self._matchers.hits(lines.seen)).items()):
                yield at, number, hit, lines
            self.reached = at + len(text)
            checkpoint()
            if time.thread_time() >= until:
                return
        self.reached = self._stop


class _Spans:
    """The first lines of each kind, while there is room."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.kept: list[tuple[int, tuple[int, int]]] = []

    def add(self, kind: int, count: int, span: tuple[int, int]) -> None:
        size = span[1] - span[0]
        if count <= MOST_OF_A_KIND and size <= self._room:
            self._room -= size
            self.kept.append((kind, span))


def _pieces(source: Source | Log, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Yield (position, whole lines), without those in the gap of a quota and those that are longer than a piece."""
    hole, within = source.hole, False  # whether `start` is within a line
    while start < stop:
        if hole.start < hole.stop and hole.holds(start):
            start, within = hole.stop, False
        end = min(stop, start + _CHUNK_BYTES, hole.start if start < hole.start < hole.stop else stop)
        text = source.read(start, end)
        if not text:
            return
        first = text.find(b"\n") + 1 or len(text) if within else 0
        last = text.rfind(b"\n") + 1
        if first < last:
            yield start + first, text[first:last]
        is_cut = start + len(text) < end or end - start == _CHUNK_BYTES
        within = is_cut and not last
        start += last if is_cut and last else len(text)


def _around(lines: Lines, number: int, at: int, stop: int) -> tuple[int, int]:
    """Return [start, stop) of a line and its neighbours in the output."""
    last = number + _AFTER
    end = lines.stops[last] if last < len(lines) else lines.stops[-1] + _LAST_BYTES
    return at + lines.starts[max(0, number - _BEFORE)], min(stop, at + end)
