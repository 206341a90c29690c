"""What is looked at of a long output, and what an answer shows of that: the chosen lines, with a line for each gap."""

from __future__ import annotations

import functools
import importlib.util
from bisect import bisect_right
from collections import Counter
from itertools import pairwise

from outlive.answers.output import Cut, LeftOut, Shown
from outlive.core.record import Value
from outlive.core.units import size
from outlive.parts.failures.lines import middle, problem_matchers
from outlive.parts.failures.lines.chosen_lines import MAX_LINE_CHARS, Choice, Lines, Made, Run
from outlive.parts.failures.lines.problem_matchers import Matcher, Matchers
from outlive.render import head_and_tail
from outlive.render.plain_text import readable
from outlive.render.sources import Source, View, gaps_in

# With more, an answer takes longer and no more of the causes in benchmarks/causes is found
HEAD_BYTES = 256 * 1024
TAIL_BYTES = 1024**2
_LEAST_BYTES = 256  # with less room, gaps would take all of it ...
_FEW_BYTES = 1_024  # ... and of this much room most of it: only failures are worth that


def chosen(source: Source, since: int, stop: int, view: View, *, failed: bool) -> Shown | None:
    """Return what is chosen of [since, stop) for an answer; None where no lines can be: with little room, or of lines
    that are longer than it. `failed`: of a command that did, all of it is searched."""
    if view.max_bytes < _LEAST_BYTES:
        return None
    matchers = compiled(view.matchers)
    if matchers is None:
        return None
    looked = _Looked(source, since, min(stop, source.end), matchers, failed=failed)
    room = view.max_bytes
    if room < _FEW_BYTES and not looked.choice.failures:
        return None
    while not looked.endless:
        made = looked.made(room, few=failed or view.goes_on)
        if made.used < room // 2 and not (failed or view.goes_on):
            break
        shown = looked.shown(made)
        if shown is None:
            break
        smaller = head_and_tail.less_room(room, shown.output, view.max_bytes)
        if smaller is None:
            return shown
        room = smaller
    return None


@functools.lru_cache(maxsize=4)
def compiled(added: tuple[Matcher, ...]) -> Matchers | None:
    """Return the matchers of the configuration, which come first, and those built in. None where there is no RE2, which
    is not made for every machine: then output is shown plain."""
    if importlib.util.find_spec("re2") is None:
        return None
    return problem_matchers.Matchers((*added, *problem_matchers.built_in()))


class Failure(Value):
    """A line that reports a failure."""

    seq: int  # where it begins in the output
    text: str


def failures(source: Source, added: tuple[Matcher, ...], most: int, *, failed: bool) -> tuple[list[Failure], int]:
    """Return lines that report a failure, first the one that says why (telling.py), then those that say most; and how many
    there are. Where no tool names a failure, they are lines that may mean one."""
    matchers = compiled(added)
    if matchers is None:
        return [], 0
    looked = _Looked(source, 0, source.end, matchers, failed=failed)
    choice = looked.choice
    numbers = [] if looked.endless else choice.failures or choice.doubtful
    if numbers:
        why = min(numbers, key=lambda number: (choice.hits[number].matcher, number))
        numbers = [why, *(number for number in numbers if number != why)]
    shown = [Failure(looked.place(number), looked.text(number)) for number in numbers[:most]]
    return shown, looked.count if choice.failures else len(numbers)


class _Piece(Value):
    """Output that was looked at: where it begins there, in the text, and in its lines."""

    seq: int
    offset: int
    line: int


class _Looked:
    """The first and the last bytes of [since, stop) of a job's output, and where the command `failed` the failures between
    them: all of it where it is short."""

    def __init__(self, source: Source, since: int, stop: int, matchers: Matchers, *, failed: bool) -> None:
        self._source, self._since, self._stop, self._failed = source, since, stop, failed
        hole = source.hole
        crossed = hole.crossed_by(since, stop)
        self._whole = not crossed and stop - since <= HEAD_BYTES + TAIL_BYTES
        head_stop = stop if self._whole else min(since + HEAD_BYTES, hole.start if crossed else stop)
        tail_start = stop if self._whole else max(stop - TAIL_BYTES, hole.stop if crossed else since)
        head, tail = source.read(since, head_stop), source.read(tail_start, stop)
        if not self._whole:
            head = head[: head_and_tail.cut_head(head)]
            cut = 0 if tail_start == hole.stop else head_and_tail.cut_tail(tail)
            tail, tail_start = tail[cut:], tail_start + cut
        between = failed and not self._whole
        self._between = middle.searched(source, since + len(head), tail_start, matchers) if between else None
        texts = [(since, head), *self._found(), (tail_start, tail)]
        texts = [(seq, text) for seq, text in texts if text]
        self.endless = any(not text.endswith(b"\n") for _, text in texts[:-1])  # two lines would be taken for one
        self._pieces: list[_Piece] = []
        offset = line = 0
        for seq, text in texts:
            self._pieces.append(_Piece(seq, offset, line))
            offset, line = offset + len(text), line + text.count(b"\n")
        self._lines_of_pieces = [piece.line for piece in self._pieces]
        self.choice = Choice(Lines(b"".join(text for _, text in texts)), matchers)
        self.count = len(self.choice.failures)
        if self._between is not None:
            self._count_between(self._between, since + len(head), tail_start)

    def _found(self) -> list[tuple[int, bytes]]:
        """Return the position and the text of what was found there, in whole lines."""
        found = []
        for start, stop in self._between.spans if self._between is not None else ():
            hole = self._source.hole
            text = self._source.read(start, min(stop, hole.start) if start < hole.start < hole.stop else stop)
            found.append((start, text[: head_and_tail.cut_head(text)]))
        return found

    def _count_between(self, between: middle.Middle, start: int, stop: int) -> None:
        """Count the failures there that are not looked at."""
        choice = self.choice
        seen = [number for number in choice.hits if start <= self.place(number) < stop]
        choice.elsewhere = between.counts - Counter(choice.kind(number) for number in seen)
        self.count += between.failures - sum(choice.hits[number].strong for number in seen)

    def made(self, room: int, *, few: bool) -> Made:
        return self.choice.made(room, few=few, whole=self._whole)

    def shown(self, made: Made) -> Shown | None:
        """Return what was chosen; None if that is every line, and only long lines do not fit."""
        repeated = made.repeated()
        parts: list[str] = []
        left_out: list[LeftOut] = []
        at, line, held = self._since, 0, 0
        for run in [*self._split(made.runs()), None]:
            start = self._stop if run is None else self.place(run.first)
            if start > at:
                left_out.append(self._left_out(at, start, line, len(self.choice.lines) if run is None else run.first))
                parts += self._marks(left_out)
                held = 0
            if run is not None:
                line, at = run.stop, self._end(run)
                text, held = self._source.text(start, at)
                parts.append(_noted(text, run, repeated))
        if not left_out:
            return None
        return Shown(
            output=head_and_tail.joined(*parts),
            since_seq=self._since,
            next_seq=self._stop - held,
            truncated=Cut(
                from_seq=left_out[0].from_seq,
                to_seq=left_out[-1].to_seq,
                bytes=sum(self._source.hole.kept(one.from_seq, one.to_seq) for one in left_out),
                lines=sum(one.lines or 0 for one in left_out)
                if all(one.lines is not None for one in left_out)
                else None,
                gaps=left_out,
            ),
            gaps=gaps_in(self._source.hole, self._since, self._stop) or None,
        )

    def _split(self, runs: list[Run]) -> list[Run]:
        """Return the runs; a run that goes on behind bytes that were not looked at is two."""
        split: list[Run] = []
        for run in runs:
            seams = [line for line in self._lines_of_pieces if run.first < line < run.stop]
            split += [Run(*ends) for ends in pairwise([run.first, *seams, run.stop])]
        return split

    def text(self, line: int) -> str:
        return shortened(readable(self.choice.lines.text(line).decode("utf-8", "replace")).rstrip("\n"))

    def place(self, line: int) -> int:
        """Return the position in the output at which a line starts."""
        piece = self._pieces[bisect_right(self._lines_of_pieces, line) - 1]
        return piece.seq + self.choice.lines.starts[line] - piece.offset

    def _end(self, run: Run) -> int:
        lines = self.choice.lines
        return self.place(run.stop - 1) + lines.stops[run.stop - 1] - lines.starts[run.stop - 1]

    def _left_out(self, start: int, stop: int, line: int, next_line: int) -> LeftOut:
        unseen = any(line <= seam <= next_line for seam in self._lines_of_pieces[1:])
        lines = self._source.lines_between(start, stop) if unseen else next_line - line
        return LeftOut(from_seq=start, to_seq=stop, lines=lines)

    def _marks(self, left_out: list[LeftOut]) -> list[str]:
        """Return the lines that stand for the last gap. The first of all gaps says what was chosen."""
        gap, hole = left_out[-1], self._source.hole
        size = hole.kept(gap.from_seq, gap.to_seq)
        if len(left_out) == 1:
            all_of_it = hole.kept(self._since, self._stop)
            marks = [head_and_tail.omitted(gap.from_seq, size, gap.lines, self._source.name, self._why(), of=all_of_it)]
        else:
            marks = [head_and_tail.omitted_too(gap.from_seq, size, gap.lines)]
        if hole.crossed_by(gap.from_seq, gap.to_seq):
            marks.append(head_and_tail.gone(hole.stop - hole.start, hole.lines))
        return [f"{mark}\n" for mark in marks]

    def _why(self) -> str:
        failures = (
            f", the end and lines that report a failure ({self.count:,} in all)" if self.count else " and the end"
        )
        return f"Shown: the beginning{failures}{self._where()}."

    def _where(self) -> str:
        """Return what was searched, unless that was all."""
        if self._whole or (self._between is not None and self._between.searched_to >= self._pieces[-1].seq):
            return ""
        first = HEAD_BYTES if self._between is None else self._between.searched_to - self._since
        return f"; searched: the first {size(first)} and the last {size(TAIL_BYTES)}"


def _noted(text: str, run: Run, repeated: dict[int, int]) -> str:
    """Return the text of a run with long lines shortened, and how often a kind of line comes of which not all is shown."""
    lines = text.split("\n")
    redrawn = text.count("\n") < run.stop - run.first - 1  # which of them is left is not known
    for number, line in enumerate(lines):
        lines[number] = shortened(line)
        count = None if redrawn else repeated.get(run.first + number)
        if count:
            lines[number] += f" (× {count:,})"
    return "\n".join(lines)


def shortened(line: str) -> str:
    """Return a line, or its beginning and how much more of it there is."""
    more = len(line) - MAX_LINE_CHARS
    return line if more <= 0 else f"{line[:MAX_LINE_CHARS]} [... {more:,} more characters]"
