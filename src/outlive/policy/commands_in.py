"""Split a shell string into the commands that a shell would run, or say why that cannot be known.

Nothing is guessed. What is split are plain words and simple quotes, joined by `&&`, `||`, `;`, `|`
and newlines. Anything else (an expansion, a redirection to a path, a keyword, a leading assignment)
leaves the whole string unread. A program that runs other commands, such as `sudo`, is unread too.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from outlive import limits
from outlive.policy import runners, system_shells

# How a shell is called to run a string
_STRING_FLAGS = frozenset({"-c", "-l", "-lc", "-cl"})
_KEYWORDS = frozenset(
    "! if then elif else fi for select while until do done case esac in function time coproc foreach repeat end".split()
)
# They change what the words of a later command mean, or run their arguments as a command
_CHANGING = frozenset(
    ". source eval exec builtin command alias unalias export declare typeset readonly local set unset setopt unsetopt "
    "shopt enable disable hash trap let read mapfile readarray getopts complete compgen compopt compctl compadd "
    "compset bind fc wait emulate autoload functions unfunction noglob nocorrect float integer nameref print vared zmodload "
    "zpty zle zstyle ztcp zcompile sched -".split()
)
# Bash evaluates the name of a variable that stands behind these: `test -v 'a[$(id)]'` runs id
_EVALUATING = {"printf": ("-",), "test": ("-v", "-R"), "[": ("-v", "-R"), "jobs": ("-",)}  # `jobs -x` runs what follows
# zsh, ksh and mksh take numbers for expressions: `[ 'a[$(id)]' -eq 1 ]` runs id
_COUNTING = frozenset(
    "printf test [ exit return shift break continue ulimit kill cd pushd popd suspend umask sleep".split()
)
_MOVING = frozenset({"cd", "chdir", "pushd", "popd"})
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:+@%^!]")
_GLOB = "*?["
_NULL = "/dev/null"
_TOO_LONG = f"it is longer than {limits.MAX_COMMAND_BYTES:,} bytes"


class Command(NamedTuple):
    """One command: its words, and what is not known of it.

    `globs` are the places of words that stand for names of files. `unread` says why it is not known
    what the command runs; None if that is known. `moved`: an earlier command changed the directory.
    """

    argv: list[str]
    globs: frozenset[int] = frozenset()
    unread: str | None = None
    moved: bool = False


class _Unread(Exception):
    """Why a string is not split."""


def commands(words: list[str], shell: list[str] | None, path: str = os.defpath, *, whole: bool = True) -> list[Command]:
    """Return the commands of a job: of `words` as they stand, or of the one string in it that
    `shell` runs. `path`: the PATH that finds the shell. Without `whole` the string is the beginning
    of one that is too long to be split."""
    if shell is None:
        return [_of_words(words, frozenset())]
    text = words[0]
    if os.path.basename(shell[0]) not in runners.SHELLS or not shell[1:] or not _STRING_FLAGS.issuperset(shell[1:]):
        return [Command([text], unread=f"the shell `{' '.join(shell)}` reads it")]
    if not system_shells.is_of_the_system(shell[0], path):
        return _of_foreign(text, shell)
    try:
        if not whole:
            raise _Unread(_TOO_LONG)
        return split(text)
    except _Unread as why:
        return [Command([text], unread=str(why))]


def _of_foreign(text: str, shell: list[str]) -> list[Command]:
    """Return the commands of a string for a program called like a shell, which may do more than a shell would."""
    why = f"`{shell[0]}` is no shell of the system"
    commands = [Command([*shell, text], unread=why)]
    try:
        inside = split(text)
    except _Unread:
        return commands
    return commands + [command._replace(unread=why) for command in inside]


def split(text: str) -> list[Command]:
    """Return the commands of a shell string. Errors: _Unread."""
    if len(text) > limits.MAX_COMMAND_BYTES:
        raise _Unread(_TOO_LONG)
    if text[:1] in ("-", "+"):
        raise _Unread("the shell takes it for an option")
    commands: list[Command] = []
    moved = False
    for words in _lists(text):
        argv = [word for word, _ in words]
        _check(argv, words[0][1])
        command = _of_words(argv, frozenset(place for place, (_, glob) in enumerate(words) if glob))
        commands.append(command._replace(moved=moved))
        moved = moved or argv[0] in _MOVING
    if not commands:
        raise _Unread("it is empty")
    return commands


def _check(argv: list[str], glob: bool) -> None:
    """Raise _Unread for a command that is not what its words say. `glob`: of its first word."""
    word = argv[0]
    name = os.path.basename(word)
    if glob:
        raise _Unread(f"`{word}` stands for a name of a file")
    if "=" in word:
        raise _Unread(f"`{word}` sets a variable")
    if word in _KEYWORDS or name in _CHANGING or word.startswith("%"):  # `%1` is `fg %1`
        raise _Unread(f"`{word}` changes what the words after it mean")
    if not word:
        raise _Unread("a command has no name")
    if any(flag.startswith(_EVALUATING.get(word, ())) for flag in argv[1:]):
        raise _Unread(f"`{word}` evaluates the name of a variable")
    if name in _COUNTING and any("[" in one and ("$" in one or "`" in one) for one in argv[1:]):
        raise _Unread(f"`{word}` evaluates an expression")


def _of_words(argv: list[str], globs: frozenset[int]) -> Command:
    return Command(argv, globs=globs, unread=runners.runs_another(argv))


def _lists(text: str) -> list[list[tuple[str, bool]]]:
    """Return the words of each command, each with whether it stands for names of files."""
    lists: list[list[tuple[str, bool]]] = []
    words: list[tuple[str, bool]] = []
    redirected = needs_more = False  # more is needed behind && || and |
    reader = _Reader(text)
    while True:
        token = reader.next()
        if isinstance(token, tuple):
            words.append(token)
            continue
        if token == _REDIRECTION:
            redirected = True
            continue
        if words:
            lists.append(words)
            needs_more = False
        elif redirected or token not in ("\n", "") or (needs_more and not token):
            raise _Unread("a command is missing")
        if not token:
            return lists
        words, redirected = [], False
        needs_more = needs_more or token not in ("\n", ";")


_REDIRECTION = "2>&1"


class _Reader:
    """Reads the tokens of a string from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def next(self) -> tuple[str, bool] | str:
        """Return the next word, operator or _REDIRECTION; "" at the end. Errors: _Unread."""
        while self._peek() in (" ", "\t"):
            self._at += 1
        char = self._peek()
        if char in ("", "\n", ";", "|", "&"):
            return self._operator(char)
        if char in "<>" or (_is_digit(char) and self._peek(1) in ("<", ">")):
            self._redirection()
            return _REDIRECTION
        return self._word()

    def _peek(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _operator(self, char: str) -> str:
        self._at += len(char)
        if char in ("|", "&") and self._peek() == char:
            self._at += 1
            char *= 2
        if char == "&" or (char and char != "\n" and self._peek() in ("&", "|", ";")):
            raise _Unread("it has an operator other than `&&`, `||`, `;` and `|`")
        return char

    def _redirection(self) -> None:
        """Read over `2>&1`, or a redirection to or from /dev/null. Errors: _Unread for others."""
        if _is_digit(self._peek()):
            self._at += 1
        direction = self._peek()
        self._at += 1
        if direction == ">" and self._peek() == "&" and _is_digit(self._peek(1)):
            self._at += 2
        else:
            if direction == ">" and self._peek() == ">":
                self._at += 1
            while self._peek() in (" ", "\t"):
                self._at += 1
            if not self._text.startswith(_NULL, self._at):
                raise _Unread("it redirects to or from a file")
            self._at += len(_NULL)
        if self._peek() not in ("", " ", "\t", "\n", ";", "|", "&"):
            raise _Unread("it redirects to or from a file")

    def _word(self) -> tuple[str, bool]:
        chars: list[str] = []
        glob, start = False, self._at
        while True:
            char = self._peek()
            if char in ("", " ", "\t", "\n", ";", "|", "&"):
                word = "".join(chars)
                # A single bracket is the command `test`
                return word, glob and self._text[start : self._at] != "["
            if char in "'\"":
                chars.append(self._quoted(char))
                continue
            if char in _GLOB:
                glob = True
            elif char in "~#=":
                before = self._text[self._at - 1 : self._at]
                if self._at == start or (char != "=" and not before.isalnum()):
                    raise _Unread(f"it has a `{char}` that the shell reads")
            elif char not in _PLAIN and (char.isascii() or not char.isalnum()):
                raise _Unread(f"it has {_named(char)}, which the shell reads")
            chars.append(char)
            self._at += 1

    def _quoted(self, quote: str) -> str:
        end = self._text.find(quote, self._at + 1)
        if end < 0:
            raise _Unread("a quote is not closed")
        inside = self._text[self._at + 1 : end]
        if quote == '"' and any(char in inside for char in "$`\\!"):
            raise _Unread("its double quotes hold `$`, a backtick, `\\` or `!`")
        self._at = end + 1
        return inside


def _is_digit(char: str) -> bool:
    return char.isascii() and char.isdigit()


def _named(char: str) -> str:
    return f"`{char}`" if char.isprintable() and char != "`" else "a backtick" if char == "`" else f"{char!r}"
