"""Characters in a failed command that look like those of a shell, and are parts of words: a no-break space, an en dash
before an option, curly quotes. Editors, chats and word processors put them there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from outlive.core import shell_strings
from outlive.core.records import Definition

_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2028\u2029\u0085"
_UNSEEN = "\u200b-\u200f\u2060\ufeff\u00ad\u180e"
_DASHES = "\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_SINGLE = "\u2018-\u201b\u2032\u00b4\uff07"
_DOUBLE = "\u201c-\u201f\u2033\uff02\u00ab\u00bb"
_MEANT = (
    (_SPACES, "a space"),
    (_UNSEEN, "nothing"),
    (_DASHES, "a hyphen (-)"),
    (_SINGLE, "a straight quote (')"),
    (_DOUBLE, 'a straight quote (")'),
)
# Where each of them is not just a letter of a text: the two groups of blanks anywhere, a dash before an option or in the
# name of a program, a quote at an end of a word
_BEGINS = r"(?:^|(?<=[\s;|&()<>=]))"
_AT_FAULT = re.compile(
    rf"[{_SPACES}{_UNSEEN}]|{_BEGINS}[{_DASHES}{_SINGLE}{_DOUBLE}]|[{_SINGLE}{_DOUBLE}](?=[\s;|&()<>]|$)"
    rf"|(?:^|(?<=[;|&(\n]))[ \t]*[\w./+-]*\w[{_DASHES}](?=\w)"
)
_QUOTED = re.compile(
    r"""\\.|\$?'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?:^|(?<=\s))\#[^\n]*|<<-?[ \t]*(['"]?)(\w+)\1[^\n]*\n(?:.*?\n)?[ \t]*\2(?=\n|$)""",
    re.DOTALL,
)


def hint(definition: Definition) -> str | None:
    """Return which such character a command has outside of quoted texts, where, and what it is taken for; None if none."""
    text = shell_strings.run_by(definition.command, definition.shell)
    if text is not None:
        return next(_found(text, "The command"), None)
    for at, word in enumerate(definition.command):
        if at and any(blank in word for blank in " \n"):  # a text
            continue
        said = next(_found(word, "The program's name" if not at else f"Argument {at}"), None)
        if said is not None:
            return said
    return None


def _found(text: str, where: str) -> Iterator[str]:
    if text.isascii():
        return
    bare = _QUOTED.sub(lambda match: re.sub(r"[^\n]", "x", match.group()), text)
    for match in _AT_FAULT.finditer(bare):
        at = match.end() - 1
        char = text[at]
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        place = f"character {column}" + (f" of line {line}" if "\n" in text else "")
        name = unicodedata.name(char, "line break" if char == "\x85" else "character").lower()
        meant = next(meant for those, meant in _MEANT if re.match(f"[{those}]", char))
        yield (
            f"{where} has U+{ord(char):04X} ({name}) at {place}, which is taken for a part of the word: "
            f"{'leave it out' if meant == 'nothing' else f'write {meant}'}."
        )
