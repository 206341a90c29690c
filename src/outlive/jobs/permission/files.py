"""The files that a command runs, as far as its words name them: what a person approved is not another file's command.

A program and a script count, data does not: a log that grows would keep every question from being answered in time.
Files of the system, which no job can change, are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from outlive.policy import links, runners
from outlive.policy.harmless import use_of
from outlive.sandbox.guard import stamp_of

_BETWEEN_WORDS = re.compile(r"[\s;&|()<>{}\"'`$=]+")
_READS_SCRIPTS = "script"  # of harmless.py
_MOST_PLACES = 16  # directories that the words name, from where a later word may name a file
_MOST_WORDS = 10_000


def stamps(command: Sequence[str], shell: Sequence[str], cwd: str, path: str) -> dict[str, list[int]]:
    """Return what a change of each file changes that the words of a command run, also those within a word. `shell`: what
    reads it, if anything does. `path`: the PATH that finds programs."""
    within = [one for word in command for one in _BETWEEN_WORDS.split(word)]
    words = [*dict.fromkeys(filter(None, [*command, *within]))][:_MOST_WORDS]
    reads = any(map(_is_interpreter, words)) or any(os.path.basename(one) not in runners.SHELLS for one in shell[:1])
    return {
        file: stamp_of(file) for file in _files([*shell[:1], *words], cwd, path) if reads or os.access(file, os.X_OK)
    }


def changed(known: Mapping[str, list[int]]) -> str | None:
    """Return a sentence about a file that is not what it was; None if all are."""
    other = next((file for file, stamp in known.items() if stamp_of(file) != stamp), None)
    return None if other is None else f"{other}, which the command runs, has changed since it was asked about"


def _files(words: list[str], cwd: str, path: str) -> Iterable[str]:
    below = [os.path.join(cwd, word) for word in words if os.path.isdir(os.path.join(cwd, word))]
    places = [cwd, *below[:_MOST_PLACES]]
    programs = [os.path.join(cwd, place) for place in path.split(os.pathsep)]
    programs = [place for place in programs if not links.is_fixed(os.path.join(place, "-"), cwd)]
    for word in words:
        for place in dict.fromkeys([*places, *([] if os.sep in word else programs)]):
            file = os.path.join(place, word)
            if os.path.isfile(file) and not (links.is_fixed(file, cwd) and links.is_fixed(os.path.realpath(file), cwd)):
                yield file


def _is_interpreter(word: str) -> bool:
    name = os.path.basename(word)
    use = use_of(name) or use_of(runners.plain(name))
    return name in runners.SHELLS or (use is not None and use.check == _READS_SCRIPTS)
