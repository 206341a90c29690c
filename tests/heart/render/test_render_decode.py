"""Bytes to text, however the bytes were cut."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outlive.render.decode import MAX_HELD_BYTES, decode, leading_cut, trailing_cut

OUT, ERR = 1, 2

# Bytes that cut characters and sequences far more often than random ones do.
FRAGMENTS = st.lists(
    st.sampled_from(
        [b"a", b"\n", b"\r", b"\x1b", b"\x1b[", b"\x1b]", b"31", b"m", b";", b"\x07", b"\\", b" ", b"(", b"\x1bP"]
        + [b"\xe2", b"\x82", b"\xac", b"\xf0", b"\x9f", b"\x98", b"\x80", b"\xc2", b"\x9b", b"\x9d", b"\xed", b"\xa0"]
        + [b"\xff", b"\xc0", b"\x00", "é€😀".encode()]
    ),
    max_size=40,
).map(b"".join)
BYTES = st.one_of(st.binary(max_size=200), FRAGMENTS)
CUTS = st.lists(st.integers(1, 9), max_size=60)


def read_all(data: bytes, cuts: list[int], pieces_of: Callable[[int, int], list[tuple[int, bytes]]]) -> str:
    """Reads as a caller with a cursor does: each read goes to the next cut, the last one to the end."""
    text, cursor, end = [], 0, 0
    for step in cuts:
        end = min(end + step, len(data))
        part, held = decode(pieces_of(cursor, end), more=True)
        text.append(part)
        cursor = end - held
    part, held = decode(pieces_of(cursor, len(data)), more=False)
    assert held == 0
    return "".join(text) + part


@pytest.mark.fault("F67")
@given(BYTES, CUTS)
@example(b"a\xed\xa0", [1, 1])  # the codec waits for a third byte, and then says two characters
@example(b"a\xed\xa0\x80", [1, 1, 1])
def test_any_reads_of_one_stream_give_the_text_of_the_whole(data: bytes, cuts: list[int]) -> None:
    assert read_all(data, cuts, lambda a, b: [(OUT, data[a:b])]) == data.decode("utf-8", "replace")


@given(BYTES, CUTS, CUTS)
def test_neighbouring_pieces_of_one_stream_are_one_run(data: bytes, cuts: list[int], sizes: list[int]) -> None:
    def pieces_of(start: int, end: int) -> list[tuple[int, bytes]]:
        window, pieces = data[start:end], []
        for size in sizes:
            pieces.append((OUT, window[:size]))
            window = window[size:]
        return [*pieces, (OUT, window), (OUT, b""), (ERR, b"")]

    assert read_all(data, cuts, pieces_of) == data.decode("utf-8", "replace")


@given(
    st.text("aé€😀", max_size=30), st.text("bñ‱🚀", max_size=30), st.lists(st.tuples(st.booleans(), st.integers(1, 5)))
)
def test_a_character_interrupted_by_the_other_stream_stays_whole(
    out: str, err: str, turns: list[tuple[bool, int]]
) -> None:
    left = {OUT: out.encode(), ERR: err.encode()}
    pieces = []
    for is_err, size in turns:
        stream = ERR if is_err else OUT
        pieces.append((stream, left[stream][:size]))
        left[stream] = left[stream][size:]
    text, held = decode([*pieces, *left.items()], more=False)
    assert "".join(char for char in text if char in "aé€😀") == out
    assert "".join(char for char in text if char in "bñ‱🚀") == err
    assert held == 0
    assert len(text) == len(out) + len(err)


@given(st.lists(st.tuples(st.sampled_from([OUT, ERR]), st.text("é€\r\x1b[m]", min_size=1)), max_size=8), CUTS)
def test_any_reads_of_two_streams_that_write_whole_characters_give_the_text_of_the_whole(
    runs: list[tuple[int, str]], cuts: list[int]
) -> None:
    merged = [(stream, byte) for stream, text in runs for byte in text.encode()]

    def pieces_of(start: int, end: int) -> list[tuple[int, bytes]]:
        return [(stream, bytes([byte])) for stream, byte in merged[start:end]]

    assert read_all(bytes(byte for _, byte in merged), cuts, pieces_of) == "".join(text for _, text in runs)


@given(st.lists(st.tuples(st.sampled_from([OUT, ERR]), BYTES), max_size=6))
def test_what_is_held_back_is_bounded_and_only_at_the_end_of_the_last_run(pieces: list[tuple[int, bytes]]) -> None:
    _, held = decode(pieces, more=True)
    written = [(stream, data) for stream, data in pieces if data]
    last_run = list(takewhile(lambda piece: piece[0] == written[-1][0], reversed(written)))
    assert 0 <= held <= min(MAX_HELD_BYTES, sum(len(data) for _, data in last_run))


HELD = [
    (b"ok\xe2\x82", "ok"), (b"ok\xf0\x9f\x98", "ok"), (b"50%\r", "50%"), (b"\r\r\r", "\r\r"), (b"ok\x1b", "ok"),
    (b"ok\x1b[38;5;1", "ok"), (b"ok\x1b(", "ok"), (b"ok\x1b]0;title", "ok"), (b"ok\x1b]0;title\x1b", "ok"),
    (b"ok\x1bPq#0;2", "ok"), (b"ok\xc2\x9b3", "ok"), (b"ok\xc2\x9d0;caf\xc3", "ok"),
]  # fmt: skip


def test_what_can_still_become_whole_is_held_back() -> None:
    for data, text in HELD:
        assert decode([(OUT, data)], more=True) == (text, len(data) - len(text))
        assert decode([(OUT, data)], more=False) == (data.decode("utf-8", "replace"), 0)


WHOLE = [
    b"", b"ok\n", b"ok\r\n", b"ok\xff", b"ok\x80\x80", b"\x1b[0m", b"\x1b[0mred", b"\x1b7", b"\x1b(B",
    b"\x1b]0;title\x07", b"\x1b]0;title\x1b\\", b"\x1b]stray\nnext line", b"\x1b]" + b"x" * 4_095,
    b"\x1b[" + b"1" * 4_095,
]  # fmt: skip


def test_what_is_whole_or_never_will_be_is_not_held_back() -> None:
    for data in WHOLE:
        assert decode([(OUT, data)], more=True) == (data.decode("utf-8", "replace"), 0)


def test_the_longest_sequence_held_back_ends_in_a_cut_character() -> None:
    data = b"\x1b]" + b"x" * 4_094 + b"\xf0\x9f\x98"
    assert decode([(OUT, b"ok" + data)], more=True) == ("ok", MAX_HELD_BYTES)


def test_a_character_that_the_other_stream_never_let_finish_is_one_replacement() -> None:
    assert decode([(OUT, b"a\xe2\x82"), (ERR, b"b")], more=True) == ("ab\ufffd", 0)


def test_the_order_of_streams_is_the_order_they_wrote_in() -> None:
    pieces = [(OUT, b"1\xe2"), (ERR, b"e\xc3"), (OUT, b"\x82\xac2"), (ERR, b"\xa9f")]
    assert decode(pieces, more=True) == ("1e€2éf", 0)


def test_the_pieces_given_are_not_changed() -> None:
    pieces = [(OUT, b"a"), (OUT, b"\x1b"), (OUT, b"[3")]
    assert decode(pieces, more=True) == ("a", 3)
    assert pieces == [(OUT, b"a"), (OUT, b"\x1b"), (OUT, b"[3")]


@given(st.text(max_size=20), st.integers(0, 80), st.integers(0, 80))
def test_a_window_drops_only_the_characters_its_edges_cut(text: str, start: int, end: int) -> None:
    data = text.encode("utf-8", "replace")
    part = data[start:end]
    shown = part[leading_cut(part) : len(part) - trailing_cut(part)].decode("utf-8", "replace")
    assert "\ufffd" not in shown or "\ufffd" in text
    assert shown in data.decode()
    assert len(data[start:end]) - len(shown.encode()) <= 6


def test_edges_are_kept_unless_they_can_be_cut_characters() -> None:
    assert leading_cut(b"\x82\xaca\xe2\x82") == 2
    assert trailing_cut(b"\x82\xaca\xe2\x82") == 2
    assert leading_cut(b"\x80\x80\x80\x80a\xff") == 0
    assert trailing_cut(b"\x80\x80\x80\x80a\xff") == 0
