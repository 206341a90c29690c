"""Encode key tokens as the bytes that xterm sends.

The tokens are those of tmux's send-keys, and some more.
"""

from __future__ import annotations

from collections.abc import Sequence

from outlive.core.nearest import nearest
from outlive.core.quoted import cut, visible
from outlive.errors import OutliveError, argument, invalid

_SHIFT, _ALT, _CTRL = 1, 2, 4  # as xterm counts them: ESC [ 1 ; <1 + their sum> A
_WORDS = {_CTRL: "ctrl control", _ALT: "alt meta option", _SHIFT: "shift"}
_PREFIXES = {"c-": _CTRL, "m-": _ALT, "s-": _SHIFT} | {  # no "c+": `C++` is a word
    word + mark: bit for bit, words in _WORDS.items() for word in words.split() for mark in "-+"
}
_LONGEST_PREFIX = max(map(len, _PREFIXES))

# Keys with codes of their own, by the modifiers that have one. Alt puts an ESC before each.
_CODES = {
    "Enter": {0: b"\r"},
    "Tab": {0: b"\t", _SHIFT: b"\x1b[Z"},
    "Escape": {0: b"\x1b"},
    "Space": {0: b" ", _CTRL: b"\0"},
    "BSpace": {0: b"\x7f", _CTRL: b"\b"},
    "BTab": {0: b"\x1b[Z", _SHIFT: b"\x1b[Z"},
    "LF": {0: b"\n"},  # no key of a keyboard: the byte of that name, for programs in which Enter sends what was typed
    "NUL": {0: b"\0"},
}
_CURSOR = {"Up": "A", "Down": "B", "Right": "C", "Left": "D", "End": "F", "Home": "H"}
_PF = {"F1": "P", "F2": "Q", "F3": "R", "F4": "S"}
_TILDE = {"Insert": 2, "Delete": 3, "PageUp": 5, "PageDown": 6} | {
    f"F{number}": code for number, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
}
_KEYPAD = {"KPEnter": (b"\r", b"\x1bOM")} | {
    f"KP{plain}": (plain.encode(), b"\x1bO" + final.encode())
    for plain, final in zip("0123456789.+-*/", "pqrstuvwxynkmjo", strict=True)
}
_CONTROL = {chr(code): bytes([code & 0x1F]) for code in range(0x40, 0x7F)} | {
    char: bytes([code]) for char, code in zip("2345678/-?", b"\0\x1b\x1c\x1d\x1e\x1f\x7f\x1f\x1f\x7f", strict=True)
}

_ALIASES = {
    "Enter": "return cr",
    "Escape": "esc",
    "BSpace": "backspace",
    "BTab": "backtab",
    "LF": "linefeed newline",
    "Insert": "ic ins",
    "Delete": "dc del",
    "PageUp": "pgup ppage",
    "PageDown": "pgdn pgdown npage",
    "Up": "arrowup",
    "Down": "arrowdown",
    "Left": "arrowleft",
    "Right": "arrowright",
}
_NAMES = {name.lower(): name for table in (_CODES, _CURSOR, _PF, _TILDE, _KEYPAD) for name in table} | {
    alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()
}
# A character that has a name is that key, so that its modifiers mean the same: "C- " is C-Space.
_CHARACTERS = {" ": "Space", "\t": "Tab", "\r": "Enter", "\x1b": "Escape", "\x7f": "BSpace", "\n": "LF", "\0": "NUL"}
_ESCAPES = {"\\n": "Enter", "\\r": "Enter", "\\r\\n": "Enter", "\\t": "Tab", "\\e": "Escape"}

_BLANKS = " \t\r\n"
_BRACKETS = "<>{}[]"
_MOST_NAMED = 10  # tokens in an answer
_SHOWN_CHARS = 40  # of a token; longer ones are no misspelt keys either


def encode(tokens: Sequence[str], *, application_cursor: bool, application_keypad: bool) -> tuple[bytes, list[str]]:
    """Return what a terminal sends for these keys, and warnings about those that it cannot send as asked. Errors:
    invalid_argument, if one is no key."""
    pressed = [(token, _key(token) or _key(token.strip(_BLANKS))) for token in tokens]
    unknown = [token for token, key in pressed if key is None]
    if unknown:
        raise _refused(list(dict.fromkeys(unknown)))
    sent = bytearray()
    left_out: dict[str, str] = {}  # a token with a modifier that has no bytes, and the key that was sent
    for token, key in pressed:
        held, name = key or (0, "")
        data, kept = _press(held, name, application_cursor, application_keypad)
        sent += data
        if kept != held:
            left_out[token] = _spelt(kept, name)
    return bytes(sent), _warnings(left_out)


def from_hex(items: Sequence[str]) -> bytes:
    """Return the bytes that `41`, `0x41`, `9`, `1b5b41`, `1b 5b 41` and `\\x1b` stand for.

    Errors: invalid_argument.
    """
    return b"".join(_unhex(word, item) for item in items for word in _hex_words(item))


def _hex_words(item: str) -> list[str]:
    words = []
    for word in item.lower().split():
        if word.startswith("\\x"):
            words += word[2:].split("\\x")
        else:
            words.append(word.removeprefix("0x"))
    return words or [""]


def _unhex(word: str, item: str) -> bytes:
    try:
        return bytes.fromhex(word.zfill(2) if len(word) == 1 else word or "none")
    except ValueError:
        raise invalid(
            "hex_",
            f'"{_shown(item)}" is not hexadecimal; nothing was sent',
            hint='Two digits a byte, as in "1b5b41", "1b 5b 41", "0x1b" or "\\x1b".',
        ) from None


def _key(token: str) -> tuple[int, str] | None:
    """Return the modifiers and the name, or the character, of a key; None for what is none."""
    held, rest = _split(token)
    if name := _name(rest):
        return held, name
    if rest[:1] == "^":
        more, rest = _split(rest[1:])
        if name := _name(rest):
            return held | more | _CTRL, name
    return None


def _name(word: str) -> str | None:
    return _CHARACTERS.get(word, word) if len(word) == 1 else _NAMES.get(word.lower())


def _split(token: str) -> tuple[int, str]:
    """Return the modifiers before a key, and the rest.

    A token that ends in a modifier keeps it: `C--` is Ctrl and `-`.
    """
    held, at = 0, 0
    while True:
        head = token[at : at + _LONGEST_PREFIX].lower()
        prefix = next((known for known in _PREFIXES if head.startswith(known)), "")
        if not prefix or at + len(prefix) == len(token):
            return held, token[at:]
        held |= _PREFIXES[prefix]
        at += len(prefix)


def _press(held: int, name: str, application_cursor: bool, application_keypad: bool) -> tuple[bytes, int]:
    """Return the bytes of a key, and those of its modifiers that the bytes express."""
    if name in _TILDE:
        return f"\x1b[{_TILDE[name]}{f';{held + 1}' if held else ''}~".encode(), held
    if final := _CURSOR.get(name) or _PF.get(name):
        if held:
            return f"\x1b[1;{held + 1}{final}".encode(), held
        return f"\x1b{'O' if name in _PF or application_cursor else '['}{final}".encode(), held
    codes = {0: _KEYPAD[name][application_keypad]} if name in _KEYPAD else _CODES.get(name) or _character(name)
    wanted = held & ~_ALT
    kept = next(some for some in (wanted, wanted & _CTRL, wanted & _SHIFT, 0) if some in codes)
    return b"\x1b" * bool(held & _ALT) + codes[kept], kept | held & _ALT


def _character(char: str) -> dict[int, bytes]:
    codes = {0: _utf8(char)}
    upper = char.upper()
    if len(upper) == 1 and (upper != char or char.isupper()):
        codes[_SHIFT] = _utf8(upper)
    if char in _CONTROL:
        codes[_CTRL] = _CONTROL[char]
    return codes


def _is_modifier(word: str) -> bool:
    return word.lower() in _PREFIXES or f"{word.lower()}-" in _PREFIXES


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character; a question mark instead of it might be a command
        halves = dict.fromkeys((*range(0xD800, 0xDC80), *range(0xDD00, 0xE000)), 0xFFFD)
        return text.translate(halves).encode("utf-8", "surrogateescape")


def _warnings(left_out: dict[str, str]) -> list[str]:
    more = len(left_out) - _MOST_NAMED
    rows = [
        f'"{_shown(token)}" has no bytes of its own in a terminal and was sent as {_shown(key)}'
        for token, key in list(left_out.items())[:_MOST_NAMED]
    ]
    return [*rows, f"and {more} more"] if more > 0 else rows


def _refused(unknown: list[str]) -> OutliveError:
    """Return the error about tokens that are no keys, with the keys that they may mean and how text is typed."""
    bare = [token.strip(_BLANKS) for token in unknown]
    more = len(unknown) - _MOST_NAMED
    named = ", ".join(f'"{_shown(token)}"' for token in unknown[:_MOST_NAMED]) + (
        f" and {more} more" if more > 0 else ""
    )
    meant = list(dict.fromkeys(filter(None, map(_meant, bare))))[:_MOST_NAMED]
    hints = [f"Did you mean {', '.join(meant)}?"] if meant else []
    if any(_is_modifier(_split(word)[1]) for word in bare):
        hints.append("A modifier and its key are one: C-c.")
    if any(word[:2].lower() in ("0x", "\\x") for word in bare):
        hints.append(f"Bytes are sent with {argument('hex_')}.")
    hints.append(f"Text is typed with {argument('literal')}, before the keys, or as one key for each character.")
    message = f"{named} {'is no key' if len(unknown) == 1 else 'are no keys'}; nothing was sent"
    return invalid("keys_", message, hint=" ".join(hints))


def _meant(bare: str) -> str | None:
    """Return the key that a token may mean."""
    return _ESCAPES.get(bare) or (_respelt(bare) or _corrected(bare) if len(bare) <= _SHOWN_CHARS else None)


def _respelt(bare: str) -> str | None:
    """Return the key that is meant by `Ctrl + C`, `<Enter>`, `C+x` or `Page Up`, as other programs
    write them."""
    word = "".join(bare.split()).strip(_BRACKETS)
    word = word if "++" in word else word.replace("+", "-")
    key = _key(word) if len(word) > 1 else None
    return _shown(_spelt(*key)) if key else None


def _corrected(bare: str) -> str | None:
    _held, rest = _split(bare)
    # Ordinary words come too near to the whole table, `yes` to Esc; and F13 is no slip for F3.
    known = [name for name in sorted(_NAMES, key=len) if name.isalpha() and name[0] == rest[:1].lower()]
    near = nearest(rest.lower(), [*{_NAMES[name]: name for name in known}.values()])  # of a key's names the longest
    return bare.removesuffix(rest) + _NAMES[near] if near else None


def _spelt(held: int, name: str) -> str:
    return "C-" * bool(held & _CTRL) + "M-" * bool(held & _ALT) + "S-" * bool(held & _SHIFT) + name


def _shown(text: str) -> str:
    return visible(cut(text, _SHOWN_CHARS))
