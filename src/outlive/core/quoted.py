"""How a name is shown: a command, title, tag, path or prompt, on one line, with every character visible.

`_pieces` decides which characters are seen; all faces take it from here, and static/dom.js has the same
rule. A text to be read exactly, as before an approval, is `quoted`: one that holds an unseen character
is shown as bash's $'…', in which each of them is an escape. A text that begins like that is shown so
too, so no two texts look the same, but for the selector that makes a picture of a symbol.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Callable, Iterator

_ANSI_C = "$'"
_QUOTED = "\\'"  # are escaped within quotes alone
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e", "\\": "\\\\", "'": "\\'"}
# Printable to Unicode, yet blank or without a shape of their own: fillers, joiners, selectors, Braille's blank
_BLANK = frozenset(
    map(
        chr,
        (
            *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164),
            *(*range(0xFE00, 0xFE10), 0xFFA0, 0x16FE4, 0x1D159, *range(0xE0100, 0xE01F0)),
        ),
    )
)
_PICTURE = "\ufe0f"  # ordinary in titles, as in the emoji of a warning: seen behind a symbol alone
_SPACES = " " * 17  # so many in a row may push what follows out of sight; fewer indent a line
_LINE_SPACES = str.maketrans("\t\n\v\f\r", "     ")


def quoted(text: str) -> str:
    """Return a text as it is, or as $'…' if it could be taken for another one."""
    if text and not _hides(text):
        return text
    blank = "\\x20" * len(_SPACES)
    escaped = "".join(char if seen and char not in _QUOTED else escape(char) for char, seen in _pieces(text))
    return f"{_ANSI_C}{escaped.replace(_SPACES, blank)}'"


def escape(char: str) -> str:
    """Return a character as bash's $'…' has it."""
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def in_json(char: str) -> str:
    """Return a character as a string of JSON has it."""
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def visible(text: str, escaped: Callable[[str], str] = escape) -> str:
    """Return a text with each unseen character as an escape. It may look like another text that has that in it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if seen else escaped(char) for char, seen in _pieces(text))


def one_line(text: str) -> str:
    """Return a text on one line: blanks and line breaks of ASCII become one space. (`split` alone
    would take others for blanks, which a shell does not.)"""
    return " ".join(filter(None, text.translate(_LINE_SPACES).split(" ")))


def cut(text: str, most: int) -> str:
    """Return a text, or its beginning and … if it has more than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def word(text: str) -> str:
    """Return a word as a shell would have to be given it."""
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
    return blank or text.startswith(_ANSI_C) or not all(seen for _, seen in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and whether it is a shape on the screen, or the space. (`isprintable`
    is false for controls, format characters, surrogates and every other space.)"""
    picture = False  # whether a selector would make a picture of what stands before it
    for char in text:
        if char.isascii():
            picture = False
            yield char, char.isprintable()
            continue
        seen = (char.isprintable() and char not in _BLANK) or (picture and char == _PICTURE)
        picture = seen and char != _PICTURE and unicodedata.category(char) == "So"
        yield char, seen
