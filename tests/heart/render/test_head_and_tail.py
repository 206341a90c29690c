"""What is shown of an output that is too long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from outlive.render.head_and_tail import cut_head, cut_tail, omitted

HEADS = [
    (b"", 0), (b"one\ntwo", 4), (b"one\n", 4), (b"\n", 1), (b"endless", 7), ("endless€".encode()[:-1], 7),
    ("endless😀".encode()[:-1], 7), ("endless€".encode(), 10), (b"\xff\xff", 2),
]  # fmt: skip


def test_a_head_ends_with_a_line_or_else_with_a_character() -> None:
    assert [(data, cut_head(data)) for data, _ in HEADS] == HEADS


TAILS = [
    (b"", 0), (b"rest\nline", 5), (b"rest\nline\n", 5), (b"\nline", 1), (b"endless", 0), (b"endless\n", 0),
    (b"\n", 0), ("€ndless".encode()[1:], 2), ("😀ndless\n".encode()[1:], 3), (b"\x80\x80\x80\x80", 0),
    (b"\x80\x80", 2),
]  # fmt: skip


def test_a_tail_begins_with_a_line_or_else_with_a_character() -> None:
    assert [(data, cut_tail(data)) for data, _ in TAILS] == TAILS


@given(st.text(max_size=40), st.integers(0, 60))
def test_cuts_of_valid_text_are_valid_text(text: str, at: int) -> None:
    data = text.encode("utf-8", "replace")
    text = data.decode()
    head, tail = data[:at], data[at:]
    assert text.startswith(head[: cut_head(head)].decode())
    assert text.endswith(tail[cut_tail(tail) :].decode())


def test_the_marker_counts_and_names_the_call_that_shows_the_rest() -> None:
    assert omitted(1_000, 12_345, 200, "7X3K9ABC") == (
        "[... 12,345 bytes (200 lines) not shown: log job_id=7X3K9ABC since_seq=1000 shows them ...]"
    )
    assert omitted(0, 1, 1, "J") == "[... 1 byte (1 line) not shown: log job_id=J since_seq=0 shows them ...]"
    assert "(" not in omitted(0, 5, None, "J")
