"""What a person would see on the terminal, from the bytes alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.parts.terminal import drawing
from outlive.parts.terminal.drawing import TEXT_BYTES, WHOLE_BYTES, render
from outlive.parts.terminal.emulator import Emulator
from outlive.render.screen import Screen


def shown(data: bytes, *sizes: tuple[int, int, int]) -> Screen:
    return render(lambda start, stop: data[start:stop], len(data), sizes or ((0, 20, 5),))


def lines(data: bytes, *sizes: tuple[int, int, int]) -> list[str]:
    found = shown(data, *sizes).lines
    while found and not found[-1]:
        found.pop()
    return found


def test_a_sequence_does_what_xterm_does() -> None:
    rows: list[tuple[bytes, list[str]]] = [
        (b"one\r\ntwo", ["one", "two"]),
        (b"abc\rX", ["Xbc"]),
        (b"\x1b[2;3Hx", ["", "  x"]),
        (b"a\x1b[3b", ["aaaa"]),
        (b"a\x1b[999999999999b", ["a" * 20] * 4 + ["a"]),
        (b"1\r\n2\r\n3\x1b[2S", ["3"]),
        (b"1\r\n2\x1b[1T", ["", "1", "2"]),
        (b"1\r\n2\r\n3\r\n4\r\n5\r\n6", ["2", "3", "4", "5", "6"]),
        (b"a\tb\x1b[2Zc", ["c       b"]),
        (b"x\x1b[>4;2m\x1b[>1u\x1b[=1;1u\x1b[?2026$p\x1b[2 q\x1b[!py", ["xy"]),
        (b"x\x1bP+q544e\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\y", ["xy"]),
        (b"x\x1b%Gy", ["xy"]),
        (b"x\x1b[38:2::255:0:0my\x1b[4:3mz", ["xyz"]),
        ("wide 漢字|".encode(), ["wide 漢字|"]),
        (b"\xe6\xbc", []),
        (b"bad \xff!", ["bad \N{REPLACEMENT CHARACTER}!"]),
        (b"\x1b(0lqk\x1b(B", ["\u250c\u2500\u2510"]),
        (b"\x1b[33m1234567abcdef\x1b[m fix", ["1234567abcdef fix"]),  # digits behind a sequence are text
        (b"\x1b[0m" + b"7" * 100_000, ["7" * 20] * 5),
        (b"a\x1b[" + b"9" * 4_000 + b"Cb", ["a" + " " * 18 + "b"]),
        (("y" * 19 + "e\u0301\r\n漢\u0301!").encode(), ["y" * 19 + "é", "漢\u0301!"]),
        (b"y" * 20 + b"\x1b[5G\x1b[@\x1b[P", ["y" * 19]),
        (b"1\r\n2\x1bE3", ["1", "2", "3"]),
        (b"abc\x1b[2`X", ["aXc"]),
        (b"a\x1b[2;3rb\x1b[rc", ["c"]),  # choosing the lines that scroll moves the cursor home
        (b"\x1b[2;4r\x1b[2Aa\x1b[5;1H\x1b[1Bb\x1b[r", ["a", "", "", "", "b"]),
        (b"\x1b[2;3r\x1b[3r\x1b[5;1Ha\nb", ["", "", "", "a", " b"]),
        (b"ab\x1b7\x1b[3;4r\x1b8c", ["abc"]),
        (b"abc\x1b[s\x1b[2;9Hx\x1b[u1\x1b[u2", ["abc2", "        x"]),
        ("x\x0eqx ✔️ done 👩‍💻!\x0f".encode(), ["xqx ✔ done 👩💻!"]),
        (b"x" * 19 + "漢字".encode(), ["x" * 19, "漢字"]),
        ("漢字\r".encode() + b"x", ["x 字"]),
        ("漢字\x1b[2Gx\x1b[4G\x1b[K".encode(), [" x"]),
        (b"kept\x1b[1;2;3;4;5Gtoo", ["kepttoo"]),
        (b"kept\x1b[31", ["kept"]),
        (b"kept\x1b]0;half a tit", ["kept"]),
    ]
    for data, wanted in rows:
        assert lines(data) == wanted


def test_the_alternate_screen_is_empty_and_gives_the_main_one_back() -> None:
    inside = b"$ vim\r\nprompt\x1b[?1049h\x1b[2;2Halt"
    assert lines(inside) == ["", " alt"]
    assert shown(inside).alternate
    after = shown(inside + b"\x1b[?1049l!")
    assert [line for line in after.lines if line] == ["$ vim", "prompt!"]
    assert (after.alternate, after.row, after.column) == (False, 1, 7)


def test_title_and_cursor_are_told() -> None:
    found = shown(b"\x1b]2;my title\x07ab\x1b[?25l")
    assert (found.title, found.row, found.column, found.cursor_visible) == ("my title", 0, 2, False)
    assert shown(b"x").title is None


def test_a_resize_holds_from_its_position_on() -> None:
    data = b"1\r\n2\r\n3\r\n4\r\n5" + b"\x1b[H>"
    assert lines(data, (0, 20, 5), (13, 20, 3)) == [">", "4", "5"]
    assert lines(b"top" + b"!", (0, 20, 5), (3, 20, 2)) == ["top!"]
    assert lines(b"abcdef", (0, 20, 5), (6, 3, 5)) == ["abc"]


def test_bytes_may_be_cut_anywhere() -> None:
    data = "ä\x1b[31mrot\x1b[0m \x1b]2;titel\x07漢\x1b[?1049hx".encode()
    whole = Emulator(20, 5)
    whole.feed(data)
    single = Emulator(20, 5)
    for at in range(len(data)):
        single.feed(data[at : at + 1])
    assert single.text() == whole.text()
    assert (single.title, single.alternate) == (whole.title, whole.alternate)


@given(st.binary(max_size=300))
def test_no_bytes_are_too_odd(data: bytes) -> None:
    assert len(shown(data).lines) == 5


PIECES = st.sampled_from(
    [
        b"\x1b[", b"\x1b[?", b";", b"9", b"99999999999", b"x", b"\n", b"\r", b"\x1b]2;", b"\x07", b"\x1b\\", b"\x1bP",
        b"1049h",
    ]
    + [b"1049l", b"\xe6", "漢".encode(), "\u200d".encode(), *(bytes([code]) for code in b"ABCDEFGHIJKLMPSTXZ@abcdefghlmnrsu`")]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map(b"".join))
def test_no_sequence_is_too_odd(data: bytes) -> None:
    found = shown(data)
    assert 0 <= found.row < 5
    assert 0 <= found.column < 20
    assert all(len(line) <= 20 for line in found.lines)
    painted = Emulator(20, 5)
    painted.feed(found.paint())
    assert painted.text() == found.lines


DRAWING = st.lists(
    st.one_of(
        st.text("ab \r\n", max_size=30).map(str.encode),
        st.sampled_from(
            [b"\x1b[2J\x1b[H", b"\x1b[H\x1b[J", b"\x1b[3;5H", b"\x1b[K", b"\x1b[?1049h", b"\x1b[?1049l", b"\x1bc"]
        ),
    ),
    max_size=30,
).map(b"".join)


@given(before=DRAWING, after=DRAWING)
def test_a_long_output_looks_as_if_it_was_read_from_the_start(before: bytes, after: bytes) -> None:
    data = before + b"line\r\n" * 400 + after
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "WHOLE_BYTES", 1_000)
        patch.setattr(drawing, "TEXT_BYTES", 500)
        found = shown(data)
    assert found.since > 0
    if found.exact:
        whole = Emulator(20, 5)
        whole.feed(data)
        assert found.lines == whole.text()


def test_a_log_of_gigabytes_is_read_at_its_end_only() -> None:
    size = 5 * 1024**3
    line = b"a line of a log\r\n"
    asked: list[int] = []

    def read(start: int, stop: int) -> bytes:
        asked.append(stop - start)
        skip = start % len(line)
        return (line * ((stop - start) // len(line) + 2))[skip : skip + stop - start]

    found = render(read, size, [(0, 40, 5)])
    assert found.lines[:4] == ["a line of a log"] * 4
    assert found.exact
    assert size - found.since <= TEXT_BYTES
    assert sum(asked) < 16 * 1024**2


def test_a_long_session_of_an_editor_is_read_from_its_last_erase() -> None:
    data = b"$ vi\r\n\x1b[?1049h\x1b[H" + b"\x1b[2;1Hold" * (WHOLE_BYTES // 9) + b"\x1b[H\x1b[2Jnew"
    found = shown(data)
    assert (found.alternate, found.exact, found.lines[:2]) == (True, True, ["new", ""])


def test_what_may_be_missing_is_said() -> None:
    data = b"\x1b[1;1Hearly" + b"\x1b[3;1Hx" * (WHOLE_BYTES // 7 + 1)
    assert not shown(data).exact


def test_painting_gives_the_same_screen_again() -> None:
    data = b"\x1b]2;t\x07\x1b[1;31mred\x1b[0m \x1b[48;5;208mon\x1b[7mX\x1b[0m\r\nline\x1b[?2004h\x1b[?1h"
    found = shown(data)
    again = shown(found.paint())
    assert (again.lines, again.row, again.column, again.title) == (found.lines, found.row, found.column, found.title)
    assert b"\x1b[?2004h" in found.paint()
    assert b"\x1b[?1h" in found.paint()
    before, after = Emulator(20, 5), Emulator(20, 5)
    before.feed(data)
    after.feed(before.paint())
    assert (after.buffer[0][0], after.buffer[0][4]) == (before.buffer[0][0], before.buffer[0][4])
