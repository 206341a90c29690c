"""Problem matchers: which lines of output report a failure.

They have the form of GitHub Actions and VS Code tasks
(https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md): {owner, severity?, pattern: [{regexp, file?,
line?, column?, severity?, code?, message?, loop?}]}. Severity "error", the default, is for lines that a tool prints for
a failure alone; "warning" and "notice" are for lines that may mean one. Of the groups, `file` alone counts here: a line
that names a place or a test differs from another one by each character.

Regular expressions are RE2's. A pattern of several lines begins at a line that matches the first regexp, where the
lines below match the others.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outlive.core.record import Value
from outlive.errors import invalid
from outlive.parts.failures.lines.built_in import MATCHERS
from outlive.store.output.patterns import line_options, re2

ERROR, *_ = SEVERITIES = ("error", "warning", "notice", "info")
_GROUPS = tuple("file fromPath line endLine column endColumn location severity code message kind".split())
_MAX_REGEXP_CHARS = 2_000
_MOST_MEMORY = 8 * 1024**2  # of the automaton of many patterns


class Hit(Value):
    """A line that a matcher names."""

    start: int  # in the text
    matcher: int  # the first that names it
    strong: bool  # a tool prints it for a failure alone
    located: bool  # it names a place or a test


class Matcher(Value):
    strong: bool
    regexps: tuple[str, ...]
    loop: bool  # the last line may come again and again
    located: bool


class Matchers:
    """Compiled matchers. Those of one line are one regular expression for each severity; which of them names a line is
    asked for the lines found."""

    def __init__(self, matchers: Sequence[Matcher]) -> None:
        self._matchers = matchers
        single = [(number, one) for number, one in enumerate(matchers) if len(one.regexps) == 1]
        self._each = [
            (strong, each)
            for strong in (True, False)
            for each in _in_sets([(number, one.regexps[0]) for number, one in single if one.strong is strong])
        ]
        self._several = [(n, one, _Several(one)) for n, one in enumerate(matchers) if len(one.regexps) > 1]

    def hits(self, text: bytes, *, weak: bool = True) -> Iterator[Hit]:
        """Yield the lines of `text`, which is UTF-8 without escape sequences, in any order; some of them twice. Without
        `weak` only those that a tool prints for a failure alone."""
        for number, one, several in self._several:
            if not (one.strong or weak):
                continue
            for start in several.starts(text):
                yield Hit(start, number, one.strong, one.located)
        for strong, each in self._each:
            if strong or weak:
                for start, number in each.lines(text):
                    yield Hit(start, number, strong, self._matchers[number].located)


def _in_sets(regexps: Sequence[tuple[int, str]]) -> list[_Each]:
    """Return sets of these regular expressions: one, unless they take more memory together than RE2 may have."""
    half = len(regexps) // 2
    try:
        return [_Each(regexps)]
    except re2().error:
        if not half:
            raise
        return _in_sets(regexps[:half]) + _in_sets(regexps[half:])


class _Each:
    """Regular expressions that are matched together, each with the number of its matcher. Raises re2.error."""

    def __init__(self, regexps: Sequence[tuple[int, str]]) -> None:
        self._numbers = [number for number, _ in regexps]
        self._any = _compiled("|".join(f"(?:{one})" for _, one in regexps))
        self._set = re2().Set.SearchSet(_options(captures=False))
        for _, one in regexps:
            self._set.Add(f"(?m){one}")
        self._set.Compile()

    def lines(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield the start of each line that one matches, and the first that does."""
        at = 0
        while match := self._any.search(text, at):
            start = text.rfind(b"\n", 0, match.start()) + 1
            at = text.find(b"\n", match.end()) + 1 or len(text) + 1
            matching = self._set.Match(text[start : at - 1])
            if matching:
                yield start, self._numbers[min(matching)]
            if at > len(text):
                return


class _Several:
    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._first, *self._rest = map(_compiled, matcher.regexps)

    def starts(self, text: bytes) -> Iterator[int]:
        for match in self._first.finditer(text):
            below = list(self._below(text, match.end()))
            if len(below) >= len(self._rest):
                yield from (text.rfind(b"\n", 0, match.start()) + 1, *below)

    def _below(self, text: bytes, at: int) -> Iterator[int]:
        """Yield the starts of the lines below, up to the first that does not match."""
        rest = iter(self._rest)
        regex = next(rest)
        while at := text.find(b"\n", at) + 1:
            end = text.find(b"\n", at)
            if not regex.search(text[at : end if end >= 0 else len(text)]):
                return
            yield at
            regex = next(rest, regex if self._matcher.loop else None)
            if regex is None:
                return


@functools.cache
def built_in() -> tuple[Matcher, ...]:
    """Return the matchers that are built in. A test checks them, since that takes a third of what the first answer takes."""
    return tuple(_matcher(one) for each in MATCHERS.values() for one in each)


def checked(value: Any, field: str, _number: int = 0) -> Matcher:
    """Return a matcher as callers write it. Errors: invalid_argument."""
    if not isinstance(value, dict) or not isinstance(value.get("pattern"), (list, dict)):
        raise invalid(field, "a problem matcher is {owner, severity, pattern: [{regexp, file, line, message}]}")
    severity = value.get("severity", ERROR)
    if severity not in SEVERITIES:
        raise invalid(field, f"severity is {severity!r}, and can be one of {', '.join(SEVERITIES)}")
    patterns = value["pattern"] if isinstance(value["pattern"], list) else [value["pattern"]]
    if not patterns:
        raise invalid(field, "it has no pattern")
    for number, pattern in enumerate(patterns):
        _check_pattern(pattern, f"{field}.pattern[{number}]", last=number == len(patterns) - 1)
    return _matcher(value)


def _matcher(value: Mapping[str, Any]) -> Matcher:
    patterns = value["pattern"] if isinstance(value["pattern"], list) else [value["pattern"]]
    return Matcher(
        value.get("severity", ERROR) == ERROR,
        tuple(one["regexp"] for one in patterns),
        bool(patterns[-1].get("loop", False)),
        any("file" in one for one in patterns),
    )


def _check_pattern(pattern: Any, field: str, *, last: bool) -> None:
    if not isinstance(pattern, dict) or not isinstance(pattern.get("regexp"), str) or not pattern["regexp"]:
        raise invalid(field, "a pattern has a regexp")
    if len(pattern["regexp"]) > _MAX_REGEXP_CHARS:
        raise invalid(field, f"the regexp is longer than {_MAX_REGEXP_CHARS:,} characters")
    for name, value in pattern.items():
        if name in _GROUPS and (type(value) is not int or value < 0):
            raise invalid(field, f"{name} is {value!r}, and must be the number of a group")
        if name not in (*_GROUPS, "regexp", "loop"):
            raise invalid(field, f"unknown key {name!r}", hint=f"known: regexp, loop, {', '.join(_GROUPS)}")
    if pattern.get("loop", False) not in (True, False) or (pattern.get("loop") and not last):
        raise invalid(field, "loop is true or false, and stands in the last pattern")
    try:
        groups = _compiled(pattern["regexp"], captures=True).groups
    except re2().error as error:
        text = error.args[0] if error.args else error
        text = (text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)).replace("(?m)", "", 1)
        raise invalid(
            field, f"not an RE2 pattern: {text}", hint="RE2 has no look-around and no back-references."
        ) from error
    try:
        _Each([(0, pattern["regexp"])])  # a set takes more
    except re2().error:
        raise invalid(field, "the regexp takes too much memory", hint="Repeat less in it: {1,100}.") from None
    for name in _GROUPS:
        if pattern.get(name, 0) > groups:
            raise invalid(field, f"{name} is group {pattern[name]}, and the regexp has {groups}")


def _compiled(regexp: str, *, captures: bool = False) -> Any:
    """Return an RE2 pattern over the lines of a text. Raises re2.error."""
    return re2().compile(f"(?m){regexp}".encode(), _options(captures=captures))


def _options(*, captures: bool) -> Any:
    options = line_options()
    options.never_capture = not captures
    options.max_mem = _MOST_MEMORY
    return options
