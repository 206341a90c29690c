"""Changing one table of a TOML text. What is added or taken away as a whole is done line by line, so that comments stay where they are;
a table that is there already is changed by tomlkit, which keeps what is inside of it."""

from __future__ import annotations

import re
import tomllib

from outlive.client_config.jsonc import Misfit, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = tuple[str, ...]

_HEADER = re.compile(r"[ \t]*\[\[?[ \t]*([^\]\n]*?)[ \t]*\]")
_PART = re.compile(r"""[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*(?:\.|\Z)""")
_END = "[]"  # no file ends in that
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


class Document:
    """A text that is changed. Errors: Unreadable."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain()

    def _plain(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as error:
            where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            at = _offset(self.text, int(where[1]), int(where[2])) if where else len(self.text)
            raise Unreadable(self.text, at, str(error).split(" (at ", 1)[0].lower()) from None

    @property
    def value(self) -> dict[str, Any]:
        return self._plain()

    def get(self, path: Path) -> Any:
        """The value at a path; None if there is none. Errors: Misfit."""
        at: Any = self._plain()
        for depth, key in enumerate(path):
            if not isinstance(at, dict):
                raise Misfit(f"{'.'.join(path[:depth])} is not a table")
            if key not in at:
                return None
            at = at[key]
        return at

    def set(self, path: Path, value: Any) -> None:
        """A table of two levels (`[a.b]`), or a value in one. Errors: Misfit."""
        if len(path) == 2 and self.get(path) is None:
            self._add(path, value)
        else:
            self.text = self._dumped(path, value)

    def _dumped(self, path: Path, value: Any) -> str:
        import tomlkit

        document = tomlkit.parse(self.text)
        at: Any = document
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = _inline(value)
        return tomlkit.dumps(document)

    def remove(self, path: Path) -> bool:
        """Take a table `[a.b]`, or a member of it, out. False: it was not there. Errors: Misfit."""
        if self.get(path) is None:
            return False
        if len(path) == 2:
            cut = self._cut(path)
            if _same(cut, *_without(self._plain(), path)):
                self.text = cut
                return True
        import tomlkit

        document: Any = tomlkit.parse(self.text)
        at = document
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]
        self.text = tomlkit.dumps(document)
        return True

    def _add(self, table: Path, value: dict[str, Any]) -> None:
        newline = "\r\n" if "\r\n" in self.text else "\n"
        gap = "" if not self.text else newline if self.text.endswith("\n") else newline * 2
        block = [f"[{'.'.join(map(_quoted, table))}]", *(f"{key} = {_literal(item)}" for key, item in value.items())]
        added = self.text + gap + newline.join(block) + newline
        wanted = self._plain()
        wanted.setdefault(table[0], {})[table[1]] = value
        self.text = added if _same(added, wanted) else self._dumped(table, value)

    def _cut(self, table: Path) -> str:
        """Without the table and what is below it; what comments follow its last line belong to what comes next."""
        kept: list[str] = []
        ours: list[str] | None = None
        for line in [*self.text.splitlines(keepends=True), _END]:
            header = _HEADER.match(line)
            if header:
                if ours is not None:
                    kept += _comments_at_end(ours)
                    if line == _END and kept and not kept[-1].strip():
                        kept.pop()  # nothing is left that it would separate
                ours = [] if _names(header[1])[:2] == table else None
            (kept if ours is None else ours).append(line)
        return "".join(kept[:-1])


def _comments_at_end(lines: list[str]) -> list[str]:
    last = max(
        (number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), default=-1
    )
    rest = lines[last + 1 :]
    return rest if any(line.strip() for line in rest) else []


def _names(header: str) -> tuple[str, ...]:
    return tuple(quoted or single or bare for quoted, single, bare in _PART.findall(header))


def _quoted(key: str) -> str:
    return key if _BARE.match(key) else _literal(key)


def _literal(value: Any) -> str:
    import tomlkit

    return str(tomlkit.item(_inline(value)).as_string())


def _inline(value: Any) -> Any:
    """A table inside of ours stands on one line."""
    import tomlkit

    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _same(text: str, *wanted: dict[str, Any]) -> bool:
    """Does the text mean one of these?"""
    try:
        return tomllib.loads(text.replace("\r\n", "\n")) in wanted
    except tomllib.TOMLDecodeError:
        return False


def _without(value: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """What is meant without the table `[a.b]`: with an empty `a`, or without it where nobody wrote that down."""
    rest = {key: item for key, item in value.items() if key != path[0]}
    inner = {key: item for key, item in value[path[0]].items() if key != path[1]}
    return [{**rest, path[0]: inner}, *([] if inner else [rest])]


def _offset(text: str, line: int, column: int) -> int:
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + column - 1
