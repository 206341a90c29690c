"""Change one entry of a YAML text, `a: {b: …}`, and leave the rest of the text as it is.

An entry is added and taken out line by line, because ruamel.yaml moves a comment that precedes the
next key of the outer level behind an entry that is added. Where the text is written in another way
(in braces), and inside of an entry, ruamel.yaml makes the change.
"""

from __future__ import annotations

from io import StringIO

from outlive.client_config.jsonc import Misfit, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = tuple[str, ...]


class Document:
    """A YAML text that is changed. Errors: Unreadable."""

    def __init__(self, text: str) -> None:
        self.text = text
        _parsed(text)

    @property
    def value(self) -> dict[str, Any]:
        found: dict[str, Any] = _plain(_parsed(self.text))
        return found

    def get(self, path: Path) -> Any:
        """Return the value at a path, or None if there is none. Errors: Misfit."""
        at: Any = self.value
        for depth, key in enumerate(path):
            if at is None and depth:
                return None  # `extensions:` and nothing below it
            if not isinstance(at, dict):
                raise Misfit(f"{'.'.join(path[:depth]) or 'the file'} is not a mapping")
            if key not in at:
                return None
            at = at[key]
        return at

    def set(self, path: Path, value: Any) -> None:
        """Add an entry `a: {b: …}`, or set a value in one. Errors: Misfit."""
        if len(path) == 2 and self.get(path) is None:
            added = _with_entry(self.text, path, value)
            wanted = self.value
            wanted[path[0]] = {**(wanted.get(path[0]) or {}), path[1]: value}
            if _means(added, wanted):
                self.text = added
                return
        self._change(path, value)

    def remove(self, path: Path) -> bool:
        """Take out an entry, or a member of one.

        Return False if it was not there. Errors: Misfit.
        """
        if self.get(path) is None:
            return False
        if len(path) == 2:
            cut = _without_entry(self.text, path)
            wanted = self.value
            del wanted[path[0]][path[1]]
            # The outer key goes with its last entry
            if _means(cut, wanted) or (not wanted.pop(path[0]) and _means(cut, wanted)):
                self.text = cut
                return True
        self._change(path, None)
        return True

    def _change(self, path: Path, value: Any) -> None:
        """Let ruamel.yaml set a value, or delete it if it is None."""
        document = _parsed(self.text)
        at = document
        for key in path[:-1]:
            if at.get(key) is None:
                at[key] = {}
            at = at[key]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        self.text = _written(document)


def _with_entry(text: str, path: Path, value: Any) -> str:
    """Return the text with an entry before the first one of its outer key, or with both at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _parsed(text).get(path[0])
    lines = text.splitlines(keepends=True)
    block = _written({path[1]: value}).splitlines()
    if isinstance(outer, dict) and outer:
        line, column = outer.lc.key(next(iter(outer)))  # type: ignore[attr-defined]
        return "".join([*lines[:line], *(" " * column + one + newline for one in block), *lines[line:]])
    gap = "" if not text or text.endswith("\n") else newline
    return text + gap + "".join(one + newline for one in [path[0] + ":", *("  " + one for one in block)])


def _without_entry(text: str, path: Path) -> str:
    """Return the text without the lines of an entry, and without its outer key if it is the last."""
    document = _parsed(text)
    outer = document[path[0]]
    alone = len(outer) == 1
    line, column = document.lc.key(path[0]) if alone else outer.lc.key(path[1])
    lines = text.splitlines(keepends=True)
    last = line
    for number, one in enumerate(lines[line + 1 :], line + 1):
        if one.strip() and not one.lstrip().startswith("#"):
            if len(one) - len(one.lstrip()) <= column:
                break
            last = number
    return "".join(lines[:line] + lines[last + 1 :])


def _parsed(text: str) -> Any:
    """Errors: Unreadable, Misfit."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        found = YAML().load(text.replace("\r\n", "\n"))
    except MarkedYAMLError as error:
        at = error.problem_mark.index if error.problem_mark else 0
        raise Unreadable(text, min(at, len(text)), str(error.problem)) from None
    except YAMLError as error:
        raise Unreadable(text, 0, str(error).splitlines()[0]) from None
    if found is None:
        return YAML().map()
    if not isinstance(found, dict):
        raise Misfit("it holds no mapping")
    return found


def _written(value: Any) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1 << 20
    out = StringIO()
    yaml.dump(value, out)
    return out.getvalue()


def _plain(value: Any) -> Any:
    """Return the value as Python's own types."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def _means(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return bool(_plain(_parsed(text)) == wanted)
    except (Unreadable, Misfit):
        return False
