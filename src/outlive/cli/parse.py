"""Parse argv into the verb, its arguments by name, and the global options, from `Verb.args` alone.

Not argparse: importing it costs 6-10 ms, which is most of what `outlive status` may take in all, and it cannot end our
options at the first word of the command (REMAINDER swallows options that stand before it), name the nearest option, or
answer a mistake with an error object instead of exiting.

Rules. An option is `--flag value` or `--flag=value`, a boolean the bare flag; nothing is abbreviated; of a repeated
option the last counts, except kinds that collect. The word after a flag is its value whatever it looks like, unless it
is one of our own flags or `--`: then the value was forgotten. The first word of a command ends our options, and `--`
ends them anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlive import verbs
from outlive.cli import values
from outlive.core.nearest import asked_for, nearest
from outlive.errors import OutliveError, invalid
from outlive.verbs import spelling
from outlive.verbs.spec import (
    BOOL,
    ENV,
    ITEMS,
    MS,
    OBJECT,
    PATH,
    STRS,
    WORDS,
    Arg,
    GlobalOptions,
    Verb,
    check_texts,
    is_stood_for,
)

GLOBALS = (
    Arg("root", PATH, "Job root, instead of OUTLIVE_ROOT or the default place."),
    Arg("config", PATH, "Configuration file, instead of the one in the configuration directory."),
    Arg("human", BOOL, "Print tables and text for a person instead of JSON.", default=False),
    Arg("verbose", BOOL, "Log to stderr: -v what was done, -vv more.", default=False),
    Arg("version", BOOL, "Print the version.", default=False),
    Arg("help", BOOL, "Print this help.", default=False, short="-h"),
)
_BOOLEANS = ("true", "false", "yes", "no", "1", "0")


def leading(argv: list[str], options: GlobalOptions, cwd: str | None) -> list[str]:
    """Read the global options in front of the verb into `options`. Return the words from the verb on."""
    return _Reader((), options, cwd).read(argv)


def verb_name(words: list[str]) -> tuple[str, list[str]]:
    """Return the canonical name of the verb and the words after it. Errors: invalid_argument."""
    if not words:
        raise invalid("verb", "no verb given", hint="`outlive --help` lists the verbs.", usage=True)
    name, count = verb_at(words)
    if name is not None:
        return name, words[count:]
    if second := second_words(words[0]):
        said = f"{words[0]} {words[1]} is no verb" if len(words) > 1 else f"{words[0]} alone is no verb"
        whole = [f"{words[0]} {one}" for one in second]
        hint = f"Verbs: {', '.join(whole)}." if len(whole) > 1 else f"Did you mean {whole[0]}?"
        raise invalid("verb", said, hint=hint, usage=True)
    near = spelling.verb(words[0], [*verbs.names(), *verbs.ALIASES])
    known = f"`outlive --help` lists the verbs; to run a command: outlive run {words[0]} …"
    raise invalid("verb", f"unknown verb: {words[0]}", hint=asked_for(near, known), usage=True)


def verb_at(words: list[str]) -> tuple[str | None, int]:
    """Return the canonical name of the verb that these words begin with, and how many words it is; None if it is none."""
    for count in (1, 2):  # `tag set` is two words
        name = verbs.canonical(" ".join(words[:count])) if len(words) >= count else None
        if name:
            return name, count
    return None, 0


def second_words(word: str) -> list[str]:
    """Return the words that may follow `word` as the second word of a verb."""
    return [name.partition(" ")[2] for name in verbs.names() if name.startswith(f"{word} ")]


def asks_about_several(words: list[str], options: GlobalOptions) -> bool:
    """Return whether this is `outlive token --help` or `outlive help token`, where `token` begins several verbs."""
    asks = words[1:] in (["--help"], ["-h"]) or (options.help and len(words) == 1)
    return asks and bool(second_words(words[0]))


def arguments(verb: Verb, words: list[str], options: GlobalOptions, cwd: str | None) -> dict[str, object]:
    """Return every argument of the verb by name, with defaults. Global options go into `options`. Parsing stops at
    `--help` and `--version`, and nothing is required then."""
    reader = _Reader(verb.args, options, cwd, verb.name)
    reader.read(words)
    if options.help or options.version:
        return {}
    values = reader.finish()
    check_texts(verb.args, values, escaped=True)
    return values


class _Reader:
    """One pass over the words, from left to right."""

    def __init__(self, args: tuple[Arg, ...], options: GlobalOptions, cwd: str | None, verb: str = "") -> None:
        """`verb` is empty for the words in front of the verb."""
        self.args = args
        self.options = options
        self.cwd = cwd
        self.verb = verb
        self.before_verb = not verb
        self.given: dict[str, Any] = {}
        self.flags = {name: arg for arg in (*args, *GLOBALS) for name in (arg.cli, arg.short) if name.startswith("-")}
        self.slots = [arg for arg in args if is_positional(arg)]

    def read(self, words: list[str]) -> list[str]:
        """Take the words. Return those from the verb on when reading in front of the verb, else none."""
        at = 0
        while at < len(words):
            word = words[at]
            if word == "--":
                return self._rest(words[at + 1 :])
            if not _is_flag(word):
                if self._ends_options():
                    return self._rest(words[at:])
                self._positional(word)
                at += 1
                continue
            at = self.flag(words, at)
            if (self.options.help or self.options.version) and not self.before_verb:
                return []
        return []

    def _ends_options(self) -> bool:
        return self.before_verb or bool(self.slots and self.slots[0].kind == WORDS)

    def _rest(self, words: list[str]) -> list[str]:
        if self.before_verb:
            return words
        while words:
            if self.slots and self.slots[0].kind == WORDS:
                self.given[self.slots.pop(0).name] = words
                break
            self._positional(words[0])
            words = words[1:]
        return []

    def _positional(self, word: str) -> None:
        if not self.slots:
            hint = f"`outlive {self.verb} --help` shows what it takes."
            raise invalid(word, f"{self.verb} takes no further argument: {word!r}", hint=hint, usage=True)
        arg = self.slots[0]
        self._set(arg, word)
        if arg.kind != STRS:
            self.slots.pop(0)

    def flag(self, words: list[str], at: int) -> int:
        """Take the flag at index `at` and its value. Return the index of the next word."""
        count = _verbosity(words[at])
        if count:
            self.options.verbose += count
            return at + 1
        name, equals, value = words[at].partition("=")
        # A hint names an argument as MCP has it: since_seq=120
        arg = self.flags.get(name) or self.flags.get(name.replace("_", "-"))
        if arg is None:
            raise self._unknown(name)
        if arg.kind == BOOL:
            if equals:
                raise invalid(arg.name, f"{name} takes no value", hint=f"Write {name} alone.", usage=True)
            self._refuse_word(words, at)
            self._set(arg, True)
            return at + 1
        if equals:
            self._set(arg, value)
            return at + 1
        self._set(arg, self._value_after(words, at, arg))
        return at + 2

    def _refuse_word(self, words: list[str], at: int) -> None:
        """Refuse `--wait true -- make`: `true` would be run as the command."""
        after = words[at + 1 : at + 3]
        if len(after) == 2 and after[0].lower() in _BOOLEANS and after[1] == "--" and self._ends_options():
            hint = f"Write {words[at]} alone: outlive {self.verb} {' '.join([words[at], *words[at + 2 : at + 4]])} …"
            raise invalid(words[at], f"{words[at]} takes no value, not {after[0]!r}", hint=hint, usage=True)

    def _value_after(self, words: list[str], at: int, arg: Arg) -> str:
        if at + 1 < len(words):
            word = words[at + 1]
            ours = word == "--" or word.partition("=")[0] in self.flags or _verbosity(word)
            if not ours:
                return word
        hint = f"Write {arg.cli} {values.metavar(arg)}; a value that looks like an option is given as {arg.cli}=VALUE."
        raise invalid(arg.name, f"{arg.cli} needs a value", hint=hint, usage=True)

    def _set(self, arg: Arg, value: str | bool) -> None:
        into = vars(self.options) if arg in GLOBALS else self.given
        if isinstance(value, bool):
            into[arg.name] = value
        elif arg.kind in (STRS, ITEMS):
            into.setdefault(arg.name, []).append(values.checked(arg, value, self.cwd))
        elif arg.kind == MS:
            into[arg.name] = values.checked(arg, value, self.cwd)
            self.options.notes += values.note_on_unit(arg, value)
        elif arg.kind in (ENV, OBJECT):
            into.setdefault(arg.name, {}).update([values.variable(arg, value)])
        else:
            into[arg.name] = values.checked(arg, value, self.cwd)

    def _unknown(self, flag: str) -> OutliveError:
        of = f" of {self.verb}" if self.verb else ""
        return invalid(flag, f"unknown option{of}: {flag}", hint=self._advice(flag), usage=True)

    def _advice(self, flag: str) -> str:
        if flag == "--json":
            return "Leave it out: the answer is JSON already."
        # A flag may be called as over MCP, or by another name for the same thing
        names = {arg.mcp or arg.name: arg for arg in self.args if arg.cli and arg.hidden is not True}
        word = flag.lstrip("-").replace("-", "_")
        meant = names.get(spelling.argument(word, names, spelling=False) or word)
        if meant is not None:
            return f"Did you mean {meant.cli}?" if meant.cli in self.flags else f"Write it without a flag: {meant.cli}."
        if not self.before_verb and (owners := _owners(flag)):  # a correct name, given to the wrong verb
            return f"It belongs to {', '.join(f'outlive {name}' for name in owners)}."
        near = nearest(flag, [name for name, arg in self.flags.items() if arg.hidden is not True])
        if near:
            return f"Did you mean {near}?"
        if self.before_verb:
            return f"Options of a verb come after it: outlive VERB {flag} …; `outlive --help` lists the global ones."
        advice = f"`outlive {self.verb} --help` lists the options"
        dashed = " A command that begins with a dash needs -- in front of it."
        return f"{advice}.{dashed}" if any(arg.kind == WORDS for arg in self.args) else f"{advice}."

    def finish(self) -> dict[str, object]:
        """Return the values in the order of the declarations. Of two arguments with one parameter, the CLI's counts."""
        values = {arg.name: self._value(arg) for arg in self.args if arg.cli}
        for arg in self.args:
            values.setdefault(arg.name, _fresh(arg.default))
        return values

    def _value(self, arg: Arg) -> object:
        if arg.name in self.given:
            return self.given[arg.name]
        given = [one for one in self.args if one.name in self.given]
        if not arg.required or is_stood_for(arg, given):
            return _fresh(arg.default)
        if arg.kind == WORDS:
            hint = f"Write the command behind the options: outlive {self.verb} make test."
            raise invalid(arg.name, "empty command", hint=hint, usage=True)
        hint = arg.missing or f"`outlive {self.verb} --help` shows what it takes."
        raise invalid(arg.name, f"{self.verb} needs {arg.cli}", hint=hint, usage=True)


def _owners(flag: str) -> list[str]:
    declared = map(verbs.load, verbs.names())
    return [verb.name for verb in declared if any(arg.cli == flag and arg.hidden is not True for arg in verb.args)]


def is_positional(arg: Arg) -> bool:
    return bool(arg.cli) and not arg.cli.startswith("-")


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word != "-"  # "-" alone is a value: standard input


def _verbosity(word: str) -> int:
    """Return how often `-v` is in `-v`, `-vv` or `--verbose`; 0 for every other word."""
    if word == "--verbose":
        return 1
    return len(word) - 1 if word[:2] == "-v" and not word[1:].strip("v") else 0


def _fresh(default: object) -> object:
    # Every call of this process shares the declaration, but each needs a list of its own
    return default.copy() if isinstance(default, (list, dict)) else default


def check_propagate(values: Mapping[str, object], *, follow: bool) -> None:
    """Raise invalid_argument if the call may answer before the job has an exit code."""
    if not follow and not values.get("wait"):
        flag = "--wait" if "wait" in values else "--follow"
        hint = f"Without {flag} the job may have no exit code yet; add {flag}."
        raise invalid("propagate", f"--propagate needs {flag}", hint=hint, usage=True)
