"""The labels of a job: its tags, and the name that lists show."""

from __future__ import annotations

from outlive import limits
from outlive.core import shell_string
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
    inside = shell_string.given_to_shell(words) if words else None
    words = [word for word in (inside and _words(inside)) or words if word.strip()]
    if not words:
        return command[0][: limits.NAME_CHARS].strip() or "command"
    verb = words[0].rsplit("/", 1)[-1] or words[0]
    told = words[1:]
    if told[:1] == ["-m"] and len(told) > 1:  # python -m MODULE
        verb, told = f"{verb} {told[1]}", told[2:]
    text = one_line(" ".join([verb, *_told(told)]))
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
_NAMED_CHARS = 2_000  # of a string, in which the command that names it stands
# What they prepare says more
_BEFORE = frozenset("cd pushd export set shopt source . trap umask ulimit read test [ [[ true :".split())
_SPECIAL = frozenset("'\"\\;&|()<>{}$`=!\n#")
_KEYWORDS = ("if ", "for ", "while ", "until ", "case ", "select ", "time ", "[[ ")


def _words(text: str) -> list[str]:
    """Return the words of the first simple command of a shell string that does not only prepare
    another one."""
    if not _SPECIAL.intersection(text) and not text.lstrip().startswith(_KEYWORDS):
        return one_line(text).split(" ")
    simple = shell_string.simple_commands(text[:_NAMED_CHARS])
    return next((words for words in simple if words[0] not in _BEFORE), simple[-1] if simple else [])
