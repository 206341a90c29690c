"""The form of a shell string: which commands it has, and what joins them.

To read a string is not to run it: policy/lexer.py says what a string runs, or refuses. Here words keep their variables, and
only where the form itself is not clear (a substitution, a group, a loop, a here-document) nothing is said.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Joined(NamedTuple):
        """One command, and the operator behind it; "" behind the last."""

        words: list[str]
        operator: str
else:
    from collections import namedtuple

    Joined = namedtuple("Joined", ("words", "operator"))

_OPERATORS = ("||", "&&", "|&", "|", ";", "&", "\n")
_OPENING = frozenset("! { if for while until case select function time coproc [[".split())
_BLANK = " \t\r"


class _Unclear(Exception):
    """The string has more than simple commands."""


def commands(text: str) -> list[Joined] | None:
    """Return the commands of a string; None if it has more than simple commands joined by operators."""
    try:
        return list(_Reader(text).commands())
    except _Unclear:
        return None


def pipelines(joined: list[Joined]) -> list[list[list[str]]]:
    """Return the words of each stage of each pipeline; a command alone is one of one stage."""
    found: list[list[list[str]]] = [[]]
    for command in joined:
        found[-1].append(command.words)
        if command.operator != "|":
            found.append([])
    return [stages for stages in found if stages]


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def commands(self) -> list[Joined]:
        joined: list[Joined] = []
        words: list[str] = []
        while True:
            self._skip_blank()
            if self._at >= len(self._text):
                break
            operator = next((one for one in _OPERATORS if self._text.startswith(one, self._at)), None)
            if operator is not None and not self._text.startswith("&>", self._at):
                self._at += len(operator)
                if words:
                    joined.append(Joined(_simple(words), "|" if operator == "|&" else operator))
                elif operator != "\n":
                    raise _Unclear
                words = []
            elif not self._redirection():
                words.append(self._word())
        if words:
            joined.append(Joined(_simple(words), ""))
        elif joined and joined[-1].operator not in (";", "\n", "&"):
            raise _Unclear
        return joined

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _skip_blank(self) -> None:
        """Go to the next token: over blanks, comments and lines that go on."""
        while True:
            if self._peek() and self._peek() in _BLANK:
                self._at += 1
            elif self._peek(2) == "\\\n":
                self._at += 2
            elif self._peek() == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return

    def _redirection(self) -> bool:
        """Read over a redirection with its target; return whether there is one."""
        at = self._at
        while at < len(self._text) and self._text[at] in "0123456789":
            at += 1
        if self._text.startswith("&>", at):
            at += 1
        if self._text[at : at + 1] not in ("<", ">") or not self._text[at : at + 1]:
            return False
        sign = self._text[at : at + 2]
        if sign in ("<<", "<(", ">("):  # a here-document or a process
            raise _Unclear
        self._at = at + (2 if sign in (">>", ">&", "<&", ">|", "<>") else 1)
        self._skip_blank()
        self._word()
        return True

    def _word(self) -> str:
        start, said = self._at, ""
        while (char := self._peek()) and char not in _BLANK and char not in "|&;\n<>":
            if char in "()`":
                raise _Unclear
            if char == "'":
                said += self._quoted()
            elif char == '"':
                said += self._in_double_quotes()
            elif char == "\\":
                said += self._peek(2)[1:].strip("\n")
                self._at += 2
            elif char == "$":
                said += self._variable()
            else:
                said += char
                self._at += 1
        if self._at == start:
            raise _Unclear
        return said

    def _quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise _Unclear
        inside, self._at = self._text[self._at + 1 : end], end + 1
        return inside

    def _in_double_quotes(self) -> str:
        self._at += 1
        said = ""
        while (char := self._peek()) != '"':
            if char in ("", "`"):
                raise _Unclear
            if char == "$":
                said += self._variable()
                continue
            taken = self._peek(2 if char == "\\" else 1)
            said += taken[-1]
            self._at += len(taken)
        self._at += 1
        return said

    def _variable(self) -> str:
        """Read `$NAME`, `${NAME}` or a dollar that is one; anything else is unclear."""
        behind = self._peek(2)[1:]
        if behind in ("(", "'", "[") and behind:
            raise _Unclear
        if behind != "{":
            self._at += 1
            return "$"
        end = self._text.find("}", self._at)
        if end < 0 or not self._text[self._at + 2 : end].isidentifier():
            raise _Unclear
        inside, self._at = self._text[self._at : end + 1], end + 1
        return inside


def _simple(words: list[str]) -> list[str]:
    """Return the words of a command without the variables that stand before it."""
    if words[0] in _OPENING:
        raise _Unclear
    first = 0
    while first < len(words) and words[first].partition("=")[0].isidentifier() and "=" in words[first]:
        first += 1
    return words[first:] or words
