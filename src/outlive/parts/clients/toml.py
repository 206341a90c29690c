"""Change one table of a TOML text, `[a.b]`, and leave the rest of the text as it is.

tomlkit changes values inside a table, and tables that are written in another way (inline, dotted
keys). A whole table is added at the end and taken out line by line, because tomlkit 0.15 loses
three things there: a comment that precedes the next table goes with the table above it, a file with
CRLF gets LF in between, and behind a dotted key a new table takes the keys that follow into itself.
Each has a test.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

import tomlkit

from outlive.parts.clients.entries import Entries
from outlive.parts.clients.jsonc import Path, Unreadable


class Document(Entries):
    """A TOML text, whose entries are tables `[a.b]`."""

    mapping = "table"

    def parsed(self, text: str) -> dict[str, object]:
        try:
            return tomllib.loads(text.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as error:
            where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            before = text.splitlines(keepends=True)[: int(where[1]) - 1] if where else [text]
            at = len("".join(before)) + (int(where[2]) - 1 if where else 0)
            raise Unreadable(text, at, str(error).split(" (at ", 1)[0].lower()) from None

    def with_entry(self, path: Path, value: Any) -> str:
        newline = self._newline
        gap = "" if not self.text else newline if self.text.endswith("\n") else newline * 2
        block = [f"[{'.'.join(map(_quoted, path))}]", *(f"{key} = {_literal(item)}" for key, item in value.items())]
        return self.text + gap + newline.join(block) + newline

    def with_member(self, path: Path, value: object) -> str:
        # At the end of its table: tomlkit would add it behind the comments that precede the next one
        lines = self.text.splitlines(keepends=True)
        last: int | None = None
        inside = False
        for number, line in enumerate(lines):
            names = _header(line)
            inside = names == path[:-1] if names else inside
            if inside and line.strip() and line.lstrip()[0] != "#":
                last = number
        if last is None or not lines[last].endswith("\n"):
            return self.text
        lines.insert(last + 1, f"{_quoted(path[-1])} = {_literal(value)}{self._newline}")
        return "".join(lines)

    def without_entry(self, path: Path) -> str:
        # With every table below it; comments behind its last line belong to the next table
        kept: list[str] = []
        ours: list[str] | None = None
        for line in self.text.splitlines(keepends=True):
            names = _header(line)
            if names:
                kept += _comments_at_end(ours or [])
                ours = [] if names[:2] == path else None
            (kept if ours is None else ours).append(line)
        rest = _comments_at_end(ours or [])
        if ours is not None and not rest and kept and not kept[-1].strip():
            kept.pop()  # an empty line that separates nothing any more
        return "".join(kept + rest)

    def changed(self, path: Path, value: object) -> str:
        document: Any = tomlkit.parse(self.text)
        at = document
        for key in path[:-1]:
            at = at[key]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = _inline(value)
        return tomlkit.dumps(document)


def _header(line: str) -> Path:
    """Return the names in `[a.b]` or `[[a.b]]`; none if the line is no header."""
    try:
        at: object = tomllib.loads(line) if line.lstrip().startswith("[") else {}
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(at, dict) and at:
        ((name, at),) = at.items()
        names.append(name)
    return tuple(names)


def _comments_at_end(lines: list[str]) -> list[str]:
    last = max((at for at, line in enumerate(lines) if line.strip() and line.lstrip()[0] != "#"), default=-1)
    rest = lines[last + 1 :]
    return rest if any(line.strip() for line in rest) else []


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _literal(key)


def _literal(value: object) -> str:
    return str(tomlkit.item(_inline(value)).as_string())


def _inline(value: object) -> object:
    """Return the value as tomlkit writes it; a table inside ours stands on one line."""
    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    table.update(value)
    return table
