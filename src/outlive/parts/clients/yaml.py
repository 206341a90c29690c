"""Change one entry of a YAML text, `a: {b: …}`, and leave the rest of the text as it is.

An entry is added and taken out line by line, because ruamel.yaml moves a comment that precedes the
next key of the outer level behind an entry that is added. Where the text is written in another way
(in braces), and inside of an entry, ruamel.yaml makes the change.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from outlive.parts.clients.entries import Entries
from outlive.parts.clients.jsonc import Misfit, Path, Unreadable


class Document(Entries):
    """A YAML text, whose entries are `a: {b: …}`."""

    mapping = "mapping"

    def parsed(self, text: str) -> dict[str, object]:
        content: dict[str, object] = _plain(_parsed(text))
        return content

    def with_entry(self, path: Path, value: object) -> str:
        # Before the first entry of its outer key, or with that key at the end of the text
        newline = self._newline
        outer = _parsed(self.text).get(path[0])
        lines = self.text.splitlines(keepends=True)
        block = _written({path[1]: value}).splitlines()
        if isinstance(outer, dict) and outer:
            line, column = outer.lc.key(next(iter(outer)))  # type: ignore[attr-defined]  # its own mapping
            return "".join([*lines[:line], *(" " * column + one + newline for one in block), *lines[line:]])
        gap = "" if not self.text or self.text.endswith("\n") else newline
        return self.text + gap + "".join(one + newline for one in [path[0] + ":", *("  " + one for one in block)])

    def without_entry(self, path: Path) -> str:
        # Without its outer key too if it is the last
        document = _parsed(self.text)
        outer = document[path[0]]
        line, column = document.lc.key(path[0]) if len(outer) == 1 else outer.lc.key(path[1])
        lines = self.text.splitlines(keepends=True)
        last = line
        for number, one in enumerate(lines[line + 1 :], line + 1):
            if one.strip() and not one.lstrip().startswith("#"):
                if len(one) - len(one.lstrip()) <= column:
                    break
                last = number
        return "".join(lines[:line] + lines[last + 1 :])

    def changed(self, path: Path, value: object) -> str:
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
        return _written(document)


def _parsed(text: str) -> Any:
    """Errors: Unreadable, Misfit."""
    try:
        document = YAML().load(text.replace("\r\n", "\n"))
    except MarkedYAMLError as error:
        at = error.problem_mark.index if error.problem_mark else 0
        raise Unreadable(text, min(at, len(text)), str(error.problem)) from None
    except YAMLError as error:
        raise Unreadable(text, 0, str(error).splitlines()[0]) from None
    if document is None:
        return YAML().map()
    if not isinstance(document, dict):
        raise Misfit("it holds no mapping")
    return document


def _written(value: object) -> str:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1 << 20
    out = StringIO()
    yaml.dump(value, out)
    return out.getvalue()


def _plain(value: object) -> Any:
    """Return a value as JSON has it: a name may be a number or a date in YAML, and so may a value."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
