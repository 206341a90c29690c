"""The files that a command runs, as far as its words name them: what a person approved is not another file's command.

A program and a script count, data does not: a log that grows would keep every question from being answered in time.
Files of the system, which no job can change, are left out. What is not there counts too, where a shell or an
interpreter would take it once it is.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from outlive.core import shell_strings
from outlive.core.real_path import real_path
from outlive.core.record import Value
from outlive.parts.approvals import question_record, unheld
from outlive.parts.approvals.facts import decides
from outlive.parts.approvals.unheld import BRACES, DEEPEST, SOURCES, VARIABLE, is_interpreter
from outlive.parts.policy.programs import runners
from outlive.parts.policy.system_files import is_fixed, is_program
from outlive.system import fds

_BETWEEN_WORDS = re.compile(r"[\s;&|()<>{}\"'`$=]+")
_SHELL_WORD = re.compile(r"""(?:[^\s;&|()<>"'`\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", re.DOTALL)
_FIRST_WORD = re.compile(r"(?:^|[;&|(){}\n`!]|\b(?:then|do|else|exec|env|time|nohup)\s)\s*([^\s;&|()<>]+)")
_FOUND_AS = (".py", "/__main__.py", "/__init__.py", ".js", ".mjs", ".cjs", "/index.js")  # `-m word`, `node word`
_READ_BY = {  # what a program runs from the directory that it is started in
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx"), ("package.json",)),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "cargo": ("Cargo.toml", "build.rs"),
    "ninja": ("build.ninja",),
    "rake": ("Rakefile",),
    "nox": ("noxfile.py",),
    "tox": ("tox.ini",),
}
_IS_PATH = re.compile(r"(?!-)(?!.*://)(?:.*/.*|[\w.-]+\.[A-Za-z]\w{0,4})", re.DOTALL)
_HELD = frozenset(("PATH", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"))  # names that do not leave this open
_IS_NAME = re.compile(r"\w[\w.+-]*")  # of a program that PATH finds
_MOST_PLACES = 64  # directories that the words name, from where a later word may name a file
_MOST_WORDS = 10_000
_MOST_FOLDERS = 1_000  # words that may name one of these
_MOST_PATH = 4096  # bytes, PATH_MAX
_MOST_LOOKED_FOR = 200  # words that may name a file which is not there, or which is found by part of its name
_MOST_MATCHES = 100  # of a pattern
_LINE_BYTES = 256


class Noted(Value):
    """The files that a command runs: what a change of each changes, nothing for one that is not there. `unheld`: what
    else it runs, as sentences say."""

    stamps: dict[str, list[int]]
    unheld: list[str]


class _Reached:
    """Which limits were reached, of directories apart: few commands depend on these."""

    def __init__(self) -> None:
        self.any: list[str] = []
        self.of_places: list[str] = []

    def first(
        self, most: int, words: Iterable[str], what: str, *, distinct: bool = True, of_places: bool = False
    ) -> list[str]:
        """Return the first words, or the first different ones."""
        taken = [*itertools.islice(dict.fromkeys(words) if distinct else words, most + 1)]
        if len(taken) > most:
            (self.of_places if of_places else self.any).append(f"it has more than {most:,} {what}")
        return taken[:most]


def noted(
    command: Sequence[str], shell: Sequence[str], cwd: str, env: Mapping[str, str], called: Mapping[str, str]
) -> Noted:
    """Return the files that the words of a command run, also those within a word. `shell`: what reads it, if anything
    does. `env`: the variables of the job without secret ones, of which the call sets `called`."""
    # No other values: they might be secret, and the paths are stored
    known = {name: value for name, value in {**env, "PWD": cwd}.items() if os.path.isabs(value)}
    sets = [*called.items(), *(one for text in command for one in unheld.ASSIGNMENT.findall(text))]
    deciding = [(name, value) for name, value in sets if decides(name)]
    reached = _Reached()
    reached.of_places += ["CDPATH says where `cd` leads"] if env.get("CDPATH") else []
    reached.any += [
        f"{name} names a directory, in which it may find what it runs"
        for name, value in deciding
        if name not in _HELD and any(os.path.isdir(os.path.join(cwd, one)) for one in _parts(value))
    ]
    of_variables = _of_variables([value for _, value in deciding], known)
    stamps = _stamps(command, shell, cwd, env.get("PATH") or os.defpath, known, of_variables, reached)
    return Noted(stamps, unheld.sentences(command, shell, known, reached.any, reached.of_places))


def _stamps(
    command: Sequence[str],
    shell: Sequence[str],
    cwd: str,
    path: str,
    known: Mapping[str, str],
    of_variables: Sequence[str],
    reached: _Reached,
) -> dict[str, list[int]]:
    every = [*filter(None, _words(command, known))]
    words = reached.first(_MOST_WORDS, every, "words")
    firsts = [word for text in command for word in _FIRST_WORD.findall(text)] if shell else command[:1]
    each = _each(command) if shell else [[*command]]
    firsts = reached.first(_MOST_LOOKED_FOR, [*firsts, *(words[0] for words in each)], "programs")
    reads = (
        any(map(is_interpreter, words))
        or not SOURCES.isdisjoint(firsts)
        or not all(map(shell_strings.is_shell, shell[:1]))
    )
    looked = _Looked(cwd, path, words, reached)
    programs = [word for word in (*words, *of_variables) if looked.is_program(word)]
    starts = any(map(_starts_another, (*each, *([word] for word in words))))
    programs += words if starts else []  # any of them may be what is started
    programs = reached.first(_MOST_LOOKED_FOR, (word for word in programs if _IS_NAME.fullmatch(word)), "programs")
    files = [file for file in looked.there([*shell[:1], *words]) if reads or os.access(file, os.X_OK)]
    files += looked.there(of_variables)
    of_programs = [file for word in words for file in _READ_BY.get(os.path.basename(word), ())]
    behind = _behind_interpreters(reached.first(4 * _MOST_WORDS, every, "words", distinct=False))
    behind = reached.first(_MOST_LOOKED_FOR, behind, "words behind interpreters")
    of_programs += [file for word in behind for file in (word, *_found_as(word))]
    files += [*looked.there(of_programs), *looked.not_there(of_programs)]
    paths = [word for word in (*firsts, *(words if reads or starts else ()), *of_variables) if _IS_PATH.fullmatch(word)]
    paths = reached.first(_MOST_LOOKED_FOR, paths, "words that look like paths")
    files += [*looked.not_there(paths), *looked.not_before((*firsts, *programs))]
    return {file: question_record.mark(file) for file in (*files, *looked.interpreters(files))}


def _each(command: Sequence[str]) -> list[list[str]]:
    """Return the words of each command in what a shell reads, as far as it can be read."""
    return [one.words for text in command for one in shell_strings.every(shell_strings.commands(text)) if one.words]


def _starts_another(words: Sequence[str]) -> bool:
    return not is_interpreter(words[0]) and runners.runs_another(words) is not None


def _of_variables(values: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """Return what the values of variables may name: a value may be a path, a list of them, or a command."""
    return [
        *dict.fromkeys(part for value in values for part in (*_parts(value), *filter(None, _words([value], known))))
    ]


def _parts(value: str) -> list[str]:
    return [*filter(None, value.split(os.pathsep))]


def _behind_interpreters(words: Sequence[str]) -> list[str]:
    """Return what may be the script of an interpreter: the first word behind it that is no option."""
    found: dict[str, None] = {}
    expected = False
    for word in words:
        if expected and not word.startswith("-"):
            found[word] = None
        expected = is_interpreter(word) or (expected and word.startswith("-"))
    return [*found]


def _found_as(word: str) -> list[str]:
    """Return the files that a word without its ending, or a module of Python, is."""
    return [start + end for start in dict.fromkeys((word, word.replace(".", "/"))) for end in _FOUND_AS]


def _words(command: Sequence[str], known: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of a command, those within a word, and what a shell makes of them."""
    for text in command:
        yield text
        yield from _BETWEEN_WORDS.split(text)
        for quoted in _SHELL_WORD.findall(text):
            plain = re.sub(r"\\(.)|[\"']", r"\1", quoted, flags=re.DOTALL)
            plain = VARIABLE.sub(lambda match: known.get(match[1] or match[2], match[0]), plain)
            attached = plain[2:] if plain[:1] == "-" and plain[:2] != "--" else ""  # `-fp.awk`
            for word in (plain, plain.rpartition("=")[2], attached):
                home = known.get("PWD", ".") if word.startswith("~+/") else known.get("HOME", "~")
                yield from _of_braces(f"{home}/{word.partition('/')[2]}" if word.startswith(("~/", "~+/")) else word)


def _of_braces(word: str) -> list[str]:
    """Return the words that a shell makes of one with braces, of more than a few none but itself."""
    words = [word]
    for _ in range(DEEPEST):
        if not any(map(BRACES.search, words)) or len(words) > _MOST_MATCHES:
            break
        words = [
            one[: found.start()] + part + one[found.end() :] if found else one
            for one in words
            for found in [BRACES.search(one)]
            for part in (found[1].split(",") if found else [""])
        ]
    return words


class _Looked:
    """Which files of a job's directory, of those that its words name, and of PATH words lead to."""

    def __init__(self, cwd: str, path: str, words: Sequence[str], reached: _Reached) -> None:
        self._cwd = cwd
        self._reached = reached
        places = {cwd: None}
        names = (word for word in words if len(word) < _MOST_PATH and "\n" not in word)
        folders = reached.first(_MOST_FOLDERS, names, "words that may be directories", of_places=True)
        for _ in range(DEEPEST):  # `cd a; cd b`
            for place in [*places]:
                if len(places) <= _MOST_PLACES:
                    below = (os.path.normpath(os.path.join(place, word)) for word in folders)
                    places |= dict.fromkeys(filter(os.path.isdir, below))
        self._places = reached.first(_MOST_PLACES, places, "directories among its words", of_places=True)
        self._programs = [os.path.join(cwd, place) for place in path.split(os.pathsep)]

    def _is_fixed(self, file: str) -> bool:
        return is_fixed(file, self._cwd) and is_fixed(real_path(file), self._cwd)

    def there(self, words: Iterable[str]) -> Iterator[str]:
        for word in words:
            places = [*self._places, *([] if os.sep in word else filter(self._may_change, self._programs))]
            for place in dict.fromkeys(places):
                file = os.path.join(place, word)
                is_pattern = re.search(r"[*?[]", word) is not None
                matches = (
                    self._reached.first(_MOST_MATCHES, glob.iglob(file), f"files named `{word}`")
                    if is_pattern
                    else [file]
                )
                yield from (one for one in matches if os.path.isfile(one) and not self._is_fixed(one))

    def _may_change(self, place: str) -> bool:
        return not is_fixed(os.path.join(place, "-"), self._cwd)

    def not_there(self, words: Iterable[str]) -> Iterator[str]:
        """Yield the paths at which a file would be taken that is not there."""
        return self._missing((place, word) for word in dict.fromkeys(words) for place in self._places)

    def not_before(self, programs: Iterable[str]) -> Iterator[str]:
        """Yield the paths at which a program would be taken that is found later in PATH."""
        return self._missing(
            (place, program) for program in programs if os.sep not in program for place in self._before(program)
        )

    def _missing(self, places: Iterable[tuple[str, str]]) -> Iterator[str]:
        for file in itertools.starmap(os.path.join, places):
            if not os.path.lexists(file) and not self._is_fixed(file):
                yield file

    def is_program(self, word: str) -> bool:
        found = (is_program(os.path.join(place, word)) for place in self._programs)
        return _IS_NAME.fullmatch(word) is not None and any(found)

    def _before(self, program: str) -> list[str]:
        for number, place in enumerate(self._programs):
            if is_program(os.path.join(place, program)):
                return [*filter(self._may_change, self._programs[:number])]
        return [*filter(self._may_change, self._programs)]

    def interpreters(self, files: Iterable[str]) -> Iterator[str]:
        """Yield what the first lines of scripts name, with their options and what `env` finds, and of what these name."""
        for _ in range(DEEPEST):
            lines = [words for words in map(_first_line, dict.fromkeys(files)) if words]
            behind = [word for words in lines for word in words[1:]]
            files = [words[0] for words in lines if not self._is_fixed(words[0])]
            files += self.there(behind)
            yield from files
            yield from self.not_before(word for word in behind if _IS_NAME.fullmatch(word))
        if any(map(_first_line, files)):
            self._reached.any.append(f"its interpreters are more than {DEEPEST} scripts")


def _first_line(file: str) -> list[str]:
    """Return the words of the first line of a script, none of another file."""
    try:
        with fds.Closing(fds.open_regular(file)) as fd:
            line = os.read(fd, _LINE_BYTES).partition(b"\n")[0]
    except OSError:
        return []
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
