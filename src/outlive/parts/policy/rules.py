"""The rules of `[policy]`: read from tables, checked, and matched with commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from outlive.core.nearest import meant
from outlive.core.real_path import followed, real_path
from outlive.core.record import Value
from outlive.core.records import GIT, SANDBOXES
from outlive.errors import misconfigured
from outlive.parts.policy import commands_in
from outlive.parts.policy.programs import runners
from outlive.parts.policy.system_files import is_fixed, is_program
from outlive.system.paths import is_in

ALLOW, ASK, DENY = DECISIONS = ("allow", "ask", "deny")  # the later, the stricter
_CONDITIONS = ("prefix", "program", "directory", "sandbox", "git", "unknown")
_KEYS = (*_CONDITIONS, "env", "decision", "reason", "match", "not_match")
_EXAMPLE_SHELL = ["sh", "-c"]
_SHOWN_CHARS = 60


class Surroundings(Value):
    """Where a command is to run: what of a job rules look at besides its words.

    `cwd` is without links; on another machine, whose files are not seen from here (`is_seen`), it is as given, and may begin
    with `~`. `path`: the PATH that finds its programs. `sandbox` and `git`: the mode of its sandbox, and what
    it may do to repositories there; without a sandbox "write". `variables`: the names of those that
    the call sets; `read_first`: of those that a shell obeys before its string (commands_in.read_first).
    """

    cwd: str
    path: str
    sandbox: str = "off"
    git: str = "write"
    variables: Sequence[str] = ()
    read_first: Sequence[str] = ()
    is_seen: bool = True


class Folder(Value):
    """A directory of a rule: as it is written, where that leads to, and the links on the way."""

    written: str
    real: str
    links: list[str]

    @classmethod
    def at(cls, path: str) -> Folder:
        written = os.path.abspath(os.path.expanduser(path))
        return cls(written, real_path(written), followed(written)[1])

    def has(self, around: Surroundings, *, is_allowed: bool) -> bool:
        """Return whether the job runs in it or below. `is_allowed`: by a rule that allows, which takes nothing else for it."""
        names = [self.real] if around.is_seen else [self.written] if is_allowed else [self.written, self.real]
        return is_in(around.cwd, names)


class Rule:
    """One rule. Every condition that it has must hold for a command.

    `prefix`: how argv begins, each element a word or alternatives. `program`: patterns of the path of
    its program. `directory`: the job runs there or below. `sandbox`: the modes for which it holds.
    `git`: what the sandbox lets the job do to repositories. `unknown`: it is about commands of which it is not known what they run. `env`: patterns of the
    variables that a call may set without leaving an `allow` rule.
    """

    def __init__(self, number: int, table: Mapping[str, Any]) -> None:
        self.decision: str = table["decision"]
        self.reason: str | None = table.get("reason")
        self.prefix = [_several(one) for one in table.get("prefix", ())]
        self.program = [os.path.expanduser(one) for one in _several(table.get("program", ()))]
        self.directory = [Folder.at(one) for one in _several(table.get("directory", ()))]
        self.sandbox = _several(table.get("sandbox", ()))
        self.git = _several(table.get("git", ()))
        self.unknown: bool = table.get("unknown", False)
        self.env = _several(table.get("env", ()))
        programs = [[os.path.basename(one) for one in self.program]] if self.program else []
        self.barred = [] if self.decision == ALLOW else self.prefix or programs  # words that a barred command has
        self.name = f"rule {number}" + (f" ({self._shown()})" if self._shown() else "")

    def _shown(self) -> str:
        words = ["|".join(one) for one in self.prefix] or self.program or [one.real for one in self.directory]
        words = words or self.sandbox or self.git
        return " ".join(words)[:_SHOWN_CHARS] or "unknown commands"

    def matches(self, command: commands_in.Command, around: Surroundings, way: Way | None) -> bool:
        """Return whether this rule decides the command. A rule that allows takes no command that
        may be another one; a rule that asks or denies does. `way`: to its program (`program_way`), looked at once for all
        rules: a job that changes a link between two looks would be allowed what neither of them saw."""
        return self._holds(command, around, way) and self._changeable(around, way) is None

    def link_before(self, command: commands_in.Command, around: Surroundings, way: Way | None) -> str | None:
        """Return the link on the way to the program or directory for which this rule does not allow the command, though all
        else holds: a job can change it. None if there is none."""
        return self._changeable(around, way) if self._holds(command, around, way) else None

    def _changeable(self, around: Surroundings, way: Way | None) -> str | None:
        if self.decision != ALLOW:
            return None
        on_way = [*way.links] if self.program and way is not None else []
        if around.is_seen:
            on_way += [link for one in self.directory if one.has(around, is_allowed=True) for link in one.links]
        return next((link for link in on_way if not is_fixed(link, around.cwd)), None)

    def _holds(self, command: commands_in.Command, around: Surroundings, way: Way | None) -> bool:
        if self.decision == ALLOW and not self._may_allow(command, around):
            return False
        if self.unknown and command.unread is None:
            return False
        if self.directory and not self._is_inside(command, around):
            return False
        if self.sandbox and around.sandbox not in self.sandbox:
            return False
        if self.git and around.git not in self.git:
            return False
        return self._has_prefix(command) and (
            self._has_program(command, way) if around.is_seen else self._may_be_program(command)
        )

    def is_example(self, text: str | list[str]) -> bool:
        """Return whether `prefix` and `program` match an example, wherever it runs."""
        words = [text] if isinstance(text, str) else text
        shell = _EXAMPLE_SHELL if isinstance(text, str) else None
        around = Surroundings("/", path=os.environ.get("PATH", os.defpath))
        return any(
            (self.decision != ALLOW or self.unknown or one.unread is None)
            and (not self.unknown or one.unread is not None)
            and self._has_prefix(one)
            and self._has_program(one, program_way(one, around))
            for one in commands_in.commands(words, shell)
        )

    def _may_allow(self, command: commands_in.Command, around: Surroundings) -> bool:
        if command.unread is not None and not self.unknown:
            return False
        return all(is_safe(name, self.env) for name in around.variables)

    def _is_inside(self, command: commands_in.Command, around: Surroundings) -> bool:
        if command.moved or around.cwd.startswith("~"):  # it may run anywhere
            return self.decision != ALLOW
        return any(one.has(around, is_allowed=self.decision == ALLOW) for one in self.directory)

    def _has_prefix(self, command: commands_in.Command) -> bool:
        if not self.prefix:
            return True
        several = [command] if self.decision == ALLOW else [command, *_with_subcommand(command)]
        return any(map(self._is_prefix, several))

    def _is_prefix(self, command: commands_in.Command) -> bool:
        """Return whether the command begins with the prefix: a rule that allows takes its words one behind the other, for
        the others options may stand before each but the first (`git -C DIR remote -v add`)."""
        starts = [0]
        for wanted in self.prefix:
            if not command.globs.isdisjoint(starts):  # files may have these names
                return self.decision != ALLOW
            found = {at + 1 for at in starts if self._is_word(command.argv, at, wanted)}
            if not found:
                return False
            starts = [*found] if self.decision == ALLOW else runners.places(command.argv, found)
        return True

    def _is_word(self, argv: Sequence[str], at: int, wanted: Sequence[str]) -> bool:
        if at >= len(argv):
            return False
        # `/tmp/git` is another program than the `git` that is allowed, and may be the one denied
        is_path = not at and self.decision != ALLOW and os.path.basename(argv[at]) in wanted
        return argv[at] in wanted or is_path

    def _has_program(self, command: commands_in.Command, way: Way | None) -> bool:
        if not self.program:
            return True
        if command.unread is not None and len(command.argv) == 1:
            return False
        name = command.argv[0]
        if is_looked_up_later(command):
            if self.decision == ALLOW:
                return False
            if any(fnmatchcase(name, os.path.basename(pattern)) for pattern in self.program):
                return True
        if way is None:  # it may be any program
            return self.decision != ALLOW
        return any(fnmatchcase(path, pattern) for path in way.paths for pattern in self.program)

    def _may_be_program(self, command: commands_in.Command) -> bool:
        """Return whether a rule takes a program whose file is not seen. A rule that allows takes a path alone, as it is written."""
        if not self.program:
            return True
        name = command.argv[0]
        if self.decision == ALLOW:
            # A link before `..` leads elsewhere than the words say
            is_plain = is_named(command) and os.pardir not in name.split(os.sep)
            return is_plain and any(fnmatchcase(name, pattern) for pattern in self.program)
        return any(fnmatchcase(os.path.basename(name), os.path.basename(pattern)) for pattern in self.program)


def _with_subcommand(command: commands_in.Command) -> list[commands_in.Command]:
    """Return `git push` for `git-push`: a program of this name is that subcommand, as those of /usr/lib/git-core are."""
    program, _, verb = os.path.basename(command.argv[0]).partition("-") if 0 not in command.globs else ("", "", "")
    globs = frozenset(at + 1 for at in command.globs)
    return [command.changed(argv=[program, verb, *command.argv[1:]], globs=globs)] if program and verb else []


def is_named(command: commands_in.Command) -> bool:
    """Return whether a program is named by its whole path."""
    return os.path.isabs(command.argv[0])


def is_looked_up_later(command: commands_in.Command) -> bool:
    """Return whether a program is found along a PATH that is not known yet: its shell reads something before."""
    return bool(command.profiled) and os.sep not in command.argv[0]


# They change how a program talks, not which one runs
SAFE_VARIABLES = ("TERM", "LANG", "LC_*", "TZ", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI",
    "COLUMNS", "LINES")  # fmt: skip


def is_safe(name: str, also: Sequence[str] = ()) -> bool:
    """Return whether it stays known what runs if a call sets this variable. `also`: patterns of a rule."""
    return any(fnmatchcase(name, known) for known in (*SAFE_VARIABLES, *also))


class Way(Value):
    """The way to a program: its paths, as given, without links in its directory and without any, and the links on it."""

    paths: list[str]
    links: list[str]


def program_way(command: commands_in.Command, around: Surroundings) -> Way | None:
    """Return the way to a command's program, as given or as PATH finds it: without a path if there is
    none, None if an earlier command decides which program it is, or the process that starts it."""
    name = command.argv[0]
    for directory in [""] if os.sep in name else around.path.split(os.pathsep):
        path = os.path.join(directory, name)
        if command.moved and not os.path.isabs(path):
            return None
        program = os.path.join(around.cwd, path)
        way = _way(program)
        if any(is_in(link, ["/proc"]) for link in way.links):  # it leads elsewhere for another process
            return None
        if os.sep in name or is_program(program):
            return way
    return Way([], [])


def _way(program: str) -> Way:
    """Follow each link once: a job may change it between two looks, so that none would see all of it."""
    directory, name = os.path.split(program)
    folder, before = followed(directory)
    if folder is None:
        return Way([], before)
    there = os.path.join(folder, name)
    real, behind = followed(there)
    # `..` behind a link leads elsewhere than the words say
    named = [] if os.pardir in program.split(os.sep) else [os.path.normpath(program)]
    return Way([*named, there, *([] if real is None else [real])], before + behind)


def _several(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


# --- reading --------------------------------------------------------------------------------------


def checked(table: Any, _name: str, number: int) -> Rule:
    """Return the rule of an entry of `[[policy.rule]]`, the first of which has the number 1. Errors: config_error."""
    _check(table)
    rule = Rule(number, table)
    _check_examples(rule, table)
    return rule


def _check(table: Any) -> None:
    if not isinstance(table, dict):
        raise misconfigured("a rule is a table", "Write [[policy.rule]], and its keys below.")
    for key, value in table.items():
        if key not in _KEYS:
            raise misconfigured(f"unknown key {key}", meant(key, [*_KEYS]))
        kind, is_of_kind = _KINDS[key]
        if not is_of_kind(value):
            raise misconfigured(f"{key} must be {kind}, not {value!r}")
    if table.get("decision") not in DECISIONS:
        raise misconfigured("decision is allow, ask or deny", 'For example: decision = "ask".')
    if not any(table.get(key) for key in _CONDITIONS):
        raise misconfigured(
            "it names no command, so it would decide all of them",
            "Give it a prefix, program, directory, sandbox or git, or unknown = true; for all commands there is default.",
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_texts(value: object) -> bool:
    return _is_text(value) or (isinstance(value, list) and bool(value) and all(map(_is_text, value)))


_TEXTS = ("a string or an array of strings", _is_texts)
_EXAMPLES = (
    "an array of commands, each a string or an array of words",
    lambda value: isinstance(value, list) and all(map(_is_texts, value)),
)
_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "prefix": (
        "an array of words; an array in a place holds alternatives",
        lambda value: isinstance(value, list) and bool(value) and all(map(_is_texts, value)),
    ),
    "program": _TEXTS,
    "directory": (
        "a path or an array of paths, each absolute or beginning with ~/",
        lambda value: _is_texts(value) and all(one.startswith(("/", "~/")) or one == "~" for one in _several(value)),
    ),
    "sandbox": (
        f"of {', '.join(SANDBOXES)}",
        lambda value: _is_texts(value) and set(_several(value)) <= set(SANDBOXES),
    ),
    "git": (
        f"of {', '.join(GIT)}",
        lambda value: _is_texts(value) and set(_several(value)) <= set(GIT),
    ),
    "unknown": ("true or false", lambda value: isinstance(value, bool)),
    "env": _TEXTS,
    "decision": ("allow, ask or deny", _is_text),
    "reason": ("a string", _is_text),
    "match": _EXAMPLES,
    "not_match": _EXAMPLES,
}


def _check_examples(rule: Rule, table: Mapping[str, Any]) -> None:
    for key, wanted in (("match", True), ("not_match", False)):
        for example in table.get(key, ()):
            if rule.is_example(example) is not wanted:
                does = "does not match" if wanted else "matches"
                raise misconfigured(f"it {does} its example {example!r} of {key}", _why(example))


def _why(example: str | list[str]) -> str | None:
    """Return how an example is read, where that may be the reason that it does not match."""
    if isinstance(example, list):
        return None
    unread = next((one.unread for one in commands_in.commands([example], _EXAMPLE_SHELL) if one.unread), None)
    return f"It is an unknown command: {unread}." if unread else None
