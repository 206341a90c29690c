"""`go test -json`: an event in each line (https://pkg.go.dev/cmd/test2json).

A test with subtests is not counted itself, unless it failed and none of its subtests did."""

from __future__ import annotations

import re

from outlive.core.members import Members, text_of
from outlive.parts.reports import values
from outlive.parts.reports.tally import Tally, plain

_MOST_LINES = 50  # of what a test printed
_MOST_CHARS = 4_000
_ENDS = ("pass", "fail", "skip")
_SAID = re.compile(r"\s*\S{1,200}\.go:\d{1,7}:(?:\d{1,7}:)? ")
_FRAMING = ("=== ", "--- ", "FAIL", "ok  ", "exit status ")
_BUILD_FAILED = re.compile(rb"^FAIL\t(\S{1,1000}) \[(?:build|setup) failed\]", re.MULTILINE)  # before Go 1.24
_SHOWN = 3  # of the tests that did not end


def is_event(value: object) -> bool:
    return isinstance(value, dict) and "Action" in value and ("Package" in value or "ImportPath" in value)


class _Test:
    """One test, or a package ("" for its test)."""

    __slots__ = ("end", "has_failed", "has_tests", "lines", "room")

    def __init__(self) -> None:
        self.end = ""
        self.has_tests = self.has_failed = False
        self.lines: list[str] = []
        self.room = _MOST_CHARS

    def print(self, line: str) -> None:
        if not line.lstrip().startswith(_FRAMING) and len(self.lines) < _MOST_LINES and self.room > 0:
            self.lines.append(line[: self.room])
            self.room -= len(line)


class _Tests(dict[tuple[str, str], _Test]):
    """The tests of a report by package and name. One that is new counts as an entry of the report."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally

    def __missing__(self, key: tuple[str, str]) -> _Test:
        self._tally.count_entry()
        self[key] = test = _Test()
        return test


def read(data: bytes) -> Tally:
    """Return what a report says. Errors: Broken."""
    tally = Tally()
    tests = _Tests(tally)
    for event in values.objects(data, tally):
        if is_event(event):
            _take(event, tests)
    for match in _BUILD_FAILED.finditer(data):
        tests[match[1].decode("utf-8", "replace"), ""].end = "fail"
    for (package, name), test in [*tests.items()]:
        if test.end == "fail" and name:
            tests[package, _above(name)].has_failed = tests[package, ""].has_failed = True
    for (package, name), test in tests.items():
        _count(tally, package, name, test)
    running = [name for (_, name), test in tests.items() if name and not test.end and not test.has_tests]
    if running:
        some = ", ".join(plain(name, 80) for name in running[:_SHOWN])
        tally.notes.append(f"{len(running)} of its tests had begun and did not end: {some}.")
    return tally


def _take(event: Members, tests: _Tests) -> None:
    package = text_of(event, "Package") or text_of(event, "ImportPath").partition(" ")[0]
    name, action = text_of(event, "Test"), text_of(event, "Action")
    test = tests[package, name]
    if action in ("output", "build-output"):
        test.print(text_of(event, "Output"))
    elif action in _ENDS:
        test.end = action
    elif action == "build-fail":
        test.end = "fail"
    if name:
        tests[package, _above(name)].has_tests = True


def _above(name: str) -> str:
    """Return the test that a subtest belongs to; "" for a test, which belongs to its package."""
    return name.rpartition("/")[0]


def _count(tally: Tally, package: str, name: str, test: _Test) -> None:
    if test.end == "fail":
        if not test.has_failed:
            said = next((at for at, line in enumerate(test.lines) if _SAID.match(line)), 0)
            whole = f"{package}.{name}" if name else f"{package} (package)"
            tally.fail(whole, test.lines[said] if test.lines else "", message="".join(test.lines[said:]))
    elif not name or test.has_tests:
        return
    elif test.end == "pass":
        tally.passed += 1
    elif test.end == "skip":
        tally.skipped += 1
