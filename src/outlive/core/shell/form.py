"""The form of a shell string: its commands, what joins them, and which stand inside others."""

from __future__ import annotations

from collections.abc import Sequence

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
