"""Replacing what differs from run to run: times, process ids, job ids, paths, versions, sizes on the disk.

A masked value keeps its type: `"<int>"` stands for a number and null stays null. A key that is
masked and holds something else is an error, so a mask never hides a change of type.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

INT = frozenset(
    "pid elapsed_ms idle_ms duration_ms waited_ms retry_after_ms wall_ms ago_ms user_ms system_ms"
    " used_bytes freed_bytes share_bytes bytes".split()
)
# What the machine measures of a job, where it can: whether it is there, and which of it, differs from run to run. It is
# left out, but for the answer that is about it
MEASURED = frozenset({"usage"})
_ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z")
_SESSION = re.compile(r"(?<=\bsession )[0-9a-f]{8}\b")
_TOKEN = re.compile(r"\boutlive_[\w-]{43}")
# In words for a person or a model
_IN_WORDS = (
    (_SESSION, "<session>"),
    (re.compile(r"(?<=  )(now|\d+s) *"), "<age> "),  # a column of a table
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b"), "<duration>"),
    (re.compile(r", <duration> ago"), ""),  # from a second on
    (re.compile(r"\b\d+(\.\d+)? [KMG]iB\b"), "<size>"),
    (re.compile(r"\b[\d,]+ bytes freed"), "<bytes> freed"),  # a directory takes no block in memory
    (re.compile(r"\b\d+% of one"), "<share> of one"),
    (re.compile(r"\b(pid|\w+_ms) \d+"), r"\1 <int>"),
    (re.compile(r"((?<=\bjob )|(?<=\bjob_id=))[0-9A-HJKMNP-TV-Z]{8}\b"), "<short id>"),
    (re.compile(r"(?<=\S) {3,}(?=\S)"), "  "),  # a column is as wide as its longest path or id
    # From a millisecond on
    (re.compile(r"^CPU <duration>(, memory <size>)?(\n|, )|, CPU <duration>(, memory <size>)?", re.MULTILINE), ""),
)
_SHORT = 8  # characters of a short id


class Masks:
    """The masks of one story. Jobs are numbered in the order in which they appear."""

    def __init__(self, paths: dict[str, str]) -> None:
        self._paths = sorted(paths.items(), key=lambda one: -len(one[0]))
        self._jobs: dict[str, str] = {}

    def json(self, value: Any, key: str = "") -> Any:
        """Return a JSON value with its volatile parts replaced; order and types stay."""
        if key in MEASURED:
            return "<measured>"
        if key in INT:
            assert value is None or type(value) is int, f"{key} is {value!r}"
            return value if value is None else "<int>"
        if key == "session" and isinstance(value, str):
            assert re.fullmatch("[0-9a-f]{8}", value), value
            return "<session>"
        if isinstance(value, dict):
            kept = [name for name in value if name not in MEASURED or value.get("type") == name]
            return {name: self.json(value[name], name) for name in kept}
        if isinstance(value, list):
            return [self.json(one) for one in value]
        return self._string(value) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        """Return text for a reader with its volatile parts replaced."""
        text = self._string(text)
        for pattern, name in _IN_WORDS:
            text = pattern.sub(name, text)
        return text

    def _string(self, text: str) -> str:
        for path, name in self._paths:
            text = text.replace(path, name)
        text = _ULID.sub(self._job, _TIME.sub("<time>", _TOKEN.sub("<token>", text)))
        for job, name in self._jobs.items():
            text = text.replace(job[-_SHORT:], f"{name}-short")
        return text

    def _job(self, found: re.Match[str]) -> str:
        return self._jobs.setdefault(found[0], f"<job {len(self._jobs) + 1}>")


def paths(place: Path, executable: str) -> dict[str, str]:
    """Return path → name of what lies elsewhere in every run."""
    return {str(place): "<place>", executable: "<python>", str(Path(executable).parent): "<bin>"}
