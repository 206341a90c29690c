"""What is typed into a terminal: a line that it would cut, and Enter as a key of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.face import Face
from support.tiers import IN_TURN

LINE = 4_095  # bytes that a terminal in line mode takes of a line (termios(3))
WAIT_MS = 20_000


@IN_TURN
@pytest.mark.parametrize(
    "typed", [("submit", "text"), ("submit", "texts"), ("paste", "text"), ("send-keys", "literal")]
)
def test_a_line_that_the_terminal_would_cut_is_refused(face: Face, typed: tuple[str, str]) -> None:
    verb, name = typed
    job = face.background("cat", pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "cat")
    text: Any = "x" * 6_000
    error = face.error(verb, job, code="invalid_argument", **{name: [text] if name == "texts" else text})
    assert (
        error["message"] == f"the terminal takes lines of at most 4,095 bytes, and one was {6_000:,}: nothing was typed"
    )
    whole: Any = "\n".join(["x" * LINE, "é" * (LINE // 2)])
    if name != "texts":
        given = {} if verb != "send-keys" else {"keys_": ["Enter"]}
        assert face.ok(verb, job, **{name: whole}, **given)["bytes_written"] >= 2 * LINE


def test_a_line_in_several_writes_is_counted_as_one(face: Face) -> None:
    job = face.background("cat", pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "cat")
    assert "warnings" not in face.ok("write", job, data="x" * 3_000)
    told = face.ok("write", job, data="y" * 3_000)["warnings"]
    assert "lines of at most 4,095 bytes, and one was 6,000: the rest of it is lost" in told[0]
    face.error("submit", job, text="z", code="invalid_argument")
    assert "warnings" not in face.ok("write", job, data="\x15z\n"), "C-u takes the line back"
    assert "warnings" not in face.ok("write", job, data="y" * 3_000 + "\r" + "y" * 3_000)


def test_a_text_that_is_too_long_stops_the_texts(face: Face) -> None:
    job = face.background("while read -p '? ' a; do echo; done", pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "a prompt")
    found = face.ok("submit", job, texts=["a", "x" * 5_000, "c"], wait_ms=WAIT_MS)
    assert found["sent"] == 1
    assert found["hint"].startswith("Text 2 was not sent: the terminal takes lines of at most 4,095 bytes")


# Takes what comes in one read for a paste, unless it is one key: an agent's own terminal program
TUI = """
import os, sys, tty
tty.setraw(0)
sys.stdout.write(MODES + "> ")
sys.stdout.flush()
text = b""
while True:
    got = os.read(0, 65536)
    with open("reads", "ab") as file:
        file.write(repr(got).encode() + b"\\n")
    if got == b"\\r" and TAKES:
        sys.stdout.write("\\r\\nsent %s\\r\\n> " % text.decode())
        text = b""
    else:
        part = got.replace(b"\\x1b[200~", b"").replace(b"\\x1b[201~", b"").replace(b"\\r", b" ")
        text += part
        sys.stdout.write(part.decode())
    sys.stdout.flush()
"""


def tui(face: Face, work: Path, modes: str = "", *, takes: bool = True) -> str:
    (work / "reads").unlink(missing_ok=True)
    (work / "tui.py").write_text(TUI.replace("MODES", repr(modes)).replace("TAKES", str(takes)))
    job = face.background("exec python3 tui.py", pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "a prompt")
    return job


def reads(work: Path) -> list[str]:
    return (work / "reads").read_text().splitlines()


def test_enter_is_a_key_of_its_own(face: Face, work: Path) -> None:
    job = tui(face, work)
    assert "sent hello" in face.ok("submit", job, text="hello", wait_ms=WAIT_MS)["output"]
    assert "sent two" in face.ok("send-keys", job, literal="two", keys_=["Enter"], wait_ms=WAIT_MS)["output"]
    found = face.ok("send-keys", job, keys_=["a", "b", "Enter", "Enter"], wait_ms=WAIT_MS)
    assert "sent ab" in found["output"] and "hint" not in found
    found = face.ok("submit", job, texts=["one", "more"], wait_ms=WAIT_MS)
    assert (found["sent"], "sent one" in found["output"], "sent more" in found["output"]) == (2, True, True)
    enter = repr(b"\r")
    texts = [repr(text) for text in (b"hello", b"two", b"ab", b"one", b"more")]
    assert reads(work) == [texts[0], enter, texts[1], enter, texts[2], enter, enter, texts[3], enter, texts[4], enter]


def test_several_lines_are_bracketed_where_the_program_asks_for_it(face: Face, work: Path) -> None:
    job = tui(face, work, "\x1b[?2004h")
    assert "sent one two" in face.ok("submit", job, text="one\ntwo", wait_ms=WAIT_MS)["output"]
    for text in ("\x15\n", ":wq"):
        face.ok("submit", job, text=text, wait_ms=WAIT_MS)
    enter = b"\r"
    typed = [b"\x1b[200~one\rtwo\x1b[201~", enter, b"\x15\n", enter, b":wq", enter]
    assert reads(work) == [repr(one) for one in typed]


@IN_TURN
@pytest.mark.parametrize("modes", ["", "\x1b[?25l", "\x1b[?1049h\x1b[?25l"], ids=["main", "hidden", "alternate"])
def test_a_text_that_still_stands_in_the_input_line_is_named(face: Face, work: Path, modes: str) -> None:
    job = tui(face, work, modes, takes=False)
    for given in ({"text": "hello there"}, {"texts": ["hello again"]}):
        found = face.ok("submit", job, **given, wait_ms=1_000)
        assert found["hint"].startswith("After Enter the text still stands in the input line"), found


def test_a_program_that_ends_at_the_text_has_taken_it(face: Face, work: Path) -> None:
    (work / "key.py").write_text(
        "import os, tty\ntty.setraw(0)\nprint('q to quit: ', end='', flush=True)\nos.read(0, 9)\n"
    )
    job = face.background("exec python3 key.py", pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "a prompt")
    found = face.ok("submit", job, text="q", wait_ms=WAIT_MS)
    assert (found["bytes_written"], found["exit_code"]) == (1, 0)


def test_the_prompt_is_what_it_asks_since_the_last_answer(face: Face) -> None:
    """Through a pipe nothing ends the line of a question: no echo of the Enter that answered it."""
    job = face.background("printf 'Name: '; read a; printf 'Age: '; read b; printf 'Town: ' >&2; read c", stdin="open")
    for text, asked in (("Ada", "Name:"), ("36", "Age:"), ("London", "Town:")):
        face.until(job, lambda found: found.get("prompt") == asked, asked)  # noqa: B023 - called at once
        face.ok("submit", job, text=text)
    repl = face.background("while printf '>>> '; do read line || exit; done", stdin="open")
    for _ in range(3):
        face.until(repl, lambda found: found["waiting_for_input"], "a prompt")
        assert face.ok("submit", repl, text="x = 2", wait_ms=WAIT_MS)["prompt"] == ">>>"
    face.ok("write", repl, data="half a li")
    face.until(repl, lambda found: found.get("prompt") == ">>>", "the same prompt")


ASKS = "read -p 'Size? ' size; read -p 'Colour? ' colour; echo got $size $colour"


@pytest.mark.parametrize("given", [{"text": "9"}, {"texts": ["9"]}])
def test_what_the_prompt_of_one_text_holds_may_be_said(face: Face, given: dict[str, Any]) -> None:
    job = face.background(ASKS, pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "a prompt")
    found = face.ok("submit", job, **given, expect=["Colour"], wait_ms=WAIT_MS)
    assert (found["sent"], found["bytes_written"]) == (0, 0)
    assert found["hint"].startswith("Text 1 was not sent: it asks 'Size?', not 'Colour'.")
    found = face.ok("submit", job, **given, expect=["^Size"], wait_ms=WAIT_MS)
    assert (found["sent"], found["bytes_written"], found["prompt"]) == (1, 2, "Colour?")


def test_enter_alone_has_a_prompt_too(face: Face) -> None:
    job = face.background("read -p 'Press Enter ' a; read -p 'Again ' b", pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "a prompt")
    found = face.ok("submit", job, expect=["Press"], wait_ms=WAIT_MS)
    assert (found["sent"], found["prompt"]) == (1, "Again")


def test_one_text_has_one_prompt(face: Face) -> None:
    job = face.background(ASKS, pty=True)
    error = face.error("submit", job, text="9", expect=["Size", "Colour"], code="invalid_argument")
    text, texts = face.spelt("submit", "text"), face.spelt("submit", "texts")
    assert error["message"] == f"{face.spelt('submit', 'expect')} has one entry for {text}: 2 and 1"
    assert texts in error["hint"]
    error = face.error("submit", job, text="9", texts=["9"], expect=["Size"], code="invalid_argument")
    assert error["message"] == f"give {text} or {texts}, not both"


def test_a_text_with_a_prompt_that_is_too_long_is_named_as_it_was_given(face: Face) -> None:
    job = face.background(ASKS, pty=True)
    face.until(job, lambda found: found["waiting_for_input"], "a prompt")
    error = face.error("submit", job, text="x" * 5_000, expect=["Size"], code="invalid_argument")
    assert error["details"]["field"] == "text"


def test_a_word_that_is_no_key_is_refused_with_what_it_may_mean(face: Face, work: Path) -> None:
    job = tui(face, work)
    error = face.error("send-keys", job, literal="x", keys_=["hello", "Entr"], code="invalid_argument")
    assert error["message"] == '"hello", "Entr" are no keys; nothing was sent'
    assert error["hint"].startswith(f"Did you mean Enter? Text is typed with {face.spelt('send-keys', 'literal')}, ")
    assert error["details"]["field"] == "keys_"
    assert face.ok("send-keys", job, literal="hello", keys_=["enter"], wait_ms=WAIT_MS)["bytes_written"] == 6
    assert reads(work) == [repr(b"hello"), repr(b"\r")]
