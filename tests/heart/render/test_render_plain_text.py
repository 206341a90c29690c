"""Control characters obeyed and gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.render.plain_text import readable
from support.tiers import first

CONTROLS = ["\r", "\n", "\b", "\t", "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\x9b", "\x9d", "\x9c", "\x00"]
FINALS = ["K", "1K", "2K", "G", "5G", "9999999C", "3D", "31m", "?25l", "2J", "A", "H", "(B", "m"]
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*CONTROLS, *FINALS, "a", "bc", " ", "é", "😀", "\ufeff", "\u202e", "\ud800"])).map(
        "".join
    ),
)


@given(TEXTS)
def test_reading_twice_changes_nothing(text: str) -> None:
    once = readable(text)
    assert readable(once) == once


@pytest.mark.fault("S18")
@given(TEXTS)
def test_no_control_character_but_tab_and_newline_is_left(text: str) -> None:
    shown = readable(text)
    assert not {char for char in shown if ord(char) < 32 or 127 <= ord(char) < 160} - {"\t", "\n"}
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
    shown.encode()  # no lone surrogate


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"], include_characters="\t\n")))
def test_text_without_controls_is_the_same_object(text: str) -> None:
    assert readable(text) is text


@given(TEXTS)
def test_lines_are_never_lost_or_added(text: str) -> None:
    assert readable(text).count("\n") == text.count("\n")


OVERWRITTEN = [
    ("100%\r5", "500%"), ("100%\r\x1b[K5", "5"), ("100%\x1b[2K\r5", "5"), ("10%\r20%\r30%\ndone", "30%\ndone"),
    ("one\r\ntwo\r\r\n", "one\ntwo\n"), ("abc\r\n", "abc\n"), ("abc\b\bX", "aXc"), ("abc\b \b", "ab"),
    ("a\b\b\b\bX", "X"), ("N\bNA\bAM\bM", "NAM"), ("abcdef\x1b[3D\x1b[0K", "abc"),
    ("abcdef\x1b[3D\x1b[1K", "    ef"), ("abcdef\x1b[1K", ""), ("abc\x1b[2KX", "   X"), ("abc\x1b[1GX", "Xbc"),
    ("abc\x1b[GX", "Xbc"), ("abc\x1b[5GX", "abc X"), ("abc\x9b2DX", "aXc"), ("a\x1b[2Cb", "a  b"),
    ("loading\r       \rok", "ok"), ("Password: \x1b[K", "Password: "), ("a\tb\rX", "X\tb"),
    ("a\r\nb\x1b[1A\x1b[2K\rc", "a\nc"),
]  # fmt: skip


@pytest.mark.fault("F69")
def test_a_line_stands_as_its_last_overwriting_left_it() -> None:
    assert [(text, readable(text)) for text, _ in OVERWRITTEN] == OVERWRITTEN


TRACELESS = [
    "\x1b[31m", "\x1b[38;2;1;2;3m", "\x1b[38:5:1m", "\x1b[?25l", "\x1b[2J", "\x1b[1;1H", "\x1b[ q", "\x9b1m",
    "\x1b]0;a title\x07", "\x1b]8;;https://example.org\x1b\\", "\x9d0;title\x9c", "\x1bPq#0~\x1b\\",
    "\x1b^pm\x1b\\", "\x1b_Gf=100;AAAA\x1b\\", "\x1bXsos\x1b\\", "\x1b7", "\x1b=", "\x1b(B", "\x1b#8", "\x1bM",
    "\x84", "\x07", "\x00", "\x7f", "\u202e", "\u2069", "\ufeff", "\udc80", "\x1b]52;c;" + "A" * 100_000 + "\x07",
]  # fmt: skip


@pytest.mark.fault("F69")
def test_a_sequence_leaves_no_trace() -> None:
    texts = {sequence: readable(f"be{sequence}fore\nx") for sequence in TRACELESS}
    assert texts == dict.fromkeys(TRACELESS, "before\nx")


def test_a_sequence_broken_off_takes_at_most_its_line_along() -> None:
    for broken in ["\x1b", "\x1b[", "\x1b[31", "\x1b]0;title", "\x1bPabc", "\x9b", "\x9d0;t", "\x1b("]:
        assert readable(f"a{broken}") == "a"
        assert readable(f"a{broken}\nb") == "a\nb"


def test_of_an_overlong_broken_string_only_the_introducer_goes() -> None:
    assert readable("\x1b]" + "x" * 5_000 + "\n") == "x" * 5_000 + "\n"


def test_what_removal_puts_together_is_not_a_new_sequence() -> None:
    assert readable("\x1b\x1b[0m[31mx") == "[31mx"
    assert readable("\x1b[3\x1b[0m1mx") == "1mx"


SIZE = 2 * 1024**2
UNITS = {
    "CR": "\r", "backspaces": "\b", "ESC": "\x1b", "unterminated OSC": "\x1b]", "unterminated 8-bit OSC": "\x9da",
    "overlong OSC": "\x1b]" + "a" * 9_000, "CSI without end": "\x1b[;",
    "CSI of one parameter": "\x1b[" + "9" * 99_999,
    "jumps": "\x1b[999999999C",
    "jumps that write": "\x1b[999999999Cx\n",
    "ESC and spaces": "\x1b ",
    "CR CR LF": "\r\r\n",
    "overwriting": "a\r",
}  # fmt: skip
HOSTILE: dict[str, Callable[[int], str]] = {
    name: lambda size, unit=unit: (unit * (size // len(unit) + 1))[:size] for name, unit in UNITS.items()
} | {
    "erasing before the cursor in a long line": lambda size: "x" * (size // 2) + "\x1b[9D\x1b[1K" * (size // 16),
    "writing far right in an erased line": lambda size: "x" * (size // 2) + "\x1b[2Ky" * (size // 10),
    "one parameter": lambda size: "\x1b[" + "9" * size + "C",
    "spaces after one ESC": lambda size: "\x1b" + " " * size,
}


@pytest.mark.fault("F69")
@pytest.mark.parametrize("size", first(1, [SIZE // 8, SIZE]))
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_output_is_read_to_the_end_and_does_not_grow_without_bound(
    make: Callable[[int], str], size: int
) -> None:
    text = make(size)
    assert len(readable(text)) <= 2 * len(text) + 4_096
