"""Text that a person has to read exactly: on one line, and with every character visible.

A text that holds an invisible character is shown as bash's $'…', in which each of them is an
escape. A text that begins like that is shown so too, so no two texts look the same.
"""

from __future__ import annotations

_ANSI_C = "$'"
_QUOTED = "\\'"  # are escaped within quotes alone
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e", "\\": "\\\\", "'": "\\'"}
# Printable to Unicode, yet blank or without a shape of their own: fillers, joiners, selectors, Braille's blank
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_SPACES = " " * 17  # so many in a row may push what follows out of sight; fewer indent a line


def quoted(text: str) -> str:
    """Return a text as it is, or as $'…' if it could be taken for another one."""
    if text and not _hides(text):
        return text
    blank = "\\x20" * len(_SPACES)
    pieces = (
        "".join(_escape(char) if char in _QUOTED else _escaped(char) for char in one) for one in text.split(_SPACES)
    )
    escaped = blank.join(pieces)
    return f"{_ANSI_C}{escaped}'"


def visible(text: str) -> str:
    """Return a text in which each character that is not seen is an escape. It may look like another
    text that has the escape in it."""
    return text if text.isascii() and text.isprintable() else "".join(map(_escaped, text))


def word(text: str) -> str:
    """Return a word as a shell would have to be given it."""
    import shlex  # late: little is shown like this

    return quoted(text) if _hides(text) else shlex.quote(text)


def words(texts: list[str]) -> str:
    """Return words as a shell would have to be given them."""
    return " ".join(map(word, texts))


def command(texts: list[str]) -> str:
    """Return a command as a person reads it: words for a shell, or a script as it is, with each
    character that is not seen as an escape."""
    return words(texts) if len(texts) > 1 else visible("".join(texts))


def _hides(text: str) -> bool:
    blank = text[:1] == " " or text[-1:] == " " or _SPACES in text
    return blank or text.startswith(_ANSI_C) or not all(map(_is_seen, text))


def _is_seen(char: str) -> bool:
    """Return whether a character is a shape on the screen, or the space. (`isprintable` is false
    for controls, format characters, surrogates and every other space.)"""
    return char.isprintable() and char not in BLANK and not any(ord(char) in one for one in _SELECTORS)


def _escaped(char: str) -> str:
    return char if _is_seen(char) else _escape(char)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
