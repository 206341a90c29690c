"""The labels of a job: its tags, and the name that lists show."""

from __future__ import annotations

import re

from outlive import limits
from outlive.core.quoted import one_line
from outlive.errors import OutliveError


def _is_tag(text: str) -> bool:
    """Return whether this is segments of letters, digits and hyphens, joined by dots."""
    return text.isascii() and all(part.replace("-", "0").isalnum() for part in text.split("."))


def check_tags(tags: list[str]) -> list[str]:
    """Return the tags without repeats, in the order given. Errors: invalid_tag."""
    for tag in tags:
        if not _is_tag(tag) or len(tag) > limits.MAX_TAG_CHARS:
            raise OutliveError(
                "invalid_tag",
                f"not a tag: {tag!r}",
                hint="A tag is letters, digits and hyphens in segments joined by dots, for example project.build; "
                "`.*` belongs to list filters only.",
                details={"field": "tags", "tag": tag},
            )
    unique = list(dict.fromkeys(tags))
    if len(unique) > limits.MAX_TAGS:
        raise OutliveError("invalid_tag", f"{len(unique)} tags; at most {limits.MAX_TAGS} are kept")
    return unique


def check_tag_pattern(pattern: str) -> str:
    """Return the filter of a list if it is a tag or `PREFIX.*`. Errors: invalid_tag."""
    check_tags([pattern.removesuffix(".*")])
    return pattern


def tag_matches(pattern: str, tags: list[str]) -> bool:
    """Return whether a pattern selects one of these tags: `a.b` that tag, `a.*` `a` and everything
    below it."""
    if not pattern.endswith(".*"):
        return pattern in tags
    prefix = pattern[:-2]
    return any(tag == prefix or tag.startswith(prefix + ".") for tag in tags)


def name_of(command: list[str]) -> str:
    """Return a name for lists, made of the program and what it is told to do: `npm run build`,
    `pytest tests`."""
    words = command if len(command) > 1 else _words(command[0])
    words = [word for word in words if word.strip()]
    if not words:
        return command[0][: limits.NAME_CHARS].strip() or "command"
    verb = words[0].rsplit("/", 1)[-1] or words[0]
    text = one_line(" ".join([verb, *_told(words[1:])]))
    if len(text) <= limits.NAME_CHARS:
        return text
    half = (limits.NAME_CHARS - 1) // 2
    return text[:half] + "…" + text[-half:]


def _told(words: list[str]) -> list[str]:
    """Return the first words that are no options, at most two, up to an option behind them: the word
    after that may be its value."""
    told: list[str] = []
    for word in words:
        if word.startswith("-"):
            if told:
                break
        else:
            told.append(word)
    return told[:_TOLD_WORDS]


_TOLD_WORDS = 2
_BEFORE = frozenset({"cd", "pushd", "export", "set", "source", "."})  # what they prepare says more
_WORD = r"""(?:'[^']*'|"[^"]*"|[^\s'";&|()<>])+"""
_ASSIGNMENT = r"[A-Za-z_][A-Za-z0-9_]*="
_SPECIAL = frozenset("'\";&|()<>=\n")


def _words(text: str) -> list[str]:
    """Return the words of the first simple command of a shell string that does not only prepare
    another one; good enough for a name, not for execution."""
    if not _SPECIAL.intersection(text):
        return one_line(text).split(" ")
    words: list[str] = []
    end = 0
    for match in re.finditer(_WORD, text, re.ASCII):
        if words and re.search(r"[;&|)\n]", text[end : match.start()]):
            if words[0] not in _BEFORE:
                break
            words = []
        end = match.end()
        if words or not re.match(_ASSIGNMENT, match[0]):
            words.append(re.sub("['\"]", "", match[0]))
    return [word for word in words if word]
