"""`outlive completion SHELL`: print the script, or, for the script, what may stand in a place."""

from __future__ import annotations

import os
import shlex
from typing import Any

from outlive.cli import stdio
from outlive.errors import invalid
from outlive.parts.completion import candidates
from outlive.parts.completion.install import install
from outlive.parts.completion.scripts import SCRIPTS
from outlive.verbs.spec import GlobalOptions

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+./=:,@%")
_BREAKS = "=:"  # where bash splits a word that is being completed (COMP_WORDBREAKS)


def main(values: dict[str, Any], _options: GlobalOptions) -> int:
    shell, words = values["shell"], values["words"]
    if values["install"]:
        stdio.text(install(shell, os.environ))
        return 0
    if shell is None:
        raise invalid("shell", "name the shell: bash, zsh or fish", usage=True)
    if not words:
        stdio.text(SCRIPTS[shell])
        return 0
    if shell == "bash":
        words = _joined(words)
    offered = candidates.of(words, dict(os.environ), described=shell != "bash")
    if shell == "bash":
        offered = [(_for_bash(value, words[-1]), "") for value, _ in offered]
    lines = [f"{value}\t{about}" if about else value for value, about in offered]
    stdio.text("".join(f"{line}\n" for line in lines))
    return 0


def _joined(words: list[str]) -> list[str]:
    """Return the words as they were typed: bash makes three of `--root=/jobs`."""
    typed: list[str] = []
    joins = False
    for word in words:
        breaks = bool(word) and not word.strip(_BREAKS)
        if typed and (joins or breaks):
            typed[-1] += word
        else:
            typed.append(word)
        joins = breaks
    return [_unquoted(word) for word in typed]


def _unquoted(word: str) -> str:
    """Return a word of a command line without its quotes, of which the last may be open."""
    for end in ("", "'", '"'):
        try:
            return "".join(shlex.split(word + end))
        except ValueError:
            continue
    return word


def _for_bash(value: str, word: str) -> str:
    """Return what replaces the part of the word behind its last break, quoted for the shell."""
    behind = 1 + max(word.rfind(char) for char in _BREAKS)
    if not value.startswith(word[:behind]):
        behind = 0
    return "".join(char if char in _PLAIN or ord(char) > 127 else f"\\{char}" for char in value[behind:])
