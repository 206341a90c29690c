"""Split a shell string into the commands that a shell would run, or say why that cannot be known.

Nothing is guessed. What is split are plain words and simple quotes, joined by `&&`, `||`, `;`, `|`
and newlines. Anything else (an expansion, a redirection to a path, a keyword, a leading assignment)
leaves the whole string unread. A program that runs other commands, such as `sudo`, is unread too.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from outlive import limits
from outlive.core.shell import form, reader
from outlive.policy import runners, system_shells

# How a shell is called to run a string
_STRING_FLAGS = frozenset({"-c", "-l", "-lc", "-cl"})
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
    if not form.is_shell(shell[0]) or not shell[1:] or not _STRING_FLAGS.issuperset(shell[1:]):
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
    script = reader.read(text)
    if script.unsure is not None or not script.commands:
        raise _Unread(script.unsure or "it is empty")
    commands: list[Command] = []
    moved = False
    for one in script.commands:
        _check(one.words, 0 in one.globs)
        commands.append(_of_words(one.words, frozenset(one.globs))._replace(moved=moved))
        moved = moved or one.name in _MOVING
    return commands


def _check(argv: list[str], glob: bool) -> None:
    """Raise _Unread for a command that is not what its words say. `glob`: of its first word."""
    word = argv[0]
    name = os.path.basename(word)
    if glob:
        raise _Unread(f"`{word}` stands for a name of a file")
    if "=" in word:
        raise _Unread(f"`{word}` sets a variable")
    if name in _CHANGING or word.startswith("%"):  # `%1` is `fg %1`
        raise _Unread(f"`{word}` changes what the words after it mean")
    if not word:
        raise _Unread("a command has no name")
    if any(flag.startswith(_EVALUATING.get(word, ())) for flag in argv[1:]):
        raise _Unread(f"`{word}` evaluates the name of a variable")
    if name in _COUNTING and any("[" in one and ("$" in one or "`" in one) for one in argv[1:]):
        raise _Unread(f"`{word}` evaluates an expression")


def _of_words(argv: list[str], globs: frozenset[int]) -> Command:
    return Command(argv, globs=globs, unread=runners.runs_another(argv))
