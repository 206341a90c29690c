"""Which lines of two outputs are of one kind."""

from __future__ import annotations

from typing import Any

import pytest

from outlive.render.failures import changes, other_run
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


def counts(before: str, now: str) -> tuple[int, int] | None:
    other: Any = Printed(before)
    this: Any = Printed(now)
    return changes.of_failures(other, this, ())


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


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"exit_code": 1, "ago_ms": 725_000}, "12 m ago, exited 1 too"),
        ({"exit_code": 0, "ago_ms": 10, "gone": 0, "new": 1}, "1 s ago, exited 0: 1 new failure"),
        ({"exit_code": 2, "ago_ms": 4_200, "gone": 2, "new": 1}, "4 s ago, exited 2: 2 failures gone, 1 new"),
        ({"exit_code": 1, "ago_ms": 4_200, "gone": 1, "new": 0}, "4 s ago, exited 1 too: 1 failure gone"),
        ({"exit_code": 1, "ago_ms": 4_200, "gone": 0, "new": 0}, "4 s ago, exited 1 too: the same failures"),
        ({"exit_code": None, "ago_ms": 4_200}, "4 s ago, did not exit by itself"),
    ],
)
def test_the_run_before_is_one_sentence(run: dict[str, Any], said: str) -> None:
    def duration(ms: float) -> str:
        return f"{ms / 60_000:g} m" if ms >= 60_000 else f"{ms / 1000:g} s"

    assert other_run.previous({"exit_code": 1, "previous": run}, duration) == f"The run before, {said}"
    assert other_run.previous({"exit_code": 1}, duration) is None
