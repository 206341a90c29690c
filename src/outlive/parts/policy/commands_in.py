"""Split a shell string into the commands that a shell would run, or say why that cannot be known.

Nothing is guessed. What is split are plain words and simple quotes, joined by `&&`, `||`, `;`, `|`
and newlines. Anything else (an expansion, a redirection to a path, a keyword, a leading assignment)
leaves the whole string unread. A program that runs other commands, such as `sudo`, is unread too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from outlive import limits
from outlive.core import shell_strings
from outlive.core.record import Value
from outlive.parts.policy import system_files
from outlive.parts.policy.programs import lists, runners
from outlive.parts.policy.programs.harmless import use_of

# How a shell is called to run a string
_STRING_FLAGS = frozenset({"-c", "-l", "-lc", "-cl"})
# They change what the words of a later command mean, or run their arguments as a command
CHANGING = frozenset(
    ". source eval exec builtin command alias unalias export declare typeset readonly local set unset setopt unsetopt "
    "shopt enable disable hash trap let read mapfile readarray getopts complete compgen compopt compctl compadd "
    "compset bind fc wait emulate autoload functions unfunction noglob nocorrect float integer nameref print vared zmodload "
    "zpty zle zstyle ztcp zcompile sched private zformat zparseopts zregexparse getln bindkey compcall comparguments compdescribe "
    "compfiles compgroups compquote comptags comptry compvalues history r zselect zsocket zsystem zstat strftime syserror sysread "
    "syswrite sysopen sysseek pcre_compile pcre_match ztie zuntie zcurses zgdbmpath zprof clone cap getcap setcap zf_ln -".split()
)
# Bash evaluates the name of a variable that stands behind these: `test -v 'a[$(id)]'` runs id
_EVALUATING = {"printf": ("-",), "test": ("-v", "-R"), "[": ("-v", "-R"), "jobs": ("-",)}  # `jobs -x` runs what follows
# zsh, ksh and mksh take numbers for expressions: `[ 'a[$(id)]' -eq 1 ]` runs id
_COUNTING = frozenset(
    "printf test [ exit return shift break continue ulimit kill cd pushd popd suspend umask sleep".split()
)
_MOVING = frozenset({"cd", "chdir", "pushd", "popd"})
# Whichever shell it is: what each of them does with these differs between versions
PROFILE = "a profile"
_STARTUP = ("BASH_ENV", "ENV", "ZDOTDIR")
_FUNCTION = "BASH_FUNC_"
_TOO_LONG = f"it is longer than {limits.MAX_COMMAND_BYTES:,} bytes"


class Command(Value):
    """One command: its words, and what is not known of it.

    `globs` are the places of words that stand for names of files. `unread` says why it is not known
    what the command runs; None if that is known. `moved`: an earlier command changed the directory.
    `profiled`: what its shell reads first that may change PATH.
    """

    argv: list[str]
    globs: frozenset[int] = frozenset()
    unread: str | None = None
    moved: bool = False
    profiled: str = ""


def read_first(env: Mapping[str, str]) -> list[str]:
    """Return the variables by which a shell reads a file before its string, and those that are functions of bash."""
    return [name for name, value in env.items() if value and (name in _STARTUP or name.startswith(_FUNCTION))]


def commands(
    words: list[str],
    shell: list[str] | None,
    path: str = os.defpath,
    *,
    whole: bool = True,
    variables: Sequence[str] = (),
) -> list[Command]:
    """Return the commands of a job: of `words` as they stand, or of the one string in it that
    `shell` runs. `path`: the PATH that finds the shell. Without `whole` the string is the beginning
    of one that is too long to be split. `variables`: those of `read_first`."""
    if shell is None:
        return [Command(words, unread=runners.runs_another(words))]
    text = words[0]
    if not shell_strings.is_shell(shell[0]) or not shell[1:] or not _STRING_FLAGS.issuperset(shell[1:]):
        return [Command([text], unread=f"the shell `{' '.join(shell)}` reads it")]
    found, why = _split(text)
    if not system_files.is_shell(shell[0], path):  # it may do more than a shell would
        foreign = f"`{shell[0]}` is no shell of the system"
        return [Command([*shell, text], unread=foreign), *(one.changed(unread=foreign) for one in found)]
    why = why if whole else _TOO_LONG
    profiled = _profiled(shell, found, variables)
    return [Command([text], unread=why)] if why else [one.changed(profiled=profiled) for one in found]


def _profiled(shell: list[str], found: list[Command], variables: Sequence[str]) -> str:
    if any("l" in flag for flag in shell[1:]) or os.path.basename(shell[0]).startswith("zsh"):  # .zshenv
        return PROFILE
    names = [one.argv[0] for one in found]
    functions = (name for name in variables if name.removeprefix(_FUNCTION).partition("%")[0] in names)
    read = next((name for name in variables if name in _STARTUP), None)
    function = next(functions, None)
    return f"the file of {read}" if read else f"the function {function}" if function else ""


def _split(text: str) -> tuple[list[Command], str | None]:
    """Return the commands of a shell string; if they are not known for certain none, and why."""
    if len(text) > limits.MAX_COMMAND_BYTES:
        return [], _TOO_LONG
    if text[:1] in ("-", "+"):
        return [], "the shell takes it for an option"
    script = shell_strings.read(text)
    why = script.unsure or next(filter(None, map(_why_other, script.commands)), None)
    if why or not script.commands:
        return [], why or "it is empty"
    found, moved = [], False
    for one in script.commands:
        found.append(Command(one.words, frozenset(one.globs), runners.runs_another(one.words, one.globs), moved))
        moved = moved or one.name in _MOVING
    return found, None


def _why_other(command: shell_strings.Command) -> str | None:
    """Return why a command may be another than its words say; None if it is not."""
    word, *rest = command.words
    name = os.path.basename(word)
    if 0 in command.globs:
        return f"`{word}` stands for a name of a file"
    if "=" in word:
        return f"`{word}` sets a variable"
    if name in CHANGING or word.startswith("%"):  # `%1` is `fg %1`
        return f"`{word}` changes what the words after it mean"
    if not word:
        return "a command has no name"
    if any(flag.startswith(_EVALUATING.get(word, ())) for flag in rest):
        return f"`{word}` evaluates the name of a variable"
    is_known = name not in _COUNTING and (name in lists.RUN_NOTHING or use_of(runners.plain(name)) is not None)
    if not is_known and any("[" in one and ("$" in one or "`" in one) for one in rest):
        return f"`{word}` evaluates an expression"
    return None
