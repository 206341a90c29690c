"""What reports come to: counts, and the first tests that failed."""

from __future__ import annotations

import re

from outlive.core.quoted import cut
from outlive.parts.reports import bounds
from outlive.parts.reports.answers import FailedTest, Tests
from outlive.render.plain_text import readable

_TEXT_CHARS = 65_536  # of what a test reported, in which its first lines and its place are looked for
_LINE_CHARS = 400
_MESSAGE_LINES = 3
_ESCAPED = re.compile("#x(1B|9B)")  # as pytest writes what XML cannot hold
# `test_a.py:12: AssertionError`, which is where pytest and Go say that it failed
_LEADING = re.compile(r"\s*([^\s:()]{1,300}\.\w{1,10}):(\d{1,7})(?::\d{1,7})?: ")
# A frame: `at a.FooTest.bar(FooTest.java:12)`, `at /src/a.test.js:5:17`, `at fn (/src/a.test.js:5:17)`
_FRAME = re.compile(r"""(?<![^\s('"])([^\s:()'"]{1,300}\.\w{1,10}):(\d{1,7})(?::\d{1,7})?(?![^\s):'"])""")


class Broken(Exception):
    """A report cannot be read. The text says why, and follows `NAME is broken: `."""


class Tally:
    """The counts of one report, or of several. `notes` are sentences about what is missing of them."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self.failures: list[FailedTest] = []
        self.notes: list[str] = []
        self._entries = 0

    def count_entry(self) -> None:
        """Take note of an element or a line. Errors: Broken if there are too many."""
        self._entries += 1
        if self._entries > bounds.ENTRIES:
            raise Broken(f"it has more than {bounds.ENTRIES:,} entries.")

    def fail(self, name: str, text: str, *, message: str = "", place: str = "") -> None:
        """Count a test that failed. `text`: what it reported; `message`: its first lines, where the report has them
        apart; `place`: FILE:LINE, for a text that names none."""
        self.failed += 1
        if len(self.failures) >= bounds.FAILURES:
            return
        text = _clean(text)
        place = plain(_place(name, text) or place, bounds.NAME_CHARS)
        said = _first_lines(_clean(message)) or _first_lines(text)
        name = plain(name, bounds.NAME_CHARS) or "(a test without a name)"
        self.failures.append(FailedTest(name=name, place=place or None, message=said or None))

    def add(self, other: Tally) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures = (self.failures + other.failures)[: bounds.FAILURES]
        self.notes += other.notes

    def tests(self) -> Tests:
        return Tests(passed=self.passed, failed=self.failed, skipped=self.skipped, failures=self.failures)


def plain(text: str, most: int) -> str:
    """Return a text as one line without control characters, of at most `most` characters."""
    return cut(" ".join(readable(text[: 4 * most]).split()), most)


def _clean(text: str) -> str:
    return readable(_ESCAPED.sub("\x1b", text[:_TEXT_CHARS])) if text else ""


def _first_lines(text: str) -> str:
    """Return the first lines that say something, as one text, without the place that leads the first."""
    lines: list[str] = []
    leading = _LEADING.match(text)
    for line in text[leading.end() if leading else 0 :].splitlines():
        if line.strip():
            lines.append(line[:_LINE_CHARS].strip())
        if len(lines) == _MESSAGE_LINES:
            break
    return cut("\n".join(lines), bounds.MESSAGE_CHARS)


def _place(name: str, text: str) -> str:
    """Return where a test failed, as FILE:LINE: a place that the report leads with, else the first frame in a file that
    the test is named for, else the first frame; "" if it names none."""
    leading = ""
    frames: list[tuple[str, ...]] = []
    for line in text.splitlines():
        line = line[:_LINE_CHARS]
        if match := _LEADING.match(line):
            leading = f"{match[1]}:{match[2]}"  # the last one is the innermost
        frames += [(one[1], one[2]) for one in _FRAME.finditer(line)]
    own = [frame for frame in frames if frame[0].rpartition("/")[2].partition(".")[0] in name]
    return leading or ":".join((own or frames or [("",)])[0])
