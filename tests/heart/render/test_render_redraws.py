"""Lines that a program draws again are shown as it drew them last."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given

from heart.render.test_render_plain_text import TEXTS
from outlive.render.plain_text import readable
from outlive.render.redraws import replayed

UP, ERASE = "\x1b[1A", "\x1b[2K"
TO_A_ROW = r"(?:\x1b\[|\x9b)[0-9;]*[Hfd]"


def frames(erased: str, rows: int = 4) -> str:
    """Thirty frames, each drawn over the one before."""
    return erased.join("".join(f"task {row}: {frame}\r\n" for row in range(rows)) for frame in range(30))


LAST = "".join(f"task {row}: 29\n" for row in range(4))
DRAWN = {
    "log-update": frames((ERASE + UP) * 4 + ERASE + "\x1b[G"),
    "docker compose": frames("\x1b[4A\x1b[0G").replace("task", f"{ERASE}task"),
    "cursor to the first column": frames("\x1b[4F\x1b[J"),
    "erased below": frames("\x1b[4A\r\x1b[0J"),
    "reverse index": frames("\x1bM" * 4),
    "eight bits": frames("\x9b4A"),
}


@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
def test_the_last_frame_is_shown(drawn: str) -> None:
    assert replayed(f"start\n{drawn}end\n") == f"start\n{LAST}end\n"
    assert replayed(drawn) == LAST


def test_what_is_left_of_a_longer_frame_is_blank_or_as_it_was() -> None:
    rows = {
        f"a\nb\nc\n{(ERASE + UP) * 3}{ERASE}d\n": "d\n",
        "a\nb\nc\n\x1b[3A\x1b[Kd\n": "d\nb\nc",
        "a\r\nb\x1b[1A\x1b[2K\rc": "c\nb",
        "a\nb\n\x1b[9A\x1b[Kx\x1b[9By": "x\nb\n y",
        "one\n\x1b[31mtwo\x1b[0m\x1b[1A\x1b[1Gx": "xne\ntwo",
    }
    assert {text: replayed(text) for text in rows} == rows


@given(TEXTS)
@example("0\x1b[H0")
def test_no_more_lines_are_shown_than_were_printed_or_put_in_a_row_of_the_screen(text: str) -> None:
    shown = replayed(text)
    assert shown.count("\n") <= text.count("\n") + len(re.findall(TO_A_ROW, text))
    assert readable(shown) == shown


def test_what_stands_at_a_place_of_the_screen_is_not_part_of_the_line_before() -> None:
    for text, shown in (
        # As vim draws: the last row first, then the file, empty rows, the screen again, and its end
        (
            (
                'a\r\n\x1b[30;1H"f" 2 lines\x1b[1;1Halpha\r\nbeta\r\n\x1b[3;1H~   \x1b[4;1H~   \x1b[1;1H\x1b[?25hhello\rhe'
                '\x1b[30;1H\x1b[K\x1b[30;1H:wq\r"f" written\r\x1b[23;2t\r\r\n\x1b[?1049lb\r\n'
            ),
            'a\n"f" 2 lines\nalpha\nbeta\n~   \nhello\n"f" written\nb\n',
        ),
        ("one\x1b[5dtwo\x1b[6;1fthree", "one\ntwo\nthree"),
        ("\x1b[1;1Hone", "one"),
        ("\x1b[H\x1b[2Jone\r\n", "one\n"),
        ("one\r\n\x1b[Htwo", "one\ntwo"),
        ("Password: \x1b[1;11H", "Password: "),
    ):
        assert replayed(text) == shown
