"""What a followed job prints: whole lines, the begun line on a row of its own, and nothing that acts on the terminal."""

from __future__ import annotations

import re

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.parts.follow.printer import Printer
from support.terminal_queries import QUERIES
from support.tiers import first

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
OURS = re.compile("\r\x1b\\[K|\x1b\\[[0-9;:]*m")


def printed(*pieces: tuple[int, bytes], terminal: bool = False, colour: bool = False, width: int = 40) -> str:
    printer = Printer(terminal=terminal, colour=colour, width=lambda: width)
    out = b""
    for stream, data in pieces:
        printer.feed(stream, data)
        out += printer.take()
    return (out + printer.finish()).decode()


def screen(text: str, cols: int = 40) -> list[str]:
    shown = pyte.Screen(cols, 10)
    pyte.Stream(shown).feed(text.replace("\n", "\r\n"))
    rows = [row.rstrip() for row in shown.display]
    return rows[: max((at for at, row in enumerate(rows) if row), default=-1) + 1]


def test_a_line_is_printed_when_it_is_whole() -> None:
    printer = Printer()
    printer.feed(0, b"one\ntw")
    assert printer.take() == b"one\n"
    printer.feed(0, b"o\n")
    assert printer.take() == b"two\n"
    assert printer.finish() == b""


def test_lines_of_two_streams_never_mix() -> None:
    assert printed((0, b"out"), (1, b"err\n"), (0, b"put\n")) == "err\noutput\n"
    assert printed((0, b"out"), (1, b"err")) == "out\nerr"


def test_stderr_is_red_on_a_terminal_with_colours() -> None:
    assert printed((0, b"a\n"), (1, b"b\n"), colour=True) == "a\n\x1b[31mb\x1b[0m\n"
    assert printed((1, b"b\n")) == "b\n"


def test_colours_of_the_job_stay_and_end_with_their_line() -> None:
    assert printed((0, b"\x1b[1;32mok\n"), colour=True) == "\x1b[1;32mok\x1b[0m\n"
    assert printed((0, b"\x1b[1;32mok\x1b[0m\n")) == "ok\n"


def test_progress_that_overwrites_itself_is_one_row() -> None:
    pieces = [(0, f"\r{n} %".encode()) for n in range(0, 101, 10)]
    text = printed(*pieces, (0, b"\ndone\n"), terminal=True)
    assert "50 %" in text
    assert screen(text) == ["100 %", "done"]
    assert printed(*pieces, (0, b"\ndone\n")) == "100 %\ndone\n"


def test_a_prompt_is_shown_before_its_line_is_whole() -> None:
    printer = Printer(terminal=True)
    printer.feed(0, b"Pass")
    assert printer.take() == b"Pass"
    printer.feed(0, b"word: ")
    assert printer.take() == b"word: "


def test_a_begun_line_that_is_wider_than_the_terminal_can_be_taken_back() -> None:
    wide = b"x" * 100
    text = printed((0, wide), (1, b"err\n"), (0, b"y\n"), terminal=True)
    assert screen(text) == ["err", "x" * 40, "x" * 40, "x" * 20 + "y"]


def test_a_line_that_never_ends_is_printed_in_parts() -> None:
    text = printed(*[(0, b"x" * 10_000)] * 20, terminal=False)
    assert text.replace("\n", "") == "x" * 200_000


def test_bytes_that_are_cut_anywhere_are_whole_characters() -> None:
    data = "h\xe4\xdf \U0001f600\n".encode()
    assert printed(*[(0, data[at : at + 1]) for at in range(len(data))]) == data.decode()


def test_raw_output_is_passed_on() -> None:
    printer = Printer(raw=True, terminal=True, colour=True)
    printer.feed(1, b"\x1b[2J\xff")
    assert printer.take() + printer.finish() == b"\x1b[2J\xff"


@pytest.mark.fault("F70")
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("name", first(12, QUERIES))
def test_no_query_reaches_the_terminal(name: str, colour: bool) -> None:
    data = QUERIES[name]
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))]):
        for end in (b"\n", b""):
            text = printed(*[(0, piece) for piece in pieces], (0, end), terminal=True, colour=colour)
            assert not CONTROL.search(OURS.sub("", text))


@pytest.mark.fault("F70")
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.binary(max_size=20) | st.sampled_from([b"\x1b[", b"\r", b"\n", b"\x9b2J"]))
    )
)
def test_nothing_but_colours_and_our_own_sequences_reaches_the_terminal(pieces: list[tuple[int, bytes]]) -> None:
    assert not CONTROL.search(OURS.sub("", printed(*pieces, terminal=True, colour=True)))


def test_each_line_begins_with_the_time_of_its_first_piece() -> None:
    printer = Printer(timed=True)
    for stream, data, at in ((0, b"a\nbe", "1 "), (1, b"err\n", "2 "), (0, b"gun\nc\nd", "3 "), (0, b"\xc3", "4 ")):
        printer.feed(stream, data, at)
    assert (printer.take() + printer.finish()).decode() == "1 a\n2 err\n1 begun\n3 c\n3 d\ufffd"
    row = Printer(timed=True, terminal=True)
    row.feed(0, b"half", "1 ")
    assert row.take() == b"1 half"
    row.feed(0, b" whole\n", "2 ")
    assert row.take() == b"\r\x1b[K1 half whole\n"
    raw = Printer(timed=True, raw=True)
    raw.feed(0, b"\x1b[1mx\n", "1 ")
    assert raw.take() == b"1 \x1b[1mx\n"
