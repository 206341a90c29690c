"""Which lines of two outputs are of one kind."""

from __future__ import annotations

import re
from typing import Any

import pytest

from outlive.answers.other_run import OtherRun
from outlive.answers.reading import LogLines
from outlive.parts.failures.answers import previous
from outlive.parts.failures.lines import middle
from outlive.parts.failures.runs import changes
from outlive.store.output.gap import Hole


class Printed:
    """A text as an output and as its lines."""

    hole = Hole()

    def __init__(self, text: str, hole: Hole | None = None) -> None:
        self.text = text.encode()
        self.end = len(self.text)
        self.hole = hole or self.hole

    def read(self, start: int, stop: int) -> bytes:
        return self.text[start:stop]

    def before(self, seq: int) -> int:
        return self.text.count(b"\n", 0, seq)

    def total(self) -> int:
        return self.text.count(b"\n")


def of(text: str) -> changes.Printed:
    log: Any = Printed(text)
    return changes.Printed(log, ())


def counted(before: str, now: str) -> changes.Counts | None:
    other: Any = Printed(before)
    this: Any = Printed(now)
    return changes.of_failures(other, this, ())


def counts(before: str, now: str) -> tuple[int, int] | None:
    found = counted(before, now)
    return None if found is None else (int(found.gone), int(found.new))


def test_lines_that_differ_in_numbers_times_addresses_and_hashes_are_of_one_kind() -> None:
    rows: list[tuple[str, str]] = [
        ("took 5 ms", "took 1.25s"),
        ("at 12:00:01 step 3", "at 9:59:00 step 14"),
        ("object 0x7ffe01 of commit 1f2e3d4c5b", "object 0xab of commit 99aabbccdd00"),
        ("\x1b[31mred 1\x1b[0m", "red 2"),
        ("10 %\r20 %", "100 %"),
    ]
    for one, other in rows:
        assert of(f"{one}\n").without(of(f"{other}\n")) == {}


def test_other_lines_are_not_and_failures_differ_in_numbers_too() -> None:
    rows: list[tuple[str, str]] = [
        ("ok test_a", "ok test_b"),
        ("ok add", "ok bad"),
        ("not ok 1 - add", "ok 1 - add"),
        ("FAILED tests/a.py::test_1 - x", "FAILED tests/a.py::test_2 - x"),
        ("AssertionError: 1 != 2", "AssertionError: 1 != 3"),
    ]
    for one, other in rows:
        assert of(f"same\n{one}\n").without(of(f"{other}\nsame\n")) == {1: 1}


def test_blank_lines_are_no_news_and_lines_of_one_kind_are_one() -> None:
    assert of("a\n\n  \nb 1\nb 2\n").without(of("a\n")) == {3: 2}


def test_failures_are_counted_by_the_tests_they_name() -> None:
    three = "".join(f"E   assert {one}\nFAILED a.py::{one} - x\n" for one in ("one", "two", "three"))
    assert counts(three, "FAILED a.py::two - x\nFAILED a.py::four - x\n") == (2, 1), "not by what stands below them"
    assert counts("E   assert one\nE   and two\n", "E   assert three\n") == (2, 1), "where no test is named"
    several = "E   AssertionError: x\nE   assert 1 not in (1,)\nE   assert 2\nFAILED a.py::one - x\n"
    assert counts("", several) == (0, 1), "one test has several lines that name none"
    assert counts("FAILED a.py::one in 1.2s\n", "FAILED a.py::one in 340 ms\n") == (0, 0)
    assert counts("fine\n", "fine too\n") is None
    assert counts("FAILED a.py::one\n", "") == (1, 0)


def test_failures_are_the_same_if_only_times_ages_addresses_and_counts_differ() -> None:
    same = [
        ("FAILED a.py::one in 1.2s", "FAILED a.py::one in 340 ms"),
        ("E   assert 1 == 2\n=== 1 failed, 9 passed in 1.20s ===", "E   assert 1 == 2\n=== 1 failed, 12 passed in 65.20s (0:01:05) ==="),
        ("2026-11-29T01:02:03.5Z ERROR: no lock", "2026-12-01T23:59:03Z ERROR: no lock"),
        ("ValueError: <C object at 0x7f00AA>", "ValueError: <C object at 0x7f11>"),
        ("error: the lock is 3 days old", "error: the lock is 12 minutes old"),
        ("FAILED (failures=1, errors=2)\nerror: x", "FAILED (failures=1, errors=3)\nerror: x"),
        ("[12:00:01] ERROR: gone after 1m 3.5s", "[9:00:11] ERROR: gone after 59.1s"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
         "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s"),
    ]  # fmt: skip
    assert [counts(*pair) for pair in same] == [(0, 0)] * len(same)
    other = [
        ("AssertionError: expected 200 got 500", "AssertionError: expected 200 got 404"),
        ("Error: listen EADDRINUSE: address already in use 127.0.0.1:3000", "Error: listen EADDRINUSE: address already in use 127.0.0.1:3001"),
        ("Error: address already in use :::3000", "Error: address already in use :::3001"),
        ("ld: error: cannot open module_180.o", "ld: error: cannot open module_40.o"),
        ("npm ERR! 404 Not Found: foo@1.2.3", "npm ERR! 404 Not Found: foo@1.2.4"),
        ("main.c:12:55: error: x", "main.c:13:55: error: x"),
        ("E   assert 500 == 200\nFAILED a.py::one", "E   assert 404 == 200\nFAILED a.py::one"),
        ("FAILED a.py::t[3] - x", "FAILED a.py::t[4] - x"),
    ]  # fmt: skip
    assert [counts(*pair) for pair in other] == [(1, 1)] * len(other)


def test_a_failure_without_a_place_counts_beside_one_that_has_one() -> None:
    assert counts("FAILED a.py::one\nFAILED a.py::two\n", "FAILED a.py::one\nError: port in use\n") == (1, 1)
    assert counts("FAILED a.py::one\nError: port in use\n", "FAILED a.py::one\n") == (1, 0)
    assert counts("FAILED a.py::one\n", "Error: port in use\n") == (1, 1)


def test_the_few_failures_that_are_gone_are_named() -> None:
    rows = {
        "FAILED tests/a.py::TestX::test_parse_two - assert 1 == 2": "test_parse_two",
        "FAILED tests/a.py::test_parse[a-1]": "test_parse[a-1]",
        "--- FAIL: TestParse/two (0.00s)": "TestParse/two",
        "FAIL: test_two (test_a.T.test_two)": "test_two",
        "test parse::two ... FAILED": "two",
        "not ok 3 - parses two": "parses",
        "src/main.c:12:5: error: unknown type": "src/main.c:12",
        "Error: port in use": "Error: port in use",
    }
    found = [counted(f"{line}\n", "") for line in rows]
    assert [one and one.names for one in found] == [[name] for name in rows.values()]
    many = counted("".join(f"FAILED a.py::t{n}\n" for n in range(4)), "")
    assert many is not None and (many.gone, many.names) == (4, [])


def test_without_re2_nothing_is_counted_and_lines_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "compiled", lambda added: None)
    assert counts("FAILED a.py::one\n", "FAILED a.py::two\n") is None
    assert of("same\nFAILED a.py::two\n").without(of("same\nFAILED a.py::one\n")) == {1: 1}


def test_the_end_of_a_long_output_is_compared_and_numbered_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "COMPARED_BYTES", 12)
    printed = of("first\nsecond\nthird\nfourth\n")
    assert (printed.start > 0, printed.row(0, 1, raw=False)) == (True, "4:fourth")
    gapped: Any = Printed("first\nXXXXXXthird\n", Hole(6, 12, 0, ends_line=False))
    monkeypatch.setattr(changes, "COMPARED_BYTES", 1024)
    assert changes.Printed(gapped, ()).row(0, 1, raw=False) == "2:third"


def compared(before: str, now: str, **how: Any) -> LogLines:
    """The answer of `log` with `compare` about two texts."""
    other: Any = Printed(before)
    this: Any = Printed(now)
    run = OtherRun(job_id="01J9ABCDEFGHJKMNPQRSTVWXYZ", exit_code=0, ago_ms=1)
    given = {"max_bytes": 8_192, "limit": None, "raw": False, **how}
    return changes.lines(this, changes.Printed(this, ()), changes.Printed(other, ()), run, **given)


NOISE = "".join(f"step {n} is done\n" for n in range(40))
BOTH = "Compared are the last 0 MiB of each output, and of what is before them the lines that report a failure."
NONE = "No kind of line is new. "


@pytest.fixture
def short_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "COMPARED_BYTES", 200)


@pytest.mark.usefixtures("short_end")
def test_a_failure_before_what_is_compared_line_by_line_is_compared_too() -> None:
    traceback = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: no lock\n'
    found = compared(NOISE, f"begun\n{traceback}{NOISE}")
    assert found.shown.output == "2:Traceback (most recent call last):\n4:ValueError: no lock\n"
    assert (found.first_line, found.last_line, found.hint) == (2, 4, BOTH)
    found = compared(f"{traceback}{NOISE}", f"begun\n{NOISE}{traceback}{NOISE}")
    assert (found.shown.output, found.hint) == ("", NONE + BOTH)
    assert compared(f"{NOISE}{traceback}", f"{traceback}{NOISE}").shown.output == "", "wherever it stands"
    gone = compared(f"{traceback}{NOISE}", NOISE).shown.output
    assert gone.endswith("printed:]\n1:Traceback (most recent call last):\n3:ValueError: no lock\n")


@pytest.mark.usefixtures("short_end")
def test_failures_before_the_end_are_folded_with_those_in_it_and_common_words_are_no_news() -> None:
    error = "ERROR: no lock\n"
    assert compared(NOISE, f"{error}{NOISE}{error}").shown.output == "1:ERROR: no lock (× 2)\n"
    assert compared(NOISE, f"it failed to be new\n{NOISE}").shown.output == "1:it failed to be new\n"
    often = "".join(f"try {n} was refused\n" for n in range(9))
    assert compared(NOISE, f"{often}{NOISE}").shown.output == ""


@pytest.mark.usefixtures("short_end")
def test_what_was_not_compared_is_not_said_to_be_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compared(NOISE, NOISE).hint == NONE + BOTH
    assert compared("same\n", NOISE[:99] + "same\n").hint is None, "all of it was compared, and is new"
    assert compared("same\n", "same\n").hint == "It printed no kind of line that the other run did not print."
    monkeypatch.setattr(middle, "MOST_S", 0.0)
    monkeypatch.setattr(middle, "_CHUNK_BYTES", 100)
    hint = compared(NOISE, NOISE).hint
    assert hint is not None and re.search(r"failure \([\d,.]+ \w+ of that were not searched\)\.$", hint)
    monkeypatch.setattr(changes, "compiled", lambda added: None)
    assert compared(NOISE, NOISE).hint == f"{NONE}Compared are the last 0 MiB of each output."


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"exit_code": 1, "ago_ms": 725_000}, "12 min ago, exited 1 too"),
        ({"exit_code": 0, "ago_ms": 10, "gone": 0, "new": 1}, "1 s ago, exited 0: 1 new failure"),
        ({"exit_code": 2, "ago_ms": 4_200, "gone": 2, "new": 1}, "4 s ago, exited 2: 2 failures gone, 1 new"),
        ({"exit_code": 1, "ago_ms": 4_200, "gone": 1, "new": 0}, "4 s ago, exited 1 too: 1 failure gone"),
        ({"exit_code": 1, "ago_ms": 4_200, "gone": 0, "new": 0}, "4 s ago, exited 1 too: the same failures"),
        (
            {"exit_code": 1, "ago_ms": 4_200, "gone": 1, "new": 0, "names": ["test_two"]},
            "4 s ago, exited 1 too: 1 failure gone (test_two)",
        ),
        (
            {"exit_code": 4, "ago_ms": 4_200, "new": 1, "different": True},
            "4 s ago, exited 4, now 1: a different failure; the earlier one may not have run",
        ),
        (
            {"exit_code": 1, "ago_ms": 4_200, "new": 1, "different": True},
            "4 s ago, exited 1 too: a different failure; the earlier one may not have run",
        ),
        ({"exit_code": None, "ago_ms": 4_200}, "4 s ago, did not exit by itself"),
    ],
)
def test_the_run_before_is_one_sentence(run: dict[str, Any], said: str) -> None:
    assert previous({"exit_code": 1, "previous": run}) == f"The run before, {said}"
    assert previous({"exit_code": 1}) is None
