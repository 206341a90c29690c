"""The name of a job that has no title, made of its command."""

from __future__ import annotations

from outlive import limits
from outlive.core.quoted import one_line
from outlive.jobs.pipelines import form


def name_of(command: list[str]) -> str:
    """Return a name for lists, made of the program and what it is told to do: `npm run build`,
    `pytest tests`."""
    words = command if len(command) > 1 else _words(command[0])
    inside = form.given_to_shell(words) if words else None
    words = [word for word in (inside and _words(inside)) or words if word.strip()]
    if not words:
        return command[0][: limits.NAME_CHARS].strip() or "command"
    verb = words[0].rsplit("/", 1)[-1] or words[0]
    rest = words[1:]
    if rest[:1] == ["-m"] and len(rest) > 1:  # python -m MODULE
        verb, rest = f"{verb} {rest[1]}", rest[2:]
    text = one_line(" ".join([verb, *_named(rest)]))
    if len(text) <= limits.NAME_CHARS:
        return text
    half = (limits.NAME_CHARS - 1) // 2
    return text[:half] + "…" + text[-half:]


def _named(words: list[str]) -> list[str]:
    """Return the first words that are no options, at most two, up to an option behind them: the word
    after that may be its value."""
    named: list[str] = []
    for word in words:
        if word.startswith("-"):
            if named:
                break
        else:
            named.append(word)
    return named[:_NAMED_WORDS]


_NAMED_WORDS = 2
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
    simple = form.simple_commands(text[:_NAMED_CHARS])
    return next((words for words in simple if words[0] not in _BEFORE), simple[-1] if simple else [])
