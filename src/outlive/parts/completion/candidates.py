"""What may stand in a place of a command line: verbs, options, jobs. Made from the declarations."""

from __future__ import annotations

from collections.abc import Mapping

from outlive import verbs
from outlive.cli.parse import GLOBALS, is_positional, second_words, verb_at
from outlive.verbs.spec import BOOL, WORDS, Arg, Verb


def of(words: list[str], env: Mapping[str, str], *, described: bool) -> list[tuple[str, str]]:
    """Return the candidates for the last word as (value, what it is); none where the shell completes files. With
    `described` the verbs have their help: that loads every declaration."""
    place = _Place(words)
    word = words[-1]
    if place.is_value:
        return []
    if place.verb is None:
        return _starting(_flags(GLOBALS) if word.startswith("-") else _verbs(words, described), word)
    if word.startswith("-") and not place.ended:
        return _starting(_flags((*place.verb.args, *GLOBALS)), word)
    if place.slot is not None and place.slot.cli == "JOB":
        from outlive.parts.completion import jobs  # late: 2 ms at a TAB, where most places take no job

        return jobs.of(place.verb.name, word, place.root, env)
    return []


class _Place:
    """What is known of the place of the last word from the words before it."""

    def __init__(self, words: list[str]) -> None:
        self.verb: Verb | None = None
        self.is_value = False  # whether the word is the value of an option
        self.slot: Arg | None = None  # the positional that the word is
        self.ended = False  # whether no option of ours may follow: behind --, and in a command
        self.root = ""
        self.flags = {arg.cli: arg for arg in GLOBALS}
        before = words[:-1]
        at = self._skip_flags(before, 0)
        name, count = verb_at(before[at:])
        if name is None:
            return
        self.verb = verbs.load(name)
        self.flags |= {flag: arg for arg in self.verb.args for flag in (arg.cli, arg.short) if flag.startswith("-")}
        self._take(before, at + count, [arg for arg in self.verb.args if is_positional(arg) and arg.hidden is not True])

    def _skip_flags(self, words: list[str], at: int) -> int:
        """Take the options from `at` on. Return where they end."""
        while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
            name, equals, value = words[at].partition("=")
            arg = self.flags.get(name)
            at += 1
            if arg is None or arg.kind == BOOL:
                continue
            if not equals and at == len(words):
                self.is_value = True
                return at
            if arg.name == "root":
                self.root = value if equals else words[at]
            at += not equals
        return at

    def _take(self, words: list[str], at: int, slots: list[Arg]) -> None:
        while True:
            at = at if self.ended else self._skip_flags(words, at)
            self.slot = slots[0] if slots else None
            if at >= len(words):
                return
            if words[at] == "--" and not self.ended:
                self.ended = True
                at += 1
                continue
            if self.slot is not None and self.slot.kind == WORDS:
                self.ended = True
                return
            if slots and slots[0].kind != "strings":
                slots = slots[1:]
            at += 1


def _verbs(words: list[str], described: bool) -> list[tuple[str, str]]:
    first = next((word for word in words[:-1] if second_words(word)), None)
    if first is not None:
        return [(word, verbs.load(f"{first} {word}").help if described else "") for word in second_words(first)]
    help_of: dict[str, str] = {}
    for name in verbs.names():
        word, _, second = name.partition(" ")
        if word == "help":  # over MCP it is another one
            continue
        about = verbs.load(name).help if described else ""
        help_of[word] = about if not second else ", ".join(filter(None, [help_of.get(word), second]))
    return [*help_of.items(), ("help", "Explain a verb.")]


def _flags(args: tuple[Arg, ...]) -> list[tuple[str, str]]:
    shown = [arg for arg in args if arg.cli.startswith("-") and arg.hidden is not True]
    return [(arg.cli, arg.help.replace("CLI: ", "").partition(". ")[0].rstrip(".")) for arg in shown]


def _starting(candidates: list[tuple[str, str]], word: str) -> list[tuple[str, str]]:
    return [(value, about) for value, about in dict(candidates).items() if value.startswith(word)]
