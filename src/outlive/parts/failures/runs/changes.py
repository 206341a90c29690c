"""What differs between the outputs of two runs.

Compared are kinds of lines. Two lines are of one kind if they differ in nothing but numbers, times, addresses and
hashes; two lines that report a failure, if they differ in nothing but times and addresses."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from outlive.answers import sentences
from outlive.answers.other_run import OtherRun
from outlive.answers.output import Excerpt
from outlive.answers.reading import LogLines
from outlive.core.ids import short_id
from outlive.core.quoted import cut
from outlive.core.record import Value
from outlive.core.units import size
from outlive.parts.failures.lines.chosen_lines import RARE, SAYS, Lines, best
from outlive.parts.failures.lines.looked import compiled, shortened
from outlive.parts.failures.lines.middle import Search
from outlive.parts.failures.lines.problem_matchers import Matcher, Matchers
from outlive.render.head_and_tail import cut_tail
from outlive.render.plain_text import readable
from outlive.store.output.line_index import Lines as Log
from outlive.store.output.merged import Output

COMPARED_BYTES = 8 * 1024**2  # of each output, its end
_COUNTED_BYTES = 512 * 1024  # of each output, its end
_GONE_LINES = 5  # shown of those that are gone, in ...
_GONE_SHARE = 4  # ... this part of the room
_BEFORE, _AFTER = 4, 12  # lines around a failure before the end, whose kinds are known too
_NAMED = 3  # failures that are gone are named if there are at most so many ...
_NAME_CHARS = 60  # ... each with so much of its name
# A test, in the words of test runners; a place
_NAMES = tuple(
    re.compile(one)
    for one in (
        r"::(\w[^ :\[]*(?:\[.*\])?)(?: |$)",
        r"^\W*(?:FAIL|FAILED|FAILURE|ERROR|not ok(?: \d+)?|test)\b\W+(\w\S*)",
        r"^_{3,} (.+) _{3,}$",
        r"^(\S+?:\d+)(?::\d+)?:",
    )
)
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
# Addresses; hashes; numbers, with the unit of a time
_MASKED = re.compile(rb"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{7,}\b|\d+(?:[.,:]\d+)*(?: ?(?:[mnu]|\xc2\xb5)?s\b)?")


class Counts(Value):
    """How many failures of one run another does not report, and how many it reports instead. `names` of those that are
    gone, where they are few. `shared`: whether both report one. `silent`: nothing that named a failure before does now."""

    gone: int
    new: int
    names: list[str]
    shared: bool
    silent: bool


class _Named(Value):
    """By what lines that report a failure are named."""

    matcher: int
    located: bool


_Reported = dict[_Named, dict[int, bytes]]  # the lines that a matcher names, by their kinds


def of_failures(before: Output, now: Output, added: tuple[Matcher, ...]) -> Counts | None:
    """Count the failures that are gone and those that are new. None if neither output reports one, or without RE2."""
    old, new = _reported(before, added), _reported(now, added)
    if not old and not new:
        return None
    gone = _only_in(old, new)
    named_by = [one for one in old if one.located] or list(old)
    return Counts(
        gone=len(gone),
        new=len(_only_in(new, old)),
        names=[_name(line) for line in gone.values()] if len(gone) <= _NAMED else [],
        shared=any(old[one].keys() & new.get(one, {}).keys() for one in named_by),
        silent=not any(one in new for one in named_by),
    )


def _only_in(these: _Reported, others: _Reported) -> dict[int, bytes]:
    """Return the failures of these that the others are not. Several lines tell of one failure, each named by another
    matcher, so the matcher that names most counts: first of those whose lines name a test or a place, because what
    stands below a test may be any number of lines; where none of them differs, of the others."""
    for located in (True, False):
        each = [
            {kind: line for kind, line in lines.items() if kind not in others.get(one, {})}
            for one, lines in these.items()
            if one.located is located
        ]
        most = max(each, key=len, default={})
        if most:
            return most
    return {}


def _name(line: bytes) -> str:
    """Return what a line calls the test or the place that failed, or its beginning."""
    text = " ".join(line.decode("utf-8", "replace").split())
    name = next((found[1] for found in (one.search(text) for one in _NAMES) if found), text)
    return cut(name, _NAME_CHARS)


def _reported(output: Output, added: tuple[Matcher, ...]) -> _Reported:
    """Return for each matcher the lines near the end that it names and that report a failure."""
    kinds: _Reported = defaultdict(dict)
    matchers = compiled(added)
    if matchers is None:
        return kinds
    start = max(0, output.end - _COUNTED_BYTES)
    text = output.read(start, output.end)
    lines = Lines(text[cut_tail(text) :] if start else text)
    for number, hit in sorted(best(lines, matchers.hits(lines.seen, weak=False)).items()):
        kinds[_Named(hit.matcher, hit.located)].setdefault(lines.exact_kind(number), lines.text(number))
    return kinds


def _masked_kind(line: bytes) -> int:
    """Return the kind of a line in which 0 stands for each digit."""
    return hash(_MASKED.sub(b"0", line))


def _kind(lines: Lines, number: int) -> int:
    return _masked_kind(lines.text(number).translate(_DIGITS))


class _Line(Value):
    """A line: where it begins and stops in the output, its kind, and whether a tool prints it for a failure alone."""

    start: int
    stop: int
    kind: int
    strong: bool


class _BeforeEnd:
    """The first line of each kind that a matcher names in [0, stop) of an output, in order, and how many of each kind
    there are. `around`: the kinds of the lines that stand around them. `unsearched`: how many bytes of it were not looked
    at, since a search lasts a second at most."""

    def __init__(self, log: Log, stop: int, matchers: Matchers | None) -> None:
        self.lines: list[_Line] = []
        self.counts: Counter[int] = Counter()
        self.around: set[int] = set()
        self.unsearched = log.hole.kept(0, stop)
        if matchers is None or not stop:
            return
        search = Search(log, 0, stop, matchers)
        for at, number, hit, lines in search.named():
            kind = lines.exact_kind(number) if hit.strong else _kind(lines, number)
            self.counts[kind] += 1
            if self.counts[kind] == 1:
                near = range(max(0, number - _BEFORE), min(number + 1 + _AFTER, len(lines)))
                self.around.update(_kind(lines, one) for one in near)
                self.lines.append(_Line(at + lines.starts[number], at + lines.stops[number], kind, hit.strong))
        self.unsearched = log.hole.kept(search.reached, stop)

    def speaks(self, number: int) -> bool:
        """Return whether a line would be chosen for an answer: of those that may mean a failure, a rare one."""
        line = self.lines[number]
        return line.strong or self.counts[line.kind] <= RARE


class Printed:
    """What is compared of an output: the lines of its end, and before them those that report a failure. Numbers of
    lines are places in that."""

    def __init__(self, log: Log, added: tuple[Matcher, ...]) -> None:
        start = max(0, log.hole.minus(log.end, COMPARED_BYTES))
        if log.hole.crossed_by(start, log.end):
            start = log.hole.stop
        text = log.read(start, log.end)
        cut = cut_tail(text) if start > log.hole.stop else 0
        self.start, self.stop = start, log.end
        self.first = log.before(start + cut)  # the number of the first line of the end, from 0
        self._log = log
        self._text = text[cut:]
        self.lines = lines = Lines(self._text)
        self.matchers = matchers = compiled(added)
        self.early = _BeforeEnd(log, start + cut, matchers)
        self._early = len(self.early.lines)
        hits = {} if matchers is None else best(lines, matchers.hits(lines.seen, weak=False))
        self.failures = {number for number, line in enumerate(self.early.lines) if line.strong}
        self.failures |= {self._early + number for number in hits}
        texts = lines.seen.translate(_DIGITS).split(b"\n")
        kinds = {text: _masked_kind(text) for text in set(texts)}
        self.kinds = [*(line.kind for line in self.early.lines), *(kinds[text] for text in texts)]
        for number in hits:
            self.kinds[self._early + number] = lines.exact_kind(number)

    def without(self, other: Printed) -> dict[int, int]:
        """Return the first line of each kind that the other did not print, with how many of it there are. Lines without
        a letter or a digit do not count."""
        known, first = {*other.kinds, *other.early.around}, dict[int, int]()
        counts = Counter(kind for kind in self.kinds[self._early :] if kind not in known)
        for number in range(self._early + len(self.lines)):
            kind = self.kinds[number]
            if kind not in known and kind not in first and self._speaks(number):
                first[kind] = number
        return {number: counts[kind] + self.early.counts[kind] for kind, number in first.items()}

    def _speaks(self, number: int) -> bool:
        if number < self._early:
            return self.early.speaks(number)
        return SAYS.search(self.lines.text(number - self._early)) is not None

    def number(self, number: int) -> int:
        """Return the number of a line in the output, from 0."""
        if number < self._early:
            return self._log.before(self.early.lines[number].start)
        return self.first + number - self._early

    def row(self, number: int, count: int, *, raw: bool) -> str:
        """Return a line as `search` shows it, with how many there are of its kind."""
        if number < self._early:
            line = self._log.read(self.early.lines[number].start, self.early.lines[number].stop)
        else:
            at = number - self._early
            line = self._text[self.lines.starts[at] : self.lines.stops[at]]
        text = line.rstrip(b"\n").decode("utf-8", "replace")
        text = text if raw else shortened(readable(text))
        return f"{self.number(number) + 1}:{text}" + (f" (× {count:,})" if count > 1 else "")


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
    hints = [_compared(now, before, any_new=bool(new))]
    if len(shown) < len(new):
        hints.append(f"{len(new) - len(shown):,} more kinds of lines are new: a larger max_bytes or limit shows them.")
    return LogLines(
        shown=Excerpt(
            output="".join(f"{row}\n" for row in rows),
            since_seq=0 if now.matchers else now.start,
            next_seq=now.stop,
            truncated=False,
        ),
        first_line=now.number(min(shown)) + 1 if shown else None,
        last_line=now.number(max(shown)) + 1 if shown else None,
        total_lines=log.total(),
        compared=run,
        hint=sentences(*hints),
    )


def _compared(now: Printed, before: Printed, *, any_new: bool) -> str | None:
    """Return what was compared, unless that was all, and that nothing of it is new."""
    if not (now.start or before.start):
        return None if any_new else "It printed no kind of line that the other run did not print."
    said = "" if any_new else "No kind of line is new. "
    said += f"Compared are the last {COMPARED_BYTES >> 20} MiB of each output"
    if now.matchers is not None:
        said += ", and of what is before them the lines that report a failure"
    unsearched = now.early.unsearched + before.early.unsearched
    if now.matchers is not None and unsearched:
        said += f" ({size(unsearched)} of that were not searched)"
    return f"{said}."


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
