"""What a command runs that no approval holds: programs and scripts that are known only when it runs.

A person is shown it with the question. Where it is not certain that a word says which file is run, it is taken not to.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from outlive.core import shell_strings
from outlive.core.quoted import cut
from outlive.parts.approvals.facts import decides
from outlive.parts.policy import commands_in
from outlive.parts.policy.programs import lists, runners
from outlive.parts.policy.programs.harmless import use_of
from outlive.parts.policy.programs.use import Use

SOURCES = frozenset((".", "source", "eval"))  # a shell runs what they are given, or what their words print
VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
BRACES = re.compile(r"\{([^{}]*)\}")
DEEPEST = 3  # directories behind each other, interpreters that are scripts
_READS_SCRIPTS = frozenset("script sed awk sql make cmake compiler java".split())  # of harmless.py
_READS_TOO = frozenset(
    "julia expect gdb lldb deno bun uv npx just ansible-playbook Rscript R ghci guile swipl sbcl clisp racket elixir iex ocaml "
    "groovy scala jshell irb octave gnuplot bb clojure csi gosh janet fennel hy gforth maxima sage".split()
)
_READS_DIRECTORY = frozenset("npm pnpm yarn task cargo ninja rake nox tox".split())
# They run what lies in a directory that is named, or in the current one, under names that only they know
_FINDS = frozenset(
    "java kotlin scala go pip pip3 pipx uv poetry hatch pdm gradle gradlew mvn mvnw ant sbt cmake meson scons bazel invoke inv fab doit "
    "gulp grunt vite webpack vagrant docker docker-compose podman buildah terraform pulumi helm mix swift dart flutter zig".split()
)
_READS_INPUT = frozenset("xargs gxargs parallel env_parallel rush xe at batch crontab".split())
_READS_COMMANDS = frozenset(("ed", "red"))  # whatever they are given
_MOVING = frozenset("cd chdir pushd popd".split())
# They change variables, and run nothing
_SETTING = frozenset("export declare typeset readonly local set unset shopt setopt unsetopt let float integer".split())
_CODE = frozenset("-c -e -m -E -p -r --eval --print".split())  # what stands behind is the code, or names it
ASSIGNMENT = re.compile(r"(?<![\w$-])([A-Za-z_]\w*)\+?=(\S*)")
_INPUT = re.compile(r"(?<!<)<(?![<(&])\s*[^\s$`;|&<>]+")  # of a file that is named
_MOST_CHARS = 20_000
_MOST_SHOWN = 3
_SHOWN_CHARS = 60


def _use(name: str) -> Use | None:
    return use_of(name) or use_of(runners.plain(name))


def is_interpreter(word: str) -> bool:
    name = os.path.basename(word)
    use = _use(name)
    return shell_strings.is_shell(name) or name in _READS_TOO or (use is not None and use.check in _READS_SCRIPTS)


def sentences(
    command: Sequence[str],
    shell: Sequence[str],
    known: Mapping[str, str],
    reached: Iterable[str],
    of_places: Iterable[str],
) -> list[str]:
    """Return what is not held of what a command runs, a few. `known`: variables and the paths that they have.
    `reached`: limits of what was looked for, `of_places` of the directories in which."""
    looked = _Looked(known, of_places)
    if not shell:
        looked.words(list(command), ())
        if _reads_its_input(command):
            looked.found.append(f"`{command[0]}` runs what it reads from its input")
    elif shell_strings.is_shell(shell[0]):
        looked.text(command[0])
    else:
        looked.found.append(f"`{' '.join(shell)}` reads it")
    looked.end()
    found = [*dict.fromkeys((*looked.found, *reached))]
    more = [f"{len(found) - _MOST_SHOWN} more"] if len(found) > _MOST_SHOWN else []
    return [*(cut(one, 2 * _SHOWN_CHARS) for one in found[:_MOST_SHOWN]), *more]


class _Looked:
    """What was found in the commands that were looked at."""

    def __init__(self, known: Mapping[str, str], of_places: Iterable[str]) -> None:
        self.found: list[str] = []
        self._known = known
        self._of_places = of_places
        self._moved: list[str] = []  # changes of the directory that cannot be followed
        self._moves = 0
        self._is_placed = False  # something is run that depends on the directory
        self._may_move = False  # something is run that may change it: `make -C`
        self._depth = 0

    def end(self) -> None:
        if self._is_placed:
            self.found += self._moved
            self.found += self._of_places if self._moves or self._may_move else ()
            if self._moves > DEEPEST:
                self.found.append(f"the directory is changed more than {DEEPEST} times")

    def text(self, text: str) -> None:
        """Look at what a shell reads."""
        self._depth += 1
        script = shell_strings.Script([], f"it is longer than {_MOST_CHARS:,} characters")
        if len(text) <= _MOST_CHARS and self._depth <= DEEPEST:
            script = shell_strings.read(text)
        if not script.commands:
            if text.strip():
                self.found.append(script.unsure or "it cannot be read")
            return
        for name, value in ASSIGNMENT.findall(text):
            if name in ("PATH", "CDPATH") or (decides(name) and any(mark in value for mark in "$`")):
                self.found.append(f"it sets {name}")
        outer, self._known = self._known, self._certain(script.commands, text)
        self._joined(script.commands, text, piped=False)
        self._known = outer
        self._depth -= 1

    def _certain(self, commands: list[shell_strings.Command], text: str) -> dict[str, str]:
        """Return the variables whose values the text does not change."""
        every = [os.path.basename(one.name) for one in shell_strings.every(commands)]
        if not SOURCES.isdisjoint(every):
            return {}
        moved = {"PWD"} if not _MOVING.isdisjoint(every) else set()
        changed = {name for name in self._known if re.search(rf"(?<![\w${{]){re.escape(name)}\b", text)}
        return {name: value for name, value in self._known.items() if name not in moved | changed}

    def _joined(self, joined: list[shell_strings.Command], text: str, *, piped: bool) -> None:
        before = ""
        for command in joined:
            has_input = piped or before == "|"
            if not command.kind and command.words not in (["="], ["(("]):
                self._command(command, text, piped=has_input)
            self._joined(command.inside, text, piped=has_input)
            self._joined(command.substituted, text, piped=has_input)
            before = command.operator

    def _command(self, command: shell_strings.Command, text: str, *, piped: bool) -> None:
        unsure = command.globs | {place for place in command.expanded if not self._is_certain(command.words[place])}
        if 0 in unsure:
            self._add_word(command.name)
        elif command.name in _MOVING:
            self._move(command.words, unsure)
        else:
            self.words(command.words, unsure)
        if _reads_its_input(command.words):
            document = "<<" in text
            if (
                piped
                or (not document and not _INPUT.search(text))
                or (document and shell_strings.is_shell(command.name))
            ):
                self.found.append(f"`{command.name}` runs what it reads from its input")

    def words(self, words: list[str], unsure: Collection[int]) -> None:
        """Look at the words of one command. `unsure`: the places of those that are not what they say."""
        name = os.path.basename(words[0])
        for text in _read_by_shells(words, unsure):
            self.text(text)
        another = runners.runs_another(words) is not None or (name in commands_in.CHANGING and name not in _SETTING)
        is_relative = os.sep in words[0] and not os.path.isabs(words[0])
        self._may_move |= another or is_interpreter(name) or name in _READS_DIRECTORY
        self._is_placed |= is_relative or self._may_move
        if name in _READS_INPUT and lists.RUN_NOTHING.isdisjoint(words[1:]):
            self.found.append(f"`{name}` runs what it reads from its input")
        if is_interpreter(name):
            # Of a script, or of code that stands in a word, the arguments follow
            first = words[1] if words[1:] else "-"
            script = 1 if not first.startswith(("-", "+")) else 2 if first in _CODE else len(words)
            unsure = [place for place in unsure if place <= script]
        if name in _FINDS:
            self.found.append(f"`{name}` runs what it finds in directories")
        if is_interpreter(name) or another:
            for word in (*(words[place] for place in sorted(unsure)), *_given(words)):
                self._add_word(word)

    def _move(self, words: list[str], unsure: Collection[int]) -> None:
        self._moves += 1
        is_followed = len(words) == 2 and not unsure and not words[1].startswith(("-", "+"))
        if not is_followed:
            self._moved.append(f"`{' '.join(words)}` changes the directory")

    def _is_certain(self, word: str) -> bool:
        """Return whether it is certain what a shell makes of a word that it expands."""
        plain = VARIABLE.sub(lambda match: self._known.get(match[1] or match[2], match[0]), word).replace("{}", "")
        for tilde, name in (("~/", "HOME"), ("~+/", "PWD")):
            plain = plain.removeprefix(tilde) if name in self._known else plain
        lists = BRACES.findall(plain)
        is_list = plain.count("{") == len(lists) <= 1 and all("," in one and ".." not in one for one in lists)
        return is_list and not plain.startswith("~") and not any(mark in plain for mark in ("$", "`", "(…)"))

    def _add_word(self, word: str) -> None:
        self.found.append(f"`{cut(word, _SHOWN_CHARS)}` is known only when it runs")


def _read_by_shells(words: list[str], unsure: Collection[int]) -> Iterator[str]:
    """Yield the words that shells among them read: `env sh -c STRING`, `eval STRING`."""
    for place, flag in enumerate(words[:-1], 1):
        if (
            re.fullmatch(r"-\w*c", flag)
            and any(map(shell_strings.is_shell, words[: place - 1]))
            and place not in unsure
        ):
            yield words[place]
    if words[0] == "eval" and not unsure:
        yield " ".join(words[1:])


def _reads_its_input(words: Sequence[str]) -> bool:
    """Return whether a program runs what it reads: an editor of lines, or an interpreter that is given neither a script nor
    code."""
    name, given = os.path.basename(words[0]), words[1:]
    use = _use(name)
    check = use.check if use is not None else ""
    if name in _READS_COMMANDS:
        return True
    if check in ("make", "input"):
        return any(map(_is_input, (part for word in given for part in (word, word.partition("=")[2], word[2:]))))
    if use is not None and check == "sql":
        return len([*_operands(given, use)]) < 2  # the database, and what it is asked
    is_shell = shell_strings.is_shell(name)
    if not is_interpreter(name) or not (is_shell or check == "script" or "python" in name):
        return False
    for word in given:
        if word == "-" or not word.startswith(("-", "+")):
            return _is_input(word)
        if is_shell and re.fullmatch(r"-\w*[cs]\w*", word):
            return "c" not in word
        if not is_shell and word.lstrip("-")[-1:] in ("c", "e", "m", "V"):
            return False
    return True


def _operands(words: Sequence[str], use: Use) -> Iterator[str]:
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            yield word
        elif use.takes_next(word):
            next(left, "")


def _is_input(path: str) -> bool:
    """Return whether a script is not in a file, but is what the program reads."""
    return path == "-" or os.path.normpath(path).startswith(("/dev/", "//dev/", "/proc/", "//proc/"))


def _given(words: Sequence[str]) -> Iterator[str]:
    """Yield the words in which a program such as find puts names of files, where these are run."""
    for before, word in itertools.pairwise(words):
        if "{}" in word and (before.startswith(("-exec", "-ok", "-I")) or is_interpreter(before)):
            yield word
