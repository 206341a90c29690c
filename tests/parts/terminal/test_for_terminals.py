"""What a job prints cannot make the terminal of a person who attached answer, print or fill the clipboard."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from outlive.parts.terminal.for_terminals import ForTerminals
from support.terminal_queries import QUERIES

HARMLESS = {
    "colours": b"\x1b[31mred\x1b[0m \x1b[38:2::1:2:3mx\x1b[38;5;9my",
    "cursor": b"\x1b[?25l\x1b[2J\x1b[1;1H\x1b7\x1b8\x1bM\x1b[2 q\x1b[s\x1b[u",
    "text": "h\xe4\xdf \u4e2d \U0001f600\r\n\ttab\x08 bell\x07".encode(),
    "title": b"\x1b]0;what? a title\x07\x1b]2;other\x1b\\",
    "a colour that is set": b"\x1b]4;1;rgb:00/11/22\x1b\\\x1b]10;red\x07\x1b]104\x07",
    "a link": b"\x1b]8;;http://x/?a=b\x1b\\link\x1b]8;;\x1b\\",
    "modes": b"\x1b[?2004h\x1b[>4;1m\x1b[=5u\x1b[>1u\x1b[?1049h\x1b[!p",
    "character sets": b"\x1b(B\x1b)0\x0e\x0f",
    "window": b"\x1b[8;24;80t\x1b[22;0t",
    "a picture": b"\x1bP0;1q#0~~\x1b\\",
    "a picture of iTerm2": b"\x1b]1337;File=name=eA==;inline=1:aGk=\x07",
    "a synchronized update": b"\x1bP=1s\x1b\\text\x1bP=2s\x1b\\",
    "directory and marks": b"\x1b]7;file://host/x\x07\x1b]133;A\x07\x1b]9;4;1;50\x07",
    "8 bits": b"\x9b31mx\xc2\x85y",
    "no UTF-8": b"caf\xe9 \xff\xfe.",
}


def shown(*pieces: bytes) -> bytes:
    found = ForTerminals()
    return b"".join(found.feed(piece) for piece in pieces)


def test_what_a_terminal_answers_is_left_out_wherever_it_is_cut() -> None:
    for name, query in QUERIES.items():
        for cut in range(len(query) + 1):
            assert shown(b"a" + query[:cut], query[cut:] + b"z") == b"az", name
        assert shown(*(bytes([byte]) for byte in b"a" + query + b"z")) == b"az", name


def test_everything_else_is_shown_as_it_came_wherever_it_is_cut() -> None:
    for name, text in HARMLESS.items():
        for cut in range(len(text) + 1):
            assert shown(text[:cut], text[cut:]) == text, name


def test_what_is_left_out_makes_no_query_of_what_stands_around_it() -> None:
    rows: list[tuple[bytes, bytes]] = [
        (b"\x1b\x1b[6n[6n", b"[6n"),
        (b"\x1b[6\x1b[6nn", b"n"),
        ("\x1b[6\u2603n".encode(), "\u2603n".encode()),
        (b"\x1b]0;x\x1b[6n", b""),
        (b"\x1bPtmux;\x1b\x1b[6n\x1b\\", b"\x1b\\"),  # a terminator of nothing, which does nothing
        (b"\x1b]4;1;red\x1b[6n;2;?\x07", b";2;?\x07"),
        (b"\x1b[" + b"0" * 5_000 + b"6n.", b"."),
        (b"\x1b]52;c;" + b"A" * 10_000 + b"\x07.", b"."),
    ]
    for output, expected in rows:
        for cut in (0, 1, 2, len(output) // 2, len(output) - 1):
            assert shown(output[:cut], output[cut:]) == expected


def test_a_string_without_an_end_swallows_no_further_line() -> None:
    assert shown(b"\x1b]52;c;" + b"A" * 10_000, b"A" * 10_000 + b"\nnext") == b"\nnext"
    assert shown(b"\x1b_what\nnext\x07 line") == b"\nnext\x07 line"


def test_a_large_picture_is_shown_piece_by_piece() -> None:
    picture = b"\x1bP0;1q" + b"~" * 300_000 + b"\x1b\\after"
    found = ForTerminals()
    assert found.feed(picture[:100_000]), "it is not held back"
    assert shown(picture[:100_000], picture[100_000:-7], picture[-7:]) == picture


_PIECES = [
    *QUERIES.values(), *HARMLESS.values(), b"\x1b", b"[", b"]", b"6n", b"\x9b", b"\xc2", b"\xe2\x82", b"\x18", b"?",
    b"\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=12), st.integers(0, 2**32))
def test_filtering_twice_or_in_other_pieces_changes_nothing(parts: list[bytes], seed: int) -> None:
    output = b"".join(parts)
    once = shown(output)
    cuts = sorted(random.Random(seed).sample(range(len(output) + 1), min(3, len(output) + 1)))
    pieces = [output[low:high] for low, high in zip([0, *cuts], [*cuts, len(output)], strict=True)]
    assert shown(*pieces) == once
    assert shown(once + b".") == once + b"."  # which ends a character that was cut
