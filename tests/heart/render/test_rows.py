"""The rows of a screen as text, and the echo of a terminal."""

from __future__ import annotations

from outlive.jobs.interaction.reaction import echo_of
from outlive.render.screen import folded


def test_rows_that_say_nothing_or_the_same_are_folded() -> None:
    assert folded(["", "", "", "", "a"]) == "[rows 0-3: empty]\na"
    assert folded(["a", "", "", "b"]) == "a\n\n\nb"
    assert folded(["text", *["~"] * 26, "-- INSERT --"]) == "text\n~\n[rows 2-26: the same]\n-- INSERT --"


def test_empty_rows_at_the_end_are_left_out() -> None:
    assert folded(["a", "", "", "", ""]) == "a"
    assert folded(["", ""]) == folded([]) == ""


def test_a_terminal_echoes_what_is_typed_as_it_prints_it() -> None:
    assert echo_of(b"one\rtwo\n") == b"one\r\ntwo\r\n"
    assert echo_of(b"\x03\x1b\x7f\t") == b"^C^[^?\t"
