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

from outlive.core.shell import form
from outlive.parts.permission.approvals.facts import decides
from outlive.parts.permission.policy import links, runners
from outlive.parts.permission.policy.harmless import use_of
from outlive.sandbox.guard import stamp_of
from outlive.system import fds

_BETWEEN_WORDS = re.compile(r"[\s;&|()<>{}\"'`$=]+")
_SHELL_WORD = re.compile(r"""(?:[^\s;&|()<>"'`\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", re.DOTALL)
_SOURCES = frozenset((".", "source", "eval"))  # a shell runs what they are given, or what their words print
_BRACES = re.compile(r"\{([^{}]*)\}")
_FIRST_WORD = re.compile(r"(?:^|[;&|(){}\n`!]|\b(?:then|do|else|exec|env|time|nohup)\s)\s*([^\s;&|()<>]+)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_READS_SCRIPTS = frozenset("script sed awk sql make cmake compiler".split())  # of harmless.py
_READS_TOO = frozenset("julia expect gdb lldb deno bun uv npx just ansible-playbook Rscript".split())
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
_MOST_PLACES = 64  # directories that the words name, from where a later word may name a file
_MOST_WORDS = 10_000
_MOST_LOOKED_FOR = 200  # words that may name a file which is not there, or which is found by part of its name
_MOST_MATCHES = 100  # of a pattern
_DEEPEST = 3  # interpreters that are scripts
_LINE_BYTES = 256


def stamps(
    command: Sequence[str], shell: Sequence[str], cwd: str, env: Mapping[str, str], called: Mapping[str, str]
) -> dict[str, list[int]]:
    """Return what a change of each file changes that the words of a command run, also those within a word; nothing
    for one that is not there. `shell`: what reads it, if anything does. `env`: the variables of the job without
    secret ones, of which the call sets `called`."""
    # No other values: they might be secret, and the paths are stored
    known = {name: value for name, value in {**env, "PWD": cwd}.items() if os.path.isabs(value)}
    every = [*filter(None, _words(command, known))]
    words = [*dict.fromkeys(every)][:_MOST_WORDS]
    firsts = [word for text in command for word in _FIRST_WORD.findall(text)] if shell else command[:1]
    firsts = [*dict.fromkeys(firsts)][:_MOST_LOOKED_FOR]
    reads = (
        any(map(_is_interpreter, words)) or not _SOURCES.isdisjoint(firsts) or not all(map(form.is_shell, shell[:1]))
    )
    of_variables = [part for name in called if decides(name) for part in called[name].split(os.pathsep)]
    looked = _Looked(cwd, env.get("PATH") or os.defpath, words)
    files = [file for file in looked.there([*shell[:1], *words]) if reads or os.access(file, os.X_OK)]
    files += looked.there(of_variables)
    of_programs = [file for word in words for file in _READ_BY.get(os.path.basename(word), ())]
    of_programs += [file for word in _behind_interpreters(every) for file in (word, *_found_as(word))]
    files += [*looked.there(of_programs), *looked.not_there(of_programs)]
    paths = [word for word in (*firsts, *(words if reads else ())) if _IS_PATH.fullmatch(word)]
    files += [*looked.not_there(paths[:_MOST_LOOKED_FOR]), *looked.not_before(firsts)]
    return {file: stamp_of(file) for file in (*files, *looked.interpreters(files))}


def _behind_interpreters(words: Sequence[str]) -> list[str]:
    """Return what may be the script of an interpreter: the first word behind it that is no option."""
    found: dict[str, None] = {}
    expected = False
    for word in words[: 4 * _MOST_WORDS]:
        if expected and not word.startswith("-"):
            found[word] = None
        expected = _is_interpreter(word) or (expected and word.startswith("-"))
    return [*found][:_MOST_LOOKED_FOR]


def _found_as(word: str) -> list[str]:
    """Return the files that a word without its ending, or a module of Python, is."""
    return [start + end for start in dict.fromkeys((word, word.replace(".", "/"))) for end in _FOUND_AS]


def changed(known: Mapping[str, list[int]]) -> str | None:
    """Return a sentence about a file that is not what it was; None if all are."""
    other = next((file for file, stamp in known.items() if stamp_of(file) != stamp), None)
    return None if other is None else f"{other}, which the command runs, has changed since it was asked about"


def _words(command: Sequence[str], known: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of a command, those within a word, and what a shell makes of them."""
    for text in command:
        yield text
        yield from _BETWEEN_WORDS.split(text)
        for quoted in _SHELL_WORD.findall(text):
            plain = re.sub(r"\\(.)|[\"']", r"\1", quoted, flags=re.DOTALL)
            plain = _VARIABLE.sub(lambda match: known.get(match[1] or match[2], match[0]), plain)
            attached = plain[2:] if plain[:1] == "-" and plain[:2] != "--" else ""  # `-fp.awk`
            for word in (plain, plain.rpartition("=")[2], attached):
                home = known.get("PWD", ".") if word.startswith("~+/") else known.get("HOME", "~")
                yield from _of_braces(f"{home}/{word.partition('/')[2]}" if word.startswith(("~/", "~+/")) else word)


def _of_braces(word: str) -> list[str]:
    """Return the words that a shell makes of one with braces, of more than a few none but itself."""
    words = [word]
    for _ in range(_DEEPEST):
        if not any(map(_BRACES.search, words)) or len(words) > _MOST_MATCHES:
            break
        words = [
            one[: found.start()] + part + one[found.end() :] if found else one
            for one in words
            for found in [_BRACES.search(one)]
            for part in (found[1].split(",") if found else [""])
        ]
    return words


class _Looked:
    """Which files of a job's directory, of those that its words name, and of PATH words lead to."""

    def __init__(self, cwd: str, path: str, words: Sequence[str]) -> None:
        self._cwd = cwd
        places = {cwd: None}
        for _ in range(_DEEPEST):  # `cd a; cd b`
            for place in [*places]:
                if len(places) <= _MOST_PLACES:
                    below = (os.path.normpath(os.path.join(place, word)) for word in words)
                    places |= dict.fromkeys(filter(os.path.isdir, itertools.islice(below, _MOST_LOOKED_FOR)))
        self._places = [*places][:_MOST_PLACES]
        self._programs = [os.path.join(cwd, place) for place in path.split(os.pathsep)]

    def _is_fixed(self, file: str) -> bool:
        return links.is_fixed(file, self._cwd) and links.is_fixed(os.path.realpath(file), self._cwd)

    def there(self, words: Iterable[str]) -> Iterator[str]:
        for word in words:
            places = [*self._places, *([] if os.sep in word else filter(self._may_change, self._programs))]
            for place in dict.fromkeys(places):
                file = os.path.join(place, word)
                matches = glob.glob(file)[:_MOST_MATCHES] if re.search(r"[*?[]", word) else [file]
                yield from (one for one in matches if os.path.isfile(one) and not self._is_fixed(one))

    def _may_change(self, place: str) -> bool:
        return not links.is_fixed(os.path.join(place, "-"), self._cwd)

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

    def _before(self, program: str) -> list[str]:
        for number, place in enumerate(self._programs):
            file = os.path.join(place, program)
            if os.path.isfile(file) and os.access(file, os.X_OK):
                return [*filter(self._may_change, self._programs[:number])]
        return [*filter(self._may_change, self._programs)]

    def interpreters(self, files: Iterable[str]) -> Iterator[str]:
        """Yield the interpreters of scripts, and theirs."""
        for file in files:
            for _ in range(_DEEPEST):
                file = _interpreter(file)
                if not file or self._is_fixed(file):
                    break
                yield file


def _interpreter(file: str) -> str:
    """Return what the first line of a script names, "" for another file."""
    try:
        with fds.Closing(fds.open_regular(file)) as fd:
            line = os.read(fd, _LINE_BYTES).partition(b"\n")[0]
    except OSError:
        return ""
    words = os.fsdecode(line[2:]).split()
    return words[0] if line.startswith(b"#!") and words else ""


def _is_interpreter(word: str) -> bool:
    name = os.path.basename(word)
    use = use_of(name) or use_of(runners.plain(name))
    return form.is_shell(name) or name in _READS_TOO or (use is not None and use.check in _READS_SCRIPTS)
