"""Choose the lines of a long output that a reader needs: its end, a little of its beginning, and between them the lines
that report a failure, with what stands around them.

What that finds is measured (benchmarks/causes). Nothing is concluded from the text: whether a command failed says its exit code.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from outlive.core.record import Value
from outlive.parts.failures.lines.problem_matchers import Hit, Matchers
from outlive.store.output.patterns import seen, valid

MAX_LINE_CHARS = 400
GAP_BYTES = 40  # of the line that stands for a gap
_TAIL, _HEAD = 0.25, 0.06  # shares of the budget
_BEFORE, _AFTER = 2, 6  # lines of context
MOST_OF_A_KIND = 2
RARE = 5  # a line that may report a failure counts if there are at most so many of its kind
_FULL = 0.5  # of the budget
_LAST_LINES = 15  # of a command that failed or goes on, where nothing speaks for more
_NUMBERS = b"0123456789abcdefABCDEF"
SAYS = re.compile(rb"[0-9A-Za-z\x80-\xff]")
# Times of day, dates, durations, ages and addresses
_UNITS = rb"(?:[nmu]|\xc2\xb5)?s|secs?|seconds?|m|mins?|minutes?|h(?:ours?)?|days?|(?:weeks?|months?|years?)(?= (?:ago|old)\b)"
_TIMES = re.compile(
    rb"\s\(\d++:\d\d:\d\d\)|(?<![\w.])(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    rb"|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?![\w:])|(?<!:)\d{1,2}:\d\d(?![\w:])"
    rb"|(?:\d{1,3} ?h ?)?\d{1,4} ?m ?\d{1,4}(?:\.\d+)? ?s\b"
    rb"|\d++(?:\.\d++)? ?(?:" + _UNITS + rb")(?!\w))|0x[0-9a-fA-F]+"
)
# What a summary says of how many there are, and the rules beside it, which fill its line
_TALLY = re.compile(
    rb"(?i)(?<![\w.])\d++ (?:\w+ )?(?:tests?|specs?|suites?|examples?|pass(?:ed|es|ing)|fail(?:ed|ing|ures?|s)|errors?|problems?"
    rb"|warnings?|skipped|ignored|pending|todo|total|filtered(?: out)?|measured|deselected|x?failed|xpassed)\b[,;.]? ?"
    rb"|(?:errors|skipped|failures)=\d++|[=_-]{3,}"
)


class Run(Value):
    """Lines that stand below each other: from line `first` to before line `stop`."""

    first: int
    stop: int


class Lines:
    """The lines of a text. `starts` and `stops` are offsets in the text as it was printed; matched and compared is what
    is seen of it: no escape sequences, and of a line that was overwritten its last state."""

    def __init__(self, text: bytes) -> None:
        self.starts = _starts(text)
        self.stops = [*self.starts[1:], len(text)]
        self.seen = valid(_last_states(seen(text) if b"\x1b" in text else text))
        self._seen_starts = self.starts if self.seen is text else _starts(self.seen)

    @functools.cached_property
    def kinds(self) -> list[int]:
        """The kind of each line, without digits and the letters of hashes: equal for lines that differ in numbers, times
        and addresses."""
        return [hash(line) for line in self.seen.translate(None, _NUMBERS).split(b"\n")]

    @functools.cached_property
    def counts(self) -> Counter[int]:
        return Counter(self.kinds)

    def __len__(self) -> int:
        return len(self.starts)

    def number_at(self, seen_offset: int) -> int:
        return bisect_right(self._seen_starts, seen_offset) - 1

    def size(self, number: int) -> int:
        """Return how many bytes a line takes at most where it is shown."""
        return min(self.stops[number] - self.starts[number], MAX_LINE_CHARS)

    def exact_kind(self, number: int) -> int:
        """Return the kind of a line that reports a failure: only times, ages, addresses and the counts of a summary may
        differ."""
        return hash(_TALLY.sub(b"", _TIMES.sub(b"", self.text(number))))

    def text(self, number: int) -> bytes:
        """Return what is seen of a line."""
        start = self._seen_starts[number]
        stop = self.seen.find(b"\n", start)
        return self.seen[start : stop if stop >= 0 else len(self.seen)]


class Choice:
    """The choice of one text, for any budget. `elsewhere`: how many lines of each kind of failure there are that do not
    stand in the text."""

    def __init__(self, lines: Lines, matchers: Matchers) -> None:
        self.lines = lines
        self.elsewhere: Counter[int] = Counter()
        self.hits = hits = best(lines, matchers.hits(lines.seen))
        self._exact = {number: lines.exact_kind(number) for number, hit in hits.items() if hit.located}
        self._exact_counts = Counter(self._exact.values())
        self._strong = self._ranked({number: hit.matcher for number, hit in hits.items() if hit.strong})
        self._weak = self._ranked({number: hit.matcher for number, hit in hits.items() if not hit.strong})

    @property
    def failures(self) -> list[int]:
        """The lines that a tool prints for a failure alone, those that say most first."""
        return [number for _, number in self._strong]

    @property
    def doubtful(self) -> list[int]:
        """Rare lines that may mean a failure."""
        return [number for _, number in self._weak if self.count(number) <= RARE]

    def kind(self, number: int) -> int:
        return self._exact.get(number, self.lines.kinds[number])

    def count(self, number: int) -> int:
        """Return how many lines of its kind there are."""
        exact, kind = self._exact.get(number), self.kind(number)
        return (self.lines.counts if exact is None else self._exact_counts)[kind] + self.elsewhere[kind]

    def _ranked(self, matchers: dict[int, int]) -> list[tuple[int, int]]:
        """Return lines, each with its rank: the first line that a matcher names before the second, those of different
        kinds before those of one; and the lines of a matcher that names few before those of a matcher that names many."""
        of_matcher: dict[int, list[int]] = {}
        for number in sorted(matchers):
            of_matcher.setdefault(matchers[number], []).append(number)
        ranked = []
        for numbers in of_matcher.values():
            known: Counter[int] = Counter()
            order = []
            for number in numbers:
                kind = self.lines.kinds[number]
                order.append((known[kind], number))
                known[kind] += 1
            ranked += [(rank, len(numbers), number) for rank, (_, number) in enumerate(sorted(order))]
        return [(rank, number) for rank, _, number in sorted(ranked)]

    def made(self, budget: int, *, few: bool, whole: bool) -> Made:
        """Return the lines to show in about `budget` bytes. `few`: of lines that are all alike the last ones do. `whole`:
        the text is all of the output."""
        made = Made(self, budget)
        numbers = range(len(self.lines))
        made.take(numbers, share=_HEAD)
        made.take(reversed(numbers), share=_TAIL)
        for rank, number in self._strong:
            made.take([number])
            if not rank and made.has(number):
                made.take(self._around(number), folded=False)
        for _, number in self._strong:
            if made.has(number):
                made.take(self._around(number))
        made.take(self.doubtful)
        last = numbers[-_LAST_LINES:]
        made.take(reversed(numbers if whole or not self._strong else last), saying=True)
        if made.used < budget * _FULL:  # of lines of few kinds, such as rows of a table, more are worth a look
            made.take(reversed(last if few else numbers), folded=False)
        return made

    def _around(self, number: int) -> list[int]:
        after = range(number + 1, min(number + 1 + _AFTER, len(self.lines)))
        return [*after, *range(number - 1, max(number - 1 - _BEFORE, -1), -1)]


class Made:
    """The lines that were chosen so far, and what they cost."""

    def __init__(self, choice: Choice, budget: int) -> None:
        self._choice = choice
        self._budget = budget
        self.used = GAP_BYTES
        self._kept = bytearray(len(choice.lines) + 2)  # with the neighbours of the ends, at -1 and at len
        self._of_kind: Counter[int] = Counter()

    def has(self, number: int) -> bool:
        return bool(self._kept[number])

    def take(self, numbers: Iterable[int], *, share: float = 1, folded: bool = True, saying: bool = False) -> None:
        """Choose lines while they fit into a share of the budget, beside what was chosen before. `saying`: only those with
        a letter or a digit."""
        kept, lines = self._kept, self._choice.lines
        limit = min(self._budget, self.used + self._budget * share)
        for number in numbers:
            kind = self._choice.kind(number)
            common = self._of_kind[kind] >= MOST_OF_A_KIND and (folded or number in self._choice.hits)
            if kept[number] or common or (saying and not SAYS.search(lines.text(number))):
                continue
            cost = lines.size(number) + GAP_BYTES * (1 - kept[number - 1] - kept[number + 1])
            if self.used + cost <= limit:
                self.used += cost
                kept[number] = 1
                self._of_kind[kind] += 1
            elif share < 1 or self.used + GAP_BYTES > limit:
                return

    def runs(self) -> list[Run]:
        """Return what was chosen, in order. A gap that takes no more room than the line that stands for it is closed."""
        runs: list[Run] = []
        lines = self._choice.lines
        first = self._kept.find(1)
        while 0 <= first < len(lines):
            stop = self._kept.find(0, first)
            if runs and lines.starts[first] - lines.stops[runs[-1].stop - 1] <= GAP_BYTES:
                first = runs.pop().first
            runs.append(Run(first, stop))
            first = self._kept.find(1, stop)
        return runs

    def repeated(self) -> dict[int, int]:
        """Return the first line shown of each kind of failure of which not all are shown, with how many there are."""
        repeated: dict[int, int] = {}
        kinds = set()
        for number in sorted(self._choice.hits):
            kind, count = self._choice.kind(number), self._choice.count(number)
            if self._kept[number] and kind not in kinds and count > self._of_kind[kind]:
                repeated[number] = count
                kinds.add(kind)
        return repeated


def best(lines: Lines, each: Iterable[Hit]) -> dict[int, Hit]:
    """Return for each line that a matcher names what the one says that says most."""
    hits: dict[int, Hit] = {}
    for hit in each:
        number = lines.number_at(hit.start)
        known = hits.get(number)
        if known is None or (hit.strong, -hit.matcher) > (known.strong, -known.matcher):
            hits[number] = hit
    return hits


def _last_states(text: bytes) -> bytes:
    """Return the text with each line as it was last overwritten."""
    if b"\r" not in text:
        return text
    lines = (line.rstrip(b"\r") for line in text.split(b"\n"))
    return b"\n".join(line.rpartition(b"\r")[2] for line in lines)


def _starts(text: bytes) -> list[int]:
    """Return the offset of each line."""
    starts = list(accumulate((len(line) + 1 for line in text.split(b"\n")), initial=0))[:-1]
    if len(starts) > 1 and starts[-1] == len(text):  # behind the last newline is no line
        starts.pop()
    return starts
