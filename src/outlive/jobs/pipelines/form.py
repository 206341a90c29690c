"""The form of a shell string: which commands it has, what joins them, and which stand inside others.

To read a string is not to run it: policy/commands_in.py says what a string runs, or refuses. Here words keep their variables, and
what is no shell script (an operator without a command, a quote that nothing closes) is unclear: nothing is said of it.
"""

from __future__ import annotations

from outlive.core.quoted import cut, one_line

_OPERATORS = ("||", "&&", "|&", "|", ";;&", ";;", ";&", ";", "&", "\n")
_REDIRECTIONS = ("<<<", "<<-", "<<", ">>", ">&", "<&", ">|", "<>", "<", ">")
_ENDS_CASE = frozenset({";;", ";;&", ";&"})
_CLOSED_BY = {"{": "}", "if": "fi", "while": "done", "until": "done", "for": "done", "select": "done", "case": "esac"}
_BETWEEN = frozenset({"then", "elif", "else", "do"})  # what stands behind them is a command
_WITH_HEADER = frozenset({"for", "select", "case"})
_BLANK = " \t\r"
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})
_MOST_CHARS = 20_000
_MOST_DEPTH = 30
_SHOWN_CHARS = 40  # of the text of a group or a loop


class Unclear(Exception):
    """The string is no shell script, or one that is not read here."""


class Command:
    """One command, and the operator behind it; "" behind the last.

    `words`: of a simple command, without its redirections and the variables that are set before it. Of a group, a loop or
    a condition (`kind` is the word that begins it) its text, and `inside` are the commands in it. `substituted` are those
    whose output its words or redirections take. `defines`: the name of the function that `inside` is the body of.
    """

    def __init__(self, words: list[str]) -> None:
        self.words = words
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


def commands(text: str) -> list[Command]:
    """Return the commands of a string. Errors: Unclear."""
    if len(text) > _MOST_CHARS:
        raise Unclear
    return _Reader(text).whole()


def simple_commands(text: str) -> list[list[str]]:
    """Return the words of the simple commands at the beginning of a string, as they stand; of one that is unclear those
    before that."""
    reader = _Reader(text[:_MOST_CHARS])
    try:
        reader.whole()
    except Unclear:
        pass
    return reader.simple


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


def given_to_shell(words: list[str]) -> str | None:
    """Return the string that a command has a shell run: `bash -c STRING`, `eval STRING`."""
    if words[:1] == ["eval"] and len(words) == 2:
        return words[1]
    if len(words) > 2 and is_shell(words[0]) and words[1][:1] == "-" and words[1][-1:] == "c":
        return words[2]
    return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._substituted: list[Command] = []  # of the command that is read
        self._documents: list[str] = []  # the ends of the here-documents that begin at the next line
        self.simple: list[list[str]] = []

    def whole(self) -> list[Command]:
        return self._list(())[0]  # nothing but the end closes it

    def _list(self, closers: tuple[str, ...], *, patterns: bool = False) -> tuple[list[Command], str]:
        """Read commands up to one of the words that close them; return them and that word. `patterns`: of a `case`."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise Unclear
        around, self._substituted = self._substituted, []
        joined: list[Command] = []
        closer: str | None = None
        while closer is None:
            self._skip_blank()
            operator = self._operator()
            if operator:
                self._join(joined, operator, patterns)
            elif self._at >= len(self._text) and not closers:
                closer = ""
            elif self._peek() == ")":
                self._at += 1
                if ")" in closers:
                    closer = ")"
                else:
                    self._drop_patterns(joined, patterns)
            else:
                at = self._at
                command = self._command(closers, patterns=patterns)
                if at == self._at:  # nothing is here, but one of `closers` should be
                    raise Unclear
                if isinstance(command, str):
                    closer = command
                elif command is not None:
                    joined.append(command)
        if joined and joined[-1].operator in ("&&", "||", "|"):
            raise Unclear
        self._depth -= 1
        self._substituted = around
        return joined, closer

    def _drop_patterns(self, joined: list[Command], patterns: bool) -> None:
        """Drop what was read as commands and has turned out to be the patterns of a `case`."""
        if not patterns or not joined:
            raise Unclear
        while joined and joined[-1].operator in ("", "|"):
            joined.pop()
            del self.simple[-1:]

    def _join(self, joined: list[Command], operator: str, patterns: bool) -> None:
        if operator == "\n":
            self._skip_documents()
            if not joined or joined[-1].operator:
                return
        if operator in _ENDS_CASE:
            if not patterns:
                raise Unclear
            operator = ";"
        elif not joined or joined[-1].operator:
            raise Unclear
        if joined and not joined[-1].operator:
            joined[-1].operator = "|" if operator == "|&" else operator

    def _operator(self) -> str:
        text, at = self._text, self._at
        if text.startswith("&>", at):
            return ""
        operator = next((one for one in _OPERATORS if text.startswith(one, at)), "")
        self._at += len(operator)
        return operator

    def _command(self, closers: tuple[str, ...], *, patterns: bool) -> Command | str | None:
        """Return the command that begins here; None if only a word that separates commands does, and the word if it closes
        the list."""
        start, is_negated = self._at, False
        while True:
            self._skip_blank()
            if self._text.startswith("((", self._at):
                self._skip_nested(2)
                return self._with_redirections(Command(["(("]))
            if self._peek() == "(" and not patterns:
                self._at += 1
                return self._compound("(", (")",), start, is_negated)
            if patterns and self._peek() == "(":  # before a pattern
                self._at += 1
                continue
            word = self._bare_word()
            if word in closers:
                self._at += len(word)
                return word
            if word in _BETWEEN:
                self._at += len(word)
                return None
            if word in ("!", "time"):
                self._at += len(word)
                is_negated = is_negated or word == "!"
                self._skip_blank()
                if word == "time" and self._bare_word() == "-p":
                    self._at += 2
                continue
            break
        if word in ("coproc", "function"):
            raise Unclear
        if word in _CLOSED_BY:
            self._at += len(word)
            return self._compound(word, (_CLOSED_BY[word],), start, is_negated)
        command = self._simple(word == "[[")
        command.is_negated = is_negated
        return command

    def _compound(self, kind: str, closers: tuple[str, ...], start: int, is_negated: bool) -> Command:
        if kind == "case":
            while self._bare_word() != "in":
                self._skip_blank()
                self._word()
                self._skip_blank()
            self._at += 2
        elif kind in _WITH_HEADER:
            self._skip_blank()
            if self._text.startswith("((", self._at):
                self._skip_nested(2)
            else:
                while self._peek() not in (";", "\n", ""):
                    self._word()
                    self._skip_blank()
            self._skip_blank()
            self._operator()
        inside, _ = self._list(closers, patterns=kind == "case")
        command = Command([cut(one_line(self._text[start : self._at]), _SHOWN_CHARS)])
        command.kind, command.inside, command.is_negated = kind, inside, is_negated
        return self._with_redirections(command)

    def _with_redirections(self, command: Command) -> Command:
        self._skip_blank()
        while self._redirection():
            self._skip_blank()
        if self._peek() and self._peek() not in "|&;\n)":
            raise Unclear
        command.substituted, self._substituted = self._substituted, []
        return command

    def _simple(self, is_test: bool) -> Command:
        words: list[str] = []
        set_before = False
        while True:
            self._skip_blank()
            char = self._peek()
            if is_test and char and char in "|&()<>\n;":  # in [[ ]] they join nothing
                self._at += 1
                continue
            if char == "(" and len(words) == 1 and self._text.startswith("()", self._at):
                return self._function(words[0])
            if not char or (char in "|&;\n)" and not self._text.startswith("&>", self._at)):
                break
            if self._redirection():
                continue
            word = self._word()
            if not words and not is_test and "=" in word and word.partition("=")[0].rstrip("+").isidentifier():
                set_before = True
                if word.endswith("=") and self._peek() == "(":  # the values of an array
                    self._taken_from(1)
                continue
            words.append(word)
            if is_test and word == "]]":
                break
        if is_test and words[-1:] != ["]]"]:
            raise Unclear
        command = Command(words or ["="])
        command.is_setting = set_before and not words
        command.substituted, self._substituted = self._substituted, []
        if words:
            self.simple.append(words)
        return command

    def _function(self, name: str) -> Command:
        self._at += 2
        while (char := self._peek()) and (char in _BLANK or char == "\n"):
            self._at += 1
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise Unclear
        body = self._command((), patterns=False)
        self._depth -= 1
        if not isinstance(body, Command) or not body.kind:
            raise Unclear
        body.defines = name
        return body

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _bare_word(self) -> str:
        """Return the word that stands here if nothing in it is quoted or expanded, without reading over it."""
        stop = self._at
        while (char := self._text[stop : stop + 1]) and char not in _BLANK and char not in "|&;\n<>()'\"\\$`":
            stop += 1
        char = self._text[stop : stop + 1]
        return "" if char and char in "'\"\\$`" else self._text[self._at : stop]

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

    def _skip_documents(self) -> None:
        for end in self._documents:
            while True:
                if self._at >= len(self._text):
                    raise Unclear
                stop = self._text.find("\n", self._at)
                stop = len(self._text) if stop < 0 else stop
                line, self._at = self._text[self._at : stop], stop + 1
                if line.lstrip("\t") == end:
                    break
        self._documents = []

    def _skip_nested(self, opened: int, pair: str = "()") -> None:
        """Read over what stands in `opened` parentheses, which begin here, and those inside it."""
        self._at += opened
        while opened:
            char = self._peek()
            if not char:
                raise Unclear
            opened += (char == pair[0]) - (char == pair[1])
            self._at += 1

    def _redirection(self) -> bool:
        """Read over a redirection with its target; return whether there is one."""
        at = self._at
        while self._text[at : at + 1].isdigit():
            at += 1
        if self._text.startswith("&>", at):
            at += 1
        if self._text[at : at + 1] not in ("<", ">"):
            return False
        if self._text[at : at + 2] in ("<(", ">("):  # a word, or the target of the one before
            return False
        sign = next(one for one in _REDIRECTIONS if self._text.startswith(one, at))
        self._at = at + len(sign)
        self._skip_blank()
        word = self._word()
        if sign in ("<<", "<<-"):
            self._documents.append(word)
        return True

    def _word(self) -> str:
        start, said = self._at, ""
        while (char := self._peek()) and char not in _BLANK and char not in "|&;\n":
            if char in "<>":
                if self._peek(2) not in ("<(", ">("):
                    break
                said += self._taken_from(2)
            elif char in "()":
                if not said or said[-1] not in "@?*+!" or char == ")":
                    break
                self._skip_nested(1)  # a pattern such as !(a|b)
            elif char == "'":
                said += self._quoted()
            elif char == '"':
                said += self._in_double_quotes()
            elif char == "\\":
                said += self._peek(2)[1:].strip("\n")
                self._at += 2
            elif char in "$`":
                said += self._expansion()
            else:
                said += char
                self._at += 1
        if self._at == start:
            raise Unclear
        return said

    def _quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise Unclear
        inside, self._at = self._text[self._at + 1 : end], end + 1
        return inside

    def _in_double_quotes(self) -> str:
        self._at += 1
        said = ""
        while (char := self._peek()) != '"':
            if not char:
                raise Unclear
            if char in "$`":
                said += self._expansion()
                continue
            taken = self._peek(2 if char == "\\" else 1)
            said += taken[-1]
            self._at += len(taken)
        self._at += 1
        return said

    def _expansion(self) -> str:
        """Read what begins with a dollar or a backtick; return it as it stands, or as `$(…)`."""
        start = self._at
        if self._peek() == "`":
            end = self._text.find("`", start + 1)
            if end < 0:
                raise Unclear
            self._substituted += _Reader(self._text[start + 1 : end]).whole()
            self._at = end + 1
            return "$(…)"
        behind = self._peek(2)[1:]
        if self._peek(3) == "$((":
            self._at += 1
            self._skip_nested(2)
        elif behind == "(":
            return "$" + self._taken_from(2)
        elif behind == "'":  # $'…'
            self._at += 2
            while (char := self._peek()) != "'":
                if not char:
                    raise Unclear
                self._at += 1 + (char == "\\")
            self._at += 1
        elif behind == "{":
            self._at += 1
            self._skip_nested(1, "{}")
        else:
            self._at += 1
        return self._text[start : self._at]

    def _taken_from(self, opening: int) -> str:
        """Read the commands whose output is taken, behind so many characters that open them."""
        self._at += opening
        around, known = self._substituted, len(self.simple)
        inside, _ = self._list((")",))
        del self.simple[known:]
        self._substituted = around + inside
        return "(…)"
