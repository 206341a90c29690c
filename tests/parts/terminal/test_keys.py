"""Key tokens to exact bytes: what xterm sends, in either mode of its cursor keys and of its keypad."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import permutations, product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import outlive
from outlive.errors import OutliveError
from outlive.parts.terminal.keys import encode, from_hex
from outlive.verbs import load
from outlive.verbs.spelling import MCP, spelled
from support.tiers import first

SHIFT, ALT, CTRL = 1, 2, 4
MODIFIERS = [
    ("S-", SHIFT),
    ("M-", ALT),
    ("M-S-", ALT + SHIFT),
    ("C-", CTRL),
    ("C-S-", CTRL + SHIFT),
    ("C-M-", CTRL + ALT),
    ("C-M-S-", CTRL + ALT + SHIFT),
]
CURSOR = {"Up": b"A", "Down": b"B", "Right": b"C", "Left": b"D", "End": b"F", "Home": b"H"}
PF = {"F1": b"P", "F2": b"Q", "F3": b"R", "F4": b"S"}
TILDE = dict(zip("Insert Delete PageUp PageDown".split(), (b"2", b"3", b"5", b"6"), strict=True)) | dict(
    zip("F5 F6 F7 F8 F9 F10 F11 F12".split(), b"15 17 18 19 20 21 23 24".split(), strict=True)
)
KEYPAD = dict(
    zip(
        "KP0 KP1 KP2 KP3 KP4 KP5 KP6 KP7 KP8 KP9 KP. KP+ KP- KP* KP/ KPEnter".split(),
        b"p q r s t u v w x y n k m j o M".split(),
        strict=True,
    )
)
PLAIN = {
    "Enter": b"\r", "Tab": b"\t", "Escape": b"\x1b", "Space": b" ", "BSpace": b"\x7f", "BTab": b"\x1b[Z", "LF": b"\n",
    "NUL": b"\0",
}  # fmt: skip
ALIASES = {
    "Enter": "enter ENTER Return CR", "Escape": "Esc esc ESCAPE", "BSpace": "bspace Backspace BackSpace",
    "BTab": "btab BackTab", "LF": "lf Linefeed Newline", "Insert": "insert Ins IC", "Delete": "delete Del DC",
    "PageUp": "pageup PgUp PPage", "PageDown": "pagedown PgDn PgDown NPage", "Up": "up UP ArrowUp",
    "Down": "down ArrowDown", "Left": "left ArrowLeft", "Right": "right ArrowRight", "Home": "home", "End": "end",
    "F12": "f12", "KPEnter": "kpenter kpEnter", "KP0": "kp0", "KP-": "kp-",
}  # fmt: skip
TOKENS = st.one_of(
    st.text(max_size=30),
    st.lists(
        st.sampled_from(
            ["C-", "m-", "S-", "Ctrl+", "Shift-", "alt", "^", "-", "+", " ", "\t", "\n", "\x1b", "\0", "\x7f", "a", "É"]
            + ["ß", "😀", "\ud800", "\udc80", "\udfff", "İ", "KP", "Enter", "up", "Entr", "hello", "<", ">", "0x", "\\"]
        ),
        max_size=8,
    ).map("".join),
)


def sent(*tokens: str, cursor: bool = False, keypad: bool = False) -> bytes:
    """The bytes of keys that leave no doubt."""
    data, warnings = encode(tokens, application_cursor=cursor, application_keypad=keypad)
    assert warnings == []
    return data


def doubtful(token: str, *, keypad: bool = False) -> tuple[bytes, str]:
    data, (warning,) = encode([token], application_cursor=False, application_keypad=keypad)
    return data, warning


@pytest.mark.parametrize(("name", "final"), CURSOR.items())
def test_cursor_keys_follow_the_cursor_mode(name: str, final: bytes) -> None:
    assert sent(name, keypad=True) == b"\x1b[" + final
    assert sent(name, cursor=True) == b"\x1bO" + final


def test_the_keypad_follows_the_keypad_mode() -> None:
    for name, final in KEYPAD.items():
        plain = b"\r" if name == "KPEnter" else name[2:].encode()
        assert sent(name, cursor=True) == plain
        assert sent(name, keypad=True) == b"\x1bO" + final
        assert sent(f"M-{name}") == b"\x1b" + plain
        assert sent(f"M-{name}", keypad=True) == b"\x1b\x1bO" + final


def test_other_keys_follow_no_mode() -> None:
    keys = {
        **PLAIN,
        **{name: b"\x1bO" + final for name, final in PF.items()},
        **{name: b"\x1b[" + number + b"~" for name, number in TILDE.items()},
    }
    for mode in (False, True):
        assert {name: sent(name, cursor=mode, keypad=mode) for name in keys} == keys


@pytest.mark.parametrize(
    ("name", "alias"), first(10, [(name, alias) for name, some in ALIASES.items() for alias in some.split()])
)
def test_other_names_of_a_key_are_the_key(name: str, alias: str) -> None:
    for mode in (False, True):
        assert sent(alias, cursor=mode, keypad=mode) == sent(name, cursor=mode, keypad=mode)


def test_modified_keys() -> None:
    for (prefix, held), mode in product(MODIFIERS, (False, True)):
        for name, final in (CURSOR | PF).items():
            assert sent(prefix + name, cursor=mode, keypad=mode) == b"\x1b[1;%d%b" % (held + 1, final)
        for name, number in TILDE.items():
            assert sent(prefix + name, cursor=mode, keypad=mode) == b"\x1b[%b;%d~" % (number, held + 1)


OWN_CODES = [
    ("S-Tab", b"\x1b[Z"), ("S-BTab", b"\x1b[Z"), ("M-BTab", b"\x1b\x1b[Z"), ("M-S-Tab", b"\x1b\x1b[Z"),
    ("M-Tab", b"\x1b\t"), ("M-Enter", b"\x1b\r"), ("M-Escape", b"\x1b\x1b"), ("M-BSpace", b"\x1b\x7f"),
    ("C-BSpace", b"\b"), ("C-M-BSpace", b"\x1b\b"), ("C-Space", b"\0"), ("C-M-Space", b"\x1b\0"),
    ("M-Space", b"\x1b "), ("M-LF", b"\x1b\n"),
]  # fmt: skip


def test_modified_keys_with_codes_of_their_own() -> None:
    assert [(token, sent(token)) for token, _ in OWN_CODES] == OWN_CODES


LEFT_OUT = [
    ("C-Tab", b"\t", "Tab"), ("C-S-Tab", b"\x1b[Z", "S-Tab"), ("C-M-Tab", b"\x1b\t", "M-Tab"),
    ("C-BTab", b"\x1b[Z", "BTab"), ("C-Enter", b"\r", "Enter"), ("S-Enter", b"\r", "Enter"),
    ("C-M-S-Enter", b"\x1b\r", "M-Enter"), ("C-Escape", b"\x1b", "Escape"), ("S-BSpace", b"\x7f", "BSpace"),
    ("C-S-BSpace", b"\b", "C-BSpace"), ("S-Space", b" ", "Space"), ("S- ", b" ", "Space"),
    ("C-S-Space", b"\0", "C-Space"), ("C-LF", b"\n", "LF"), ("C-KP5", b"5", "KP5"), ("C-KP-", b"-", "KP-"),
    ("S-KP+", b"+", "KP+"), ("C-M-KPEnter", b"\x1b\r", "M-KPEnter"), ("S-1", b"1", "1"), ("S--", b"-", "-"),
    ("S-ß", "ß".encode(), "ß"), ("C-1", b"1", "1"), ("C-+", b"+", "+"), ("Ctrl++", b"+", "+"),
    ("C-é", "é".encode(), "é"), ("C-S-é", "É".encode(), "S-é"), ("C-S-c", b"\x03", "C-c"),
    ("C-M-S-x", b"\x1b\x18", "C-M-x"), ("Ctrl+Shift+C", b"\x03", "C-C"), ("C-\udc80", b"\x80", "\\udc80"),
]  # fmt: skip


def test_a_modifier_without_a_code_is_left_out_and_said() -> None:
    for token, data, key in LEFT_OUT:
        shown = token.replace("\udc80", "\\udc80")
        said = f'"{shown}" has no bytes of its own in a terminal and was sent as {key}'
        assert doubtful(token) == (data, said)


def test_a_modified_keypad_key_that_is_left_bare_follows_the_mode() -> None:
    assert doubtful("C-KP5", keypad=True)[0] == b"\x1bOu"


def test_ctrl_with_a_character() -> None:
    rows: list[tuple[str, bytes]] = [
        ("abcdefghijklmnopqrstuvwxyz", bytes(range(1, 27))),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", bytes(range(1, 27))),
        ("@[\\]^_? `{|}~", b"\0\x1b\x1c\x1d\x1e\x1f\x7f\0\0\x1b\x1c\x1d\x1e"),
        ("2345678/-", b"\0\x1b\x1c\x1d\x1e\x1f\x7f\x1f\x1f"),
    ]
    for chars, data in rows:
        for char, code in zip(chars, data, strict=True):
            for prefix in ("C-", "c-", "Ctrl-", "ctrl+", "CONTROL-", "^", "C-C-"):
                assert sent(prefix + char) == bytes([code])
            for prefix in ("C-M-", "M-C-", "m-c-m-", "Alt+Ctrl+", "Meta-^", "^M-"):
                assert sent(prefix + char) == b"\x1b" + bytes([code])


def test_the_other_ascii_characters_have_no_ctrl() -> None:
    for char in "!\"#$%&'()*+,.019:;<=>":
        assert doubtful(f"C-{char}")[0] == char.encode()


def test_shift_and_alt_with_a_character() -> None:
    rows: list[tuple[str, bytes]] = [
        ("S-a", b"A"), ("S-A", b"A"), ("s-é", "É".encode()), ("S-É", "É".encode()), ("Shift+z", b"Z"), ("M-a", b"\x1ba"),
        ("M-A", b"\x1bA"), ("M-S-a", b"\x1bA"), ("S-M-a", b"\x1bA"), ("M-€", b"\x1b\xe2\x82\xac"), ("M-1", b"\x1b1"),
        ("Option-b", b"\x1bb"), ("M--", b"\x1b-"), ("M-+", b"\x1b+"), ("M-^", b"\x1b^"),
    ]  # fmt: skip
    for token, data in rows:
        assert sent(token) == data


@pytest.mark.parametrize("order", [*permutations(["C-", "m-", "Shift+"])])
def test_modifiers_stand_in_any_order_and_any_number(order: tuple[str, ...]) -> None:
    assert sent("".join(order) + "Left") == sent("".join(order * 2) + "Left") == b"\x1b[1;8D"


EDGES = [
    *((char, char.encode()) for char in "-CMScms^+~\\é😀"),
    ("C--", b"\x1f"), ("C-C", b"\x03"), ("C-^", b"\x1e"), ("^^", b"\x1e"), ("^[", b"\x1b"), ("^?", b"\x7f"),
    ("^-", b"\x1f"), ("^Up", b"\x1b[1;5A"), ("^C-x", b"\x18"), ("^ ", b"\0"), ("C- ", b"\0"), (" ", b" "),
    ("\t", b"\t"), ("\r", b"\r"), ("\n", b"\n"), ("\x1b", b"\x1b"), ("\0", b"\0"), ("S-\t", b"\x1b[Z"),
    ("C-\x7f", b"\b"), (" Enter\n", b"\r"), ("\tC-c ", b"\x03"), (" y", b"y"), ("\udc80", b"\x80"),
    ("\ud800", "\ufffd".encode()),
]  # fmt: skip


def test_edges_of_what_is_a_key() -> None:
    assert [(token, sent(token)) for token, _ in EDGES] == EDGES


def test_keys_are_sent_in_their_order() -> None:
    assert sent("C-u", "l", "s", "Enter", "Up", cursor=True) == b"\x15ls\r\x1bOA"
    assert sent() == b""


TEXT = "Text is typed with text, before the keys, or as one key for each character."
HEX = f"Bytes are sent with hex. {TEXT}"
MODIFIER = f"A modifier and its key are one: C-c. {TEXT}"
NO_KEYS = [
    *((token, TEXT) for token in ("hello", "two words", " kept blanks ", "  ", "--", "-l", "^hello", "^^x", "C++", "yes")),
    *((token, TEXT) for token in ("F13", "Cmd+C", "C-hello", " M-C-hi there ", "C--x", "M-^hello", "")),
    *((token, HEX) for token in ("0x41", "\\x1b")),
    *((token, MODIFIER) for token in ("C-", "M-", "S-", "C-M-", "m-", "Ctrl-", "Ctrl+", "Ctrl", "shift", "Ctrl+Shift")),
    *(
        (token, f"Did you mean {meant}? {TEXT}")
        for token, meant in {
            "Entr": "Enter", "PagUp": "PageUp", "Esca": "Escape", "<Esc>": "Escape", "<C-x>": "C-x", "C+x": "C-x",
            "Ctrl + C": "C-C", "Page Up": "PageUp", "\\n": "Enter", "Alt+Entr": "Alt+Enter",
        }.items()
    ),
]  # fmt: skip


def refused(*tokens: str) -> tuple[str, str]:
    """The message and the hint of the error, as a client over MCP reads it."""
    with pytest.raises(OutliveError) as caught:
        encode(tokens, application_cursor=False, application_keypad=False)
    error = spelled(caught.value, MCP, load("send-keys").args, {})
    assert (error.code, error.details) == ("invalid_argument", {"field": "keys"})
    return error.message, str(error.hint)


def test_what_is_no_key_is_refused_with_the_nearest_key_and_how_text_is_typed() -> None:
    for token, hint in NO_KEYS:
        assert refused("Up", token) == (f'"{token}" is no key; nothing was sent', hint)


def test_all_that_is_no_key_is_named_once() -> None:
    assert refused("ls", "Entr", "Esca", "ls", "Enter") == (
        '"ls", "Entr", "Esca" are no keys; nothing was sent', f"Did you mean Enter, Escape? {TEXT}"
    )  # fmt: skip
    words = [f"word{number}" for number in range(25)]
    assert refused(*words, *words)[0].endswith('"word9" and 15 more are no keys; nothing was sent')


def test_ten_warnings_are_given() -> None:
    tokens = [f"C-{char}" for char in "!\"#$%&'()*+,.019"]
    _data, warnings = encode([*tokens, *tokens], application_cursor=False, application_keypad=False)
    assert (len(warnings), warnings[-1]) == (11, f"and {len(tokens) - 10} more")
    _data, warnings = encode(tokens[:10], application_cursor=False, application_keypad=False)
    assert len(warnings) == 10


def test_an_error_shows_the_beginning_of_a_long_token_and_no_control_characters() -> None:
    assert refused("x" * 5000)[0] == f'"{"x" * 39}…" is no key; nothing was sent'
    assert refused("\x1b[A")[0] == '"\\e[A" is no key; nothing was sent'


@given(st.lists(TOKENS, max_size=14), st.booleans(), st.booleans())
@example(["C-\ud800\udc80x"], False, False)
@example(["<C-\x1b>", "<C-\x01>"], False, False)
def test_any_tokens_are_sent_or_refused(tokens: list[str], cursor: bool, keypad: bool) -> None:
    try:
        data, warnings = encode(tokens, application_cursor=cursor, application_keypad=keypad)
    except OutliveError as error:
        warnings = [error.message, str(error.hint)]
    else:
        parts = [encode([token], application_cursor=cursor, application_keypad=keypad) for token in tokens]
        assert data == b"".join(part for part, _ in parts)
        assert len(warnings) <= 11
    assert all(warning.isprintable() and len(warning) < 1000 for warning in warnings)
    json.dumps(warnings, ensure_ascii=False).encode()  # no lone surrogate


@given(st.characters(exclude_categories=["Cc", "Cs"]), st.booleans(), st.booleans())
def test_a_single_character_is_itself(char: str, cursor: bool, keypad: bool) -> None:
    assert sent(char, cursor=cursor, keypad=keypad) == char.encode()


SPELLINGS: list[tuple[list[str], bytes]] = [
    ([], b""), (["41"], b"A"), (["0x41"], b"A"), (["0X41"], b"A"), (["9"], b"\t"), (["0"], b"\0"),
    (["0x9"], b"\t"), (["1b5b41"], b"\x1b[A"), (["0x1b5B41"], b"\x1b[A"), (["1b 5b 41"], b"\x1b[A"),
    ([" 0x1b\t0x5b\n9 "], b"\x1b[\t"), (["\\x1b"], b"\x1b"), (["\\x1b\\x5B"], b"\x1b["), (["\\X9"], b"\t"),
    (["1b", "\\x5b", "0x41"], b"\x1b[A"), (["ff00"], b"\xff\0"),
]  # fmt: skip


def test_hexadecimal_spellings() -> None:
    assert [(items, from_hex(items)) for items, _ in SPELLINGS] == SPELLINGS


@given(st.binary(max_size=40))
def test_every_byte_can_be_written(data: bytes) -> None:
    assert from_hex([data.hex()] if data else []) == data
    assert from_hex([f"\\x{byte:02X}" for byte in data]) == data


def test_what_is_not_hexadecimal_is_refused() -> None:
    rows: list[str] = [
        "123", "1g", "zz", "", " ", "0x", "\\x", "\\x1b\\x", "0x0x41", "1b\\x5b", "1b 5b4", "-1", "+1", "1_0", "1,2",
        "１２", "\ud800", "0x 41",
    ]  # fmt: skip
    for item in rows:
        with pytest.raises(OutliveError) as caught:
            from_hex(["41", item])
        assert (caught.value.code, caught.value.details) == ("invalid_argument", {"field": "hex_"})
        assert caught.value.hint
        shown = item.replace("\ud800", "\\ud800")
        assert caught.value.message == f'"{shown}" is not hexadecimal; nothing was sent'


@given(TOKENS)
def test_hexadecimal_refuses_or_reads(item: str) -> None:
    try:
        assert from_hex([item])
    except OutliveError as error:
        error.message.encode()


def test_the_module_is_cheap_to_import() -> None:
    costly = "{'dataclasses', 'difflib'}"
    code = f"import sys, outlive.parts.terminal.keys; print(*{costly} & {{*sys.modules}})"
    source = {"PYTHONPATH": str(Path(outlive.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=source, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
