"""What differs between the outputs of two runs.

Compared are kinds of lines. Two lines are of one kind if they differ in nothing but numbers, times, addresses and
hashes; two lines that report a failure, if they differ in nothing but times and addresses."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import NamedTuple

from outlive.answers import sentences
from outlive.answers.job import OtherRun
from outlive.answers.output import Excerpt
from outlive.answers.reading import LogLines
from outlive.core.ids import short_id
from outlive.matching.problem_matchers import Matcher
from outlive.render.failures.chosen_lines import SAYS, Lines, best
from outlive.render.failures.looked import compiled, shortened
from outlive.render.head_and_tail import cut_tail
from outlive.render.plain_text import readable
from outlive.store.output.line_index import Lines as Log
from outlive.store.output.merged import Output

COMPARED_BYTES = 8 * 1024**2  # of each output, its end
_COUNTED_BYTES = 512 * 1024  # of each output, its end
_GONE_LINES = 5  # shown of those that are gone, in ...
_GONE_SHARE = 4  # ... this part of the room
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
# Addresses; hashes; numbers, with the unit of a time
_MASKED = re.compile(rb"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{7,}\b|\d+(?:[.,:]\d+)*(?: ?(?:[mnu]|\xc2\xb5)?s\b)?")


class Counts(NamedTuple):
    """How many failures of one run another does not report, and how many it reports instead."""

    gone: int
    new: int


class _Named(NamedTuple):
    """By what lines that report a failure are named."""

    matcher: int
    located: bool


def of_failures(before: Output, now: Output, added: tuple[Matcher, ...]) -> Counts | None:
    """Count the failures that are gone and those that are new. None if neither output reports one, or without RE2."""
    old, new = _reported(before, added), _reported(now, added)
    every = old.keys() | new.keys()
    if not every:
        return None
    # Several lines tell of one failure, each named by another matcher: those that name a test or a place count, because what
    # stands below a test may be any number of lines, and of these the matcher that names most kinds
    every = {one for one in every if one.located} or every
    return Counts(max(len(old[one] - new[one]) for one in every), max(len(new[one] - old[one]) for one in every))


def _reported(output: Output, added: tuple[Matcher, ...]) -> dict[_Named, set[int]]:
    """Return for each matcher the kinds of the lines near the end that it names and that report a failure."""
    kinds: dict[_Named, set[int]] = defaultdict(set)
    matchers = compiled(added)
    if matchers is None:
        return kinds
    start = max(0, output.end - _COUNTED_BYTES)
    text = output.read(start, output.end)
    lines = Lines(text[cut_tail(text) :] if start else text)
    for number, hit in best(lines, matchers.hits(lines.seen, weak=False)).items():
        kinds[_Named(hit.matcher, hit.located)].add(
            lines.exact_kind(number) if hit.located else _masked_kind(lines.text(number))
        )
    return kinds


def _masked_kind(line: bytes) -> int:
    return hash(_MASKED.sub(b"0", line))


class Printed:
    """The end of an output that is compared, and the kinds of its lines."""

    def __init__(self, log: Log, added: tuple[Matcher, ...]) -> None:
        start = max(0, log.hole.minus(log.end, COMPARED_BYTES))
        if log.hole.crossed_by(start, log.end):
            start = log.hole.stop
        text = log.read(start, log.end)
        cut = cut_tail(text) if start > log.hole.stop else 0
        self.start, self.stop = start, log.end
        self.first = log.before(start + cut)  # the number of its first line, from 0
        self._text = text[cut:]
        self.lines = lines = Lines(self._text)
        matchers = compiled(added)
        hits = {} if matchers is None else best(lines, matchers.hits(lines.seen, weak=False))
        self.failures = hits.keys()
        texts = lines.seen.translate(_DIGITS).split(b"\n")
        kinds = {text: _masked_kind(text) for text in set(texts)}
        self.kinds = [kinds[text] for text in texts]
        for number in hits:
            self.kinds[number] = lines.exact_kind(number)

    def without(self, other: Printed) -> dict[int, int]:
        """Return the first line of each kind that the other did not print, with how many of it there are. Lines without
        a letter or a digit do not count."""
        known, first = set(other.kinds), dict[int, int]()
        counts = Counter(kind for kind in self.kinds if kind not in known)
        for number in range(len(self.lines)):
            kind = self.kinds[number]
            if kind in counts and kind not in first and SAYS.search(self.lines.text(number)):
                first[kind] = number
        return {number: counts[kind] for kind, number in first.items()}

    def row(self, number: int, count: int, *, raw: bool) -> str:
        """Return a line as `search` shows it, with how many there are of its kind."""
        text = self._text[self.lines.starts[number] : self.lines.stops[number]].rstrip(b"\n").decode("utf-8", "replace")
        text = text if raw else shortened(readable(text))
        return f"{self.first + number + 1}:{text}" + (f" (× {count:,})" if count > 1 else "")


def lines(
    log: Log, now: Printed, before: Printed, run: OtherRun, *, max_bytes: int, limit: int | None, raw: bool
) -> LogLines:
    """Return the answer of `log` with `compare`: the lines that are new since `run`, which printed `before`, and below them
    some of those that are gone. Where there is no room for all, lines that report a failure come first."""
    new, gone = now.without(before), before.without(now)
    run.new, run.gone = len(new), len(gone)
    below = _gone(before, gone, run.job_id, max_bytes // _GONE_SHARE, raw=raw)
    room = max_bytes - sum(map(_size, below))
    shown = _fitting(now, new, room, len(new) if limit is None else limit, raw=raw)
    rows = [*shown.values(), *below]
    hints = [] if new else ["It printed no kind of line that the other run did not print."]
    if len(shown) < len(new):
        hints.append(f"{len(new) - len(shown):,} more kinds of lines are new: a larger max_bytes or limit shows them.")
    if now.start or before.start:
        hints.append(f"Compared are the last {COMPARED_BYTES >> 20} MiB of each output.")
    return LogLines(
        shown=Excerpt(
            output="".join(f"{row}\n" for row in rows), since_seq=now.start, next_seq=now.stop, truncated=False
        ),
        first_line=now.first + min(shown) + 1 if shown else None,
        last_line=now.first + max(shown) + 1 if shown else None,
        total_lines=log.total(),
        compared=run,
        hint=sentences(*hints),
    )


def _gone(before: Printed, gone: dict[int, int], job_id: str, room: int, *, raw: bool) -> list[str]:
    """Return the lines about what is gone."""
    if not gone:
        return []
    rows = _fitting(before, gone, room, _GONE_LINES, raw=raw)
    kinds = "1 kind" if len(gone) == 1 else f"{len(gone):,} kinds"
    which = "" if not rows else ":" if len(rows) == len(gone) else f"; {len(rows)} of them:"
    return [f"[gone: {kinds} of lines that job {short_id(job_id)} printed{which}]", *rows.values()]


def _fitting(printed: Printed, counts: dict[int, int], room: int, most: int, *, raw: bool) -> dict[int, str]:
    """Return the rows of lines that fit, in order: first of all those that report a failure."""
    rows: dict[int, str] = {}
    for number in sorted(counts, key=lambda number: (number not in printed.failures, number)):
        row = printed.row(number, counts[number], raw=raw)
        room -= _size(row)
        if room < 0 or len(rows) >= most:
            break
        rows[number] = row
    return dict(sorted(rows.items()))


def _size(row: str) -> int:
    return len(row.encode("utf-8", "replace")) + 1
