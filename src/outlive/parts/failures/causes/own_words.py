"""Whether a command looks for processes by a text that its own shell has in its argument list: `pkill -f x; y` ends
itself, and `while pgrep -f x; do sleep 1; done` never ends."""

from __future__ import annotations

import re
import warnings

from outlive.core import shell_strings
from outlive.core.quoted import cut, visible
from outlive.core.record import Value
from outlive.core.records import Definition, State
from outlive.core.shell_strings import Command

_ENDING = frozenset({"pkill", "kill", "xargs"})
_WITH_VALUE = frozenset("-u -U -G -g -s -t -F -d -r -O -m -e -A -B -C --signal --euid --uid --group --pgroup".split())
_SHOWN_CHARS = 60


class Look(Value):
    """A command that looks for processes, and that finds its own shell."""

    program: str
    pattern: str
    is_last: bool  # a shell may run its last command in its own place, so that its words are not there any more


def hint(definition: Definition, state: State) -> str | None:
    """Return the sentence about a job that looks for its own words and runs, was ended by a signal, or decided by what it
    found; None for others."""
    text = shell_strings.run_by(definition.command, definition.shell)
    if text is None or definition.script is not None:
        return None
    each = shell_strings.every(shell_strings.commands(text))
    looks = _looks(each, " ".join([*(definition.shell or definition.command[:-1]), text]))
    ends = any(not _ENDING.isdisjoint(one.words) for one in each)
    if not state.finished:
        inside = [
            look
            for one in each
            if one.kind in ("while", "until")
            for look in _looks(shell_strings.every(one.inside), text)
        ]
        return _worded(inside[0], "so it always finds one") if inside else None
    if state.signal is not None and state.reason == "signal":
        return _worded(looks[0], "and that signal ended it") if looks and ends else None
    found = next((one for one in looks if one.program == "pgrep" and not one.is_last), None)
    return _worded(found, "so it always finds one") if found and not ends else None


def _worded(look: Look, what: str) -> str:
    named = f"`{look.program} {'-f ' if look.program != 'grep' else ''}{visible(cut(look.pattern, _SHOWN_CHARS))}`"
    at = next((at for at, char in enumerate(look.pattern) if char.isalnum()), None)
    other = "" if at is None else f"{look.pattern[:at]}[{look.pattern[at]}]{look.pattern[at + 1 :]}"
    instead = f", or write {visible(cut(other, _SHOWN_CHARS))}, which does not match itself" if other else ""
    return (
        f"{named} matches its own shell, which has the text of this command in its argument list, {what}. For jobs use kill "
        f"and wait{instead}."
    )


def _looks(each: list[Command], line: str) -> list[Look]:
    found = []
    hides = any(one.name == "grep" and "-v" in one.words and "grep" in one.words for one in each)
    lists = any(one.name == "ps" for one in each)
    simple = [one for one in each if not one.kind]
    for one in simple:
        program = one.name.rpartition("/")[2]
        words = one.words[1:]
        while program in ("sudo", "command", "xargs") and words:
            program, words = words[0].rpartition("/")[2], words[1:]
        if program == "grep":
            looks = lists and not hides and "-v" not in words
        else:
            looks = program in ("pgrep", "pkill") and _is_full(words)
        pattern = _pattern(words) if looks else None
        if pattern is not None and _matches(pattern, line, any("i" in word for word in _options(words))):
            found.append(Look(program, pattern, one is simple[-1]))
    return found


def _options(words: list[str]) -> list[str]:
    """Return the letters of the short options."""
    return [word[1:] for word in words if word[:1] == "-" and word[:2] != "--"]


def _is_full(words: list[str]) -> bool:
    """Return whether pgrep or pkill compares whole command lines, of any process."""
    options = [one for one in _options(words) if not one.isupper()]
    narrow = {"--exact", "--parent", "-P"} & set(words) or any("x" in one or "v" in one for one in options)
    return ("--full" in words or any("f" in one for one in options)) and not narrow


def _pattern(words: list[str]) -> str | None:
    """Return the pattern; None if it is not known."""
    is_value = False
    for word in words:
        if is_value or word[:1] == "-":
            is_value = not is_value and word in _WITH_VALUE
            continue
        return None if "$" in word.rstrip("$") or not word else word
    return None


def _matches(pattern: str, line: str, any_case: bool) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            return re.search(pattern, line, re.IGNORECASE if any_case else 0) is not None
    except re.error:
        return False
