"""TAP, the Test Anything Protocol, versions 12 to 14 (https://testanything.org).

Subtests are indented, and stand before the test that they belong to. That one is not counted itself, unless it failed
and none of its subtests did."""

from __future__ import annotations

import io
import re
from itertools import takewhile

from outlive.parts.reports.tally import Broken, Tally

_RESULT = re.compile(r"([ \t]{0,200})(not )?ok\b[ \t]{0,50}(\d{0,18})(?:\s|$)(.*)")
_PLAN = re.compile(r"1\.\.(\d{1,9})\s*(?:#.*)?$")
_DIRECTIVE = re.compile(r"(?<!\\)#\s{0,50}(skip|todo)", re.IGNORECASE)
_BAIL = "Bail out!"
_BLOCK, _BLOCK_END = "---", "..."  # of YAML below a test
_MOST_LINES = 40  # of what stands below a test
_LINE_CHARS = 1_000
_AT = re.compile(r"""\s*(?:at|location|file):\s*['"]?(\S{1,300}?:\d{1,7})(?::\d{1,7})?['"]?\s*$""")
_SAID = re.compile(r"""\s*(?:error|message):\s*(?:\|-?\s*$|['"]?(.*?)['"]?\s*$)""")


class _Failed:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []

    def count(self, tally: Tally) -> None:
        said = (line.strip().removeprefix("#").strip() for line in self.lines)
        text = "\n".join(line for line in said if line not in (_BLOCK, _BLOCK_END))
        place = next((match[1] for line in self.lines if (match := _AT.match(line))), "")
        tally.fail(self.name, text, message=_message(self.lines), place=place)


def read(data: bytes) -> Tally:
    """Return what a report says. Errors: Broken."""
    reader = _Reader()
    for line in io.BytesIO(data):
        reader.tally.count_entry()
        reader.take(line[:_LINE_CHARS].decode("utf-8", "replace").rstrip())
    return reader.end()


class _Reader:
    def __init__(self) -> None:
        self.tally = Tally()
        self._failed: _Failed | None = None
        self._in_block = False
        self._planned: int | None = None
        self._ran = 0
        # Indentation of tests without one above them yet → whether one of them failed
        self._levels: dict[int, bool] = {}

    def take(self, line: str) -> None:
        if self._in_block and line[:1] in (" ", "\t"):
            self._in_block = line.strip() != _BLOCK_END
            self._keep(line)
        elif (result := _RESULT.match(line)) is not None:
            self._result(result)
        elif (plan := _PLAN.match(line)) is not None:
            self._planned = int(plan[1])
        elif line.startswith(_BAIL):
            self.tally.fail(_BAIL, line[len(_BAIL) :].strip())
        else:
            self._in_block = line[:1] in (" ", "\t") and line.strip() == _BLOCK
            self._keep(line)

    def _keep(self, line: str) -> None:
        if self._failed is not None and len(self._failed.lines) < _MOST_LINES and line.startswith((" ", "\t", "#")):
            self._failed.lines.append(line)

    def _result(self, result: re.Match[str]) -> None:
        self._end_failed()
        self._in_block = False
        level = len(result[1])
        self._ran += not level
        below = [self._levels.pop(one) for one in [*self._levels] if one > level]
        directive = _DIRECTIVE.search(result[4])
        failed = result[2] is not None and directive is None
        self._levels[level] = self._levels.get(level, False) or failed
        if below and (any(below) or not failed):
            return
        if directive is not None:
            self.tally.skipped += 1
        elif failed:
            self._failed = _Failed(result[4].strip().removeprefix("- ").strip() or f"test {result[3] or self._ran}")
        else:
            self.tally.passed += 1

    def _end_failed(self) -> None:
        """Count the last test that failed: the lines below it are read."""
        if self._failed is not None:
            self._failed.count(self.tally)
            self._failed = None

    def end(self) -> Tally:
        self._end_failed()
        if self._planned is None and not self._ran and not self.tally.failed:
            raise Broken("it is neither XML, JSON nor TAP.")
        if self._planned is not None and self._ran < self._planned:
            self.tally.notes.append(f"{self._ran:,} of {self._planned:,} planned tests ran.")
        return self.tally


def _message(lines: list[str]) -> str:
    """Return the error of a YAML block; "" if there is none, and then the lines themselves say it."""
    for at, line in enumerate(lines):
        if (match := _SAID.match(line)) is not None:
            return match[1] or "\n".join(_indented(lines[at + 1 :], len(line) - len(line.lstrip())))
    return ""


def _indented(lines: list[str], least: int) -> list[str]:
    """Return the lines up to the first that is indented by no more than `least`."""
    return [*takewhile(lambda line: len(line) - len(line.lstrip()) > least or not line.strip(), lines)]
