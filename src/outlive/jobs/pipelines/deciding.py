"""Which of the commands of a string gave the exit code that it ended with."""

from __future__ import annotations

from typing import NamedTuple

from outlive.core.shell import reader
from outlive.core.shell.reader import Command

_LEAVING = frozenset({"exit", "exec", "return"})  # behind these any command may be the reason
_MOST_DEPTH = 5  # of `bash -c` in `bash -c`


class Programs(NamedTuple):
    """The names of the commands of a string, without their directories."""

    deciding: frozenset[str]  # one of them gave the code
    others: frozenset[str]  # their code is not that of the string


def last_list(joined: list[Command]) -> list[list[Command]]:
    """Return the pipelines of the last list, which && and || join."""
    each = reader.pipelines(joined)
    start = next((at for at in range(len(each) - 1, 0, -1) if each[at - 1][-1].operator not in ("&&", "||")), 0)
    return each[start:]


def programs(words: list[str], shell: list[str] | None = None, depth: int = _MOST_DEPTH) -> Programs:
    """Return which programs of a command gave its exit code. Of what cannot be read any of its words may have."""
    text = reader.run_by(words, shell)
    if text is None:
        return Programs(frozenset(map(_base, words[:1])), frozenset())
    joined = [one for one in reader.commands(text) if not one.defines]
    if not joined:
        return Programs(frozenset([text]), frozenset())
    if len(joined) == 1 and depth and reader.run_by(joined[0].words) is not None:
        return programs(joined[0].words, depth=depth - 1)
    each = reader.every(joined)
    every = _names(each)
    if any(one.name in _LEAVING or one.name == "set" for one in each) or "pipefail" in text:
        return Programs(every, frozenset())
    deciding = _names(reader.every([stages[-1] for stages in last_list(joined)]))
    return Programs(deciding, every - deciding)


def _names(commands: list[Command]) -> frozenset[str]:
    return frozenset(_base(one.name) for one in commands if not one.kind and not one.is_setting)


def _base(name: str) -> str:
    return name.rpartition("/")[2] or name
