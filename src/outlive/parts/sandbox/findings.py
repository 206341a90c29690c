"""The sentences about what a job in a sandbox left in its writable directories."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from outlive.core.quoted import quoted

_PLAIN_PATH = re.compile(r"[\w/.+@%=:-]+")  # one word
_MOST_CHARS = 400  # of a path
_MOST_NAMED = 5  # findings of each kind in a message
_SAYS = {  # the most urgent first
    "settings": "{path} is new or changed, and editors or agents may run commands from it",
    "armed": "{path} is a git repository that was made since the job started and that may run programs; it was not renamed (without room on the disk its HEAD, or the file, is removed): look at its config and hooks before you use git there",
    "moved": "{path} is a git repository that was made while the job ran and that may run programs: it is now {moved_to}, which git does not know",
    "changed": "the config or the hooks of {path} changed while the job ran: look at them before you use git there",
    "hooks": "{path} was made since the job started, and git will run it or what is in it; it was not renamed: look at it before you use git there",
    "moved hooks": "{path} was made while the job ran, and git would run it or what is in it: it is now {moved_to}",
    "link": "{path} was a link into the cache of the sandbox, and is removed",
    "program": "{path} is new or changed, and settings of git name it: look at it before you use git there",
    "unchecked": "{path} could not be searched to its end for repositories: do not run git below it before you have looked at what is new there",
    "repository": "{path} is a git repository that was made while the job ran",
}


def bounded(findings: list[dict[str, str]], most: int) -> list[dict[str, str]]:
    """Return up to `most` findings of each kind, the most urgent kind first."""
    by_kind: dict[str, list[dict[str, str]]] = {kind: [] for kind in _SAYS}
    for one in findings:
        by_kind[_said_as(one)].append(one)
    return [one for same in by_kind.values() for one in same[:most]]


def _said_as(finding: Mapping[str, str]) -> str:
    """Return which sentence a finding gets."""
    moved = "moved hooks" if finding["kind"] == "hooks" else "moved"
    return moved if "moved_to" in finding else finding["kind"]


def sentences(listed: list[dict[str, str]], found: int) -> list[str]:
    """Return what a person reads of the findings that an event lists, of so many that were found."""
    named = bounded(listed, _MOST_NAMED)
    said = [*map(_sentence, named)]
    if found > len(named):
        more = f"{len(listed) - len(named)} more are in the events of the job"
        said.append(f"{more}, and {found - len(listed)} in no list" if found > len(listed) else more)
    return said


def _sentence(finding: Mapping[str, str]) -> str:
    """Return what a person reads of a finding, see after.check."""
    return _SAYS[_said_as(finding)].format(**{name: _as_path(value) for name, value in finding.items()})


def _as_path(path: str) -> str:
    """Return a path in quotes if it has a blank or a mark in it: its words are no part of the sentence."""
    shown = quoted(path if len(path) <= _MOST_CHARS else f"{path[: _MOST_CHARS // 2]}…{path[-_MOST_CHARS // 2 :]}")
    return shown if shown != path or _PLAIN_PATH.fullmatch(path) else shlex.quote(path)
