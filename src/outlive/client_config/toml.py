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

from outlive.client_config.jsonc import Misfit, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = tuple[str, ...]


class Document:
    """A TOML text that is changed. Errors: Unreadable."""

    def __init__(self, text: str) -> None:
        self.text = text
        _parsed(text)

    @property
    def value(self) -> dict[str, Any]:
        return _parsed(self.text)

    def get(self, path: Path) -> Any:
        """Return the value at a path, or None if there is none. Errors: Misfit."""
        at: Any = self.value
        for depth, key in enumerate(path):
            if not isinstance(at, dict):
                raise Misfit(f"{'.'.join(path[:depth])} is not a table")
            if key not in at:
                return None
            at = at[key]
        return at

    def set(self, path: Path, value: Any) -> None:
        """Add a table `[a.b]`, or set a value in one. Errors: Misfit."""
        if len(path) != 2 or self.get(path) is not None:
            self._set_member(path, value)
            return
        newline = "\r\n" if "\r\n" in self.text else "\n"
        gap = "" if not self.text else newline if self.text.endswith("\n") else newline * 2
        block = [f"[{'.'.join(map(_quoted, path))}]", *(f"{key} = {_literal(item)}" for key, item in value.items())]
        added = self.text + gap + newline.join(block) + newline
        wanted = self.value
        wanted.setdefault(path[0], {})[path[1]] = value
        if _means(added, wanted):
            self.text = added
        else:
            self._change(path, value)

    def _set_member(self, path: Path, value: Any) -> None:
        if self.get(path) is None:
            added = _with_member(self.text, path[:-1], f"{_quoted(path[-1])} = {_literal(value)}")
            wanted = self.value
            at = wanted
            for key in path[:-1]:
                at = at.setdefault(key, {})
            at[path[-1]] = value
            if _means(added, wanted):
                self.text = added
                return
        self._change(path, value)

    def remove(self, path: Path) -> bool:
        """Take out a table `[a.b]`, or a member of one.

        Return False if it was not there. Errors: Misfit.
        """
        if self.get(path) is None:
            return False
        wanted = self.value
        if len(path) == 2:
            cut = _without_table(self.text, path)
            del wanted[path[0]][path[1]]
            # Without an `[a]` of its own, the outer table goes with its last member
            if _means(cut, wanted) or (not wanted.pop(path[0]) and _means(cut, wanted)):
                self.text = cut
                return True
        self._change(path, None)
        return True

    def _change(self, path: Path, value: Any) -> None:
        """Let tomlkit set a value, or delete it if it is None."""
        import tomlkit

        document: Any = tomlkit.parse(self.text)
        at = document
        for key in path[:-1]:
            at = at[key]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = _inline(value)
        self.text = tomlkit.dumps(document)


def _with_member(text: str, table: Path, member: str) -> str:
    """Return the text with one more line at the end of `[a.b]`.

    tomlkit would add it behind the comments that precede the next table.
    """
    lines = text.splitlines(keepends=True)
    last: int | None = None
    inside = False
    for number, line in enumerate(lines):
        names = _header(line)
        inside = names == table if names else inside
        if inside and line.strip() and line.lstrip()[0] != "#":
            last = number
    if last is None:
        return text
    newline = "\r\n" if lines[last].endswith("\r\n") else "\n"
    before = lines[last] if lines[last].endswith("\n") else lines[last] + newline
    return "".join([*lines[:last], before, member, newline, *lines[last + 1 :]])


def _without_table(text: str, table: Path) -> str:
    """Return the text without `[a.b]` and every table below it.

    Comments behind its last line belong to the next table.
    """
    kept: list[str] = []
    ours: list[str] | None = None
    for line in text.splitlines(keepends=True):
        names = _header(line)
        if names:
            kept += _comments_at_end(ours or [])
            ours = [] if names[:2] == table else None
        (kept if ours is None else ours).append(line)
    rest = _comments_at_end(ours or [])
    if ours is not None and not rest and kept and not kept[-1].strip():
        kept.pop()  # an empty line that separates nothing any more
    return "".join(kept + rest)


def _header(line: str) -> Path:
    """Return the names in `[a.b]` or `[[a.b]]`; none if the line is no header."""
    try:
        at: Any = tomllib.loads(line) if line.lstrip().startswith("[") else {}
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


def _literal(value: Any) -> str:
    import tomlkit

    return str(tomlkit.item(_inline(value)).as_string())


def _inline(value: Any) -> Any:
    """Return the value as tomlkit writes it; a table inside ours stands on one line."""
    import tomlkit

    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _parsed(text: str) -> dict[str, Any]:
    """Errors: Unreadable."""
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        before = text.splitlines(keepends=True)[: int(where[1]) - 1] if where else [text]
        at = len("".join(before)) + (int(where[2]) - 1 if where else 0)
        raise Unreadable(text, at, str(error).split(" (at ", 1)[0].lower()) from None


def _means(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return _parsed(text) == wanted
    except Unreadable:
        return False
