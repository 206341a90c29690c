"""Read a shell string: which commands it has, and whether every shell reads it alike.

To read a string is not to run it: words keep their variables. What all shells read alike are plain words and simple quotes,
joined by `&&`, `||`, `;`, `|` and newlines; of a string with anything else `unsure` says what it is. Names and exit codes
are made of what is read all the same, an `allow` rule never. Of what is no shell script (an operator without a command, a
quote that nothing closes) nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from outlive.core.quoted import cut, one_line
from outlive.core.record import Value

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})


class Command:
    """One command, and the operator behind it; "" behind the last.

    `words`: of a simple command, without its redirections and the variables that are set before it; `globs`: the places of
    those that stand for names of files, `expanded`: of those with a variable, a brace, a leading `~`, or what a command prints. Of a group, a loop or a condition (`kind` is the word that begins it) its text, and
    `inside` are the commands in it. `substituted` are those whose output its words or redirections take. `defines`: the
    name of the function that `inside` is the body of.
    """

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.globs: set[int] = set()
        self.expanded: set[int] = set()
        self.operator = ""
        self.kind = ""
        self.defines = ""
        self.inside: list[Command] = []
        self.substituted: list[Command] = []
        self.is_negated = False
        self.is_setting = False  # it does nothing but set variables: its code is that of its substitution

    @property
    def name(self) -> str:
        return self.words[0]


def pipelines(joined: list[Command]) -> list[list[Command]]:
    """Return the stages of each pipeline; a command alone is one of one stage."""
    found: list[list[Command]] = [[]]
    for command in joined:
        found[-1].append(command)
        if command.operator != "|":
            found.append([])
    return [stages for stages in found if stages]


def every(joined: list[Command]) -> list[Command]:
    """Return these commands and all that stand inside them."""
    found = []
    for command in joined:
        found += [command, *every(command.inside), *every(command.substituted)]
    return found


def is_shell(program: str) -> bool:
    """Return whether a program reads strings as they are read here."""
    return program.rpartition("/")[2] in _SHELLS


def run_by(words: list[str], shell: Sequence[str] | None = None) -> str | None:
    """Return the string that a shell runs: `words` is it if `shell` is given, or has it: `bash -c STRING`, `eval STRING`."""
    if shell is not None:
        return words[0]
    if words[:1] == ["eval"] and len(words) == 2:
        return words[1]
    if len(words) > 2 and is_shell(words[0]) and words[1][:1] == "-" and words[1][-1:] == "c":
        return words[2]
    return None


# Of two that begin alike the longer stands first
_JOINS = ("||", "&&", "|&", "|", ";", "&", "\n")
_OPERATORS = ("&>", ";;&", ";;", ";&", *_JOINS)
_REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", ">>", ">&", "<&", ">|", "<>", "<", ">")
_HARMLESS_REDIRECTION = r"[0-9]?(>&[0-9]|(<|>>?)[ \t]*/dev/null)"
_ESCAPED = ("$", "`", '"', "\\", "\n")  # by a backslash in double quotes; before others it is itself
_CLOSED_BY = {"(": ")", "{": "}", "if": "fi", "case": "esac"}
_CLOSED_BY |= dict.fromkeys(("while", "until", "for", "select"), "done")
_BETWEEN = frozenset({"then", "elif", "else", "do"})  # what stands behind them is a command
_KEYWORDS = frozenset(
    "! if then elif else fi for select while until do done case esac in function time coproc foreach repeat end [[".split()
)
_ENDS_WORD = " \t\r\n|&;<>()"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:+@%^!]")
_MOST_CHARS = 20_000
_MOST_DEPTH = 30
_SHOWN_CHARS = 40  # of the text of a group or a loop


class _Unclear(Exception):
    """Why the string is no shell script, or is not read here."""


class Script(Value):
    """What a string says.

    `commands`: none of a string that cannot be read. `unsure`: why shells may read it otherwise, or run something else;
    None if all read it alike.
    """

    commands: list[Command]
    unsure: str | None


def read(text: str) -> Script:
    """Return what a string of any form says."""
    reader = _Reader(text)
    try:
        return Script(reader.commands("")[0], reader.unsure)
    except _Unclear as why:
        return Script([], reader.unsure or str(why))


def commands(text: str | None) -> list[Command]:
    """Return the commands of a string; none if it cannot be read."""
    return [] if text is None or len(text) > _MOST_CHARS else read(text).commands


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._is_glob = self._is_expanded = False  # of the word that was read last
        self._expansions = 0  # that were read
        self._substituted: list[Command] = []  # of the command that is read
        self._documents: list[str] = []  # the ends of the here-documents that begin at the next line
        self.unsure: str | None = None

    def commands(self, *closers: str) -> tuple[list[Command], str]:
        """Read commands up to one of the words or signs that close them ("": the end); return them and that."""
        around, self._substituted = self._substituted, []
        joined: list[Command] = []
        while (sign := self._ahead()) not in closers:
            is_open = bool(joined) and not joined[-1].operator
            if sign in _BETWEEN:
                self._doubt_sign(sign)
                self._at += len(sign)
            elif sign not in _JOINS and not is_open:
                joined.append(self._command())
            elif sign not in _JOINS or (sign != "\n" and not is_open):
                raise _Unclear("a command or an operator is missing")
            else:
                self._at += len(sign)
                if sign == "\n":
                    self._skip_documents()
                if sign in ("&", "|&"):
                    self._doubt_sign(sign)
                if is_open:
                    joined[-1].operator = "|" if sign == "|&" else sign
        if joined and joined[-1].operator in ("&&", "||", "|"):
            raise _Unclear("a command is missing")
        self._at += len(sign)
        self._substituted = around
        return joined, sign

    def _command(self) -> Command:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise _Unclear("it is nested too deeply")
        start, is_negated = self._at, False
        while (word := self._ahead()) in ("!", "time"):
            self._doubt_sign(word)
            self._at += len(word)
            is_negated = is_negated or word == "!"
            if word == "time" and self._ahead() == "-p":
                self._at += 2
        if word in ("coproc", "function"):
            raise _Unclear(f"`{word}` is not read here")
        command = self._compound(word, start) if word in _CLOSED_BY else self._simple()
        command.is_negated = is_negated
        command.substituted, self._substituted = self._substituted, []
        self._depth -= 1
        return command

    def _compound(self, kind: str, start: int) -> Command:
        self._doubt_sign(kind)
        command = Command(["(("])
        if self._text.startswith("((", self._at):
            self._skip_nested(2)
        else:
            self._at += len(kind)
            command.kind = kind
            if kind in ("for", "select"):
                header, _ = self.commands(";", "\n")  # a variable and its values, as if they were a command
                self._substituted += header[0].substituted if header else []
            command.inside = self._arms() if kind == "case" else self.commands(_CLOSED_BY[kind])[0]
            command.words = [cut(one_line(self._text[start : self._at]), _SHOWN_CHARS)]
        if self._behind_redirections() not in "|&;\n)":
            raise _Unclear("an operator is missing")
        return command

    def _arms(self) -> list[Command]:
        """Read a `case` behind that word, with its end; return the commands of all its arms."""
        arms: list[Command] = []
        while (closer := self._ahead()) != "in":
            self._word()
        self._at += len("in")
        while closer != "esac":
            while self._ahead() in ("\n", "("):
                self._at += 1
            closer = self.commands(")", "esac")[1]  # patterns, as if they were commands
            if closer == ")":
                arm, closer = self.commands(";;", ";;&", ";&", "esac")
                arms += arm
                for last in arm[-1:]:
                    last.operator = last.operator or ";"
        return arms

    def _simple(self) -> Command:
        command = Command([])
        words = command.words
        while True:
            char = self._behind_redirections()
            if words[:1] == ["[["] and words[-1] != "]]" and char and char in "|&;\n()":  # they join nothing there
                self._at += 1
            elif char in "|&;\n)":  # or the end
                break
            elif len(words) == 1 and self._text.startswith("()", self._at):
                return self._function(words[0])
            else:
                self._add_word(command)
        if not words:
            self._doubt("a command is missing")
            command.words = ["="]
        elif words[0] == "[[" and words[-1] != "]]":
            raise _Unclear("`[[` is not closed")
        elif words[0] in _KEYWORDS:
            self._doubt_sign(words[0])
        command.is_setting = not words and command.is_setting
        return command

    def _add_word(self, command: Command) -> None:
        word = self._word()
        if command.words or "=" not in word or not word.partition("=")[0].rstrip("+").isidentifier():
            command.globs |= {len(command.words)} if self._is_glob else set()
            command.expanded |= {len(command.words)} if self._is_expanded else set()
            command.words.append(word)
            return
        self._doubt(f"`{word}` sets a variable")
        command.is_setting = True
        if word.endswith("=") and self._peek() == "(":  # the values of an array
            self._substitution(1)

    def _function(self, name: str) -> Command:
        self._at += len("()")
        while self._ahead() == "\n":
            self._at += 1
        body = self._command()
        if not body.kind:
            raise _Unclear("a function has no body")
        body.defines = name
        return body

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _doubt(self, why: str) -> None:
        self.unsure = self.unsure or why

    def _doubt_sign(self, sign: str) -> None:
        shown = f"`{sign}`" if sign.isprintable() and sign != "`" else "a backtick" if sign == "`" else f"{sign!r}"
        self._doubt(f"it has {shown}, which the shell reads")

    def _ahead(self) -> str:
        """Return the operator or the unquoted word that stands here, without reading over it; "" at the end."""
        self._next_char()
        operator = next((one for one in _OPERATORS if self._text.startswith(one, self._at)), None)
        if operator is not None:
            return operator
        stop = self._at
        while self._text[stop : stop + 1] not in _ENDS_WORD:
            stop += 1
        return self._text[self._at : max(stop, self._at + 1)]

    def _next_char(self) -> str:
        """Go to the next token, over blanks, comments and lines that go on; return its first character, "" at the end."""
        while (char := self._peek()) and (char in " \t\r#" or self._peek(2) == "\\\n"):
            if char not in " \t":
                self._doubt_sign(char)
            end = self._text.find("\n", self._at) if char == "#" else self._at + 1 + (char == "\\")
            self._at = len(self._text) if end < 0 else end
        return char

    def _skip_documents(self) -> None:
        """Read over the here-documents that begin at this line."""
        for end in self._documents:
            last = re.compile(rf"^\t*{re.escape(end)}(\n|\Z)", re.MULTILINE).search(self._text, self._at)
            if last is None:
                raise _Unclear("a here-document is not closed")
            self._at = last.end()
        self._documents = []

    def _skip_nested(self, opened: int, pair: str = "()") -> None:
        """Read over what stands in `opened` parentheses, which begin here, and those inside it."""
        self._at += opened
        while opened:
            char = self._peek()
            if not char:
                raise _Unclear(f"`{pair[0]}` is not closed")
            opened += (char == pair[0]) - (char == pair[1])
            self._at += 1

    def _behind_redirections(self) -> str:
        """Go over redirections, with their targets, to what follows; return its first character, "" at the end."""
        while True:
            char = self._next_char()
            start = stop = self._at
            while self._text[stop : stop + 1].isdigit():
                stop += 1
            signs = _REDIRECTIONS if self._text[stop : stop + 1] in "<>&" else ()
            sign = next((one for one in signs if self._text.startswith(one, stop)), "")
            if not sign or self._text[stop : stop + 2] in ("<(", ">("):  # a word, or the target of the one before
                return char
            self._at = stop + len(sign)
            self._next_char()
            target = self._word()
            if sign in ("<<", "<<-"):
                self._documents.append(target)
            if not re.fullmatch(_HARMLESS_REDIRECTION, self._text[start : self._at]):
                self._doubt("it redirects to or from a file")

    def _word(self) -> str:
        start, said, expansions = self._at, "", self._expansions
        self._is_glob = False
        while (char := self._peek()) not in " \t\r\n|&;":
            if char in "'\"":
                said += self._quoted("$`\\!" if char == '"' else "")
                continue
            if char not in _PLAIN:
                self._look_at(char, start)
            if char in "$`":
                said += self._expansion()
            elif self._peek(2) in ("<(", ">("):
                said += self._substitution(2)
            elif char == "(" and said and said[-1] in "@?*+!":
                self._skip_nested(1)  # a pattern such as !(a|b)
            elif char in "<>()":
                break
            else:
                taken = self._peek(2 if char == "\\" else 1)
                said += taken[char == "\\" :].strip("\n")
                self._at += len(taken)
        if self._at == start:
            raise _Unclear("a word is missing")
        # A single bracket is the command `test`
        self._is_glob = self._is_glob and self._text[start : self._at] != "["
        self._is_expanded = self._expansions > expansions
        return said

    def _look_at(self, char: str, start: int) -> None:
        """Note what an unquoted character may make of the word that begins at `start`."""
        self._expansions += char == "{" or (char == "~" and self._at == start)
        if char in "*?[":
            self._is_glob = True
        elif char in "~#=":
            if self._at == start or (char != "=" and not self._text[self._at - 1].isalnum()):
                self._doubt_sign(char)
        elif char.isascii() or not char.isalnum():
            self._doubt_sign(char)

    def _quoted(self, special: str) -> str:
        """Read what stands in quotes, within which these characters are special."""
        quote, said = self._peek(), ""
        self._at += 1
        while (char := self._peek()) != quote:
            if not char:
                raise _Unclear("a quote is not closed")
            if char in special:
                self._doubt("its double quotes hold `$`, a backtick, `\\` or `!`")
            if char in special and char in "$`":
                said += self._expansion()
            else:
                taken = self._peek(2 if char == "\\" and special else 1)
                self._at += len(taken)
                said += taken[1:].strip("\n") if taken[0] == "\\" and taken[1:] in _ESCAPED else taken
        self._at += 1
        return said

    def _expansion(self) -> str:
        """Read what begins with a dollar or a backtick; return it as it stands, or as `$(…)`."""
        start, char = self._at, self._peek()
        self._at += 1
        self._expansions += 1
        if char == "`":
            end = self._text.find("`", self._at)
            if end < 0:
                raise _Unclear("a backtick is not closed")
            self._substituted += _Reader(self._text[self._at : end]).commands("")[0]
            self._at = end + 1
            return "$(…)"
        if self._peek(2) == "((":
            self._skip_nested(2)
        elif self._peek() == "(":
            return "$" + self._substitution(1)
        elif self._peek() == "'":
            self._quoted("\\")
        elif self._peek() == "{":
            self._skip_nested(1, "{}")
        return self._text[start : self._at]

    def _substitution(self, opening: int) -> str:
        """Read the commands whose output is taken, behind so many characters that open them."""
        self._expansions += 1
        self._at += opening
        self._substituted += self.commands(")")[0]
        return "(…)"
