"""Change one member of a JSON text and leave every other character as it is: comments, order, indentation. It reads
JSON, JSON with comments and trailing commas (VS Code, Cursor, Gemini CLI) and JSON5 (OpenClaw)."""

from __future__ import annotations

import json
import re
from typing import Any

from outlive.core.record import Value

Path = tuple[str, ...]

_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_WORD = re.compile(r"[^\s{}\[\]:,\"'/]+")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\Z")
_CONSTANTS = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(\r\n|.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
# A comment that belongs to the line before it
_BEHIND = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)?(?=\r?\n)")
_MOST_LEVELS = 200


class Unreadable(ValueError):
    """The text cannot be parsed: `why`, at `line` and `column` from 1."""

    def __init__(self, text: str, at: int, why: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        self.why = why
        super().__init__(f"line {self.line}, column {self.column}: {why}")


class Misfit(ValueError):
    """A value is not the object or the list that has to be there."""


class _Node(Value):
    """A value and its place in the text."""

    start: int
    end: int
    value: object
    children: list[_Child] | None = None  # of an object or list
    is_object: bool = False


class _Child(Value):
    """A member of an object, or an item of a list."""

    key: str | None
    start: int
    node: _Node
    comma: int  # the place of its comma; -1: it has none


class Document:
    """A JSON text that is changed. Errors: Unreadable."""

    def __init__(self, text: str, *, strict: bool = False) -> None:
        """`strict`: the client reads no comments and no trailing commas."""
        self.text = text if text.strip("\ufeff \t\r\n") else text + "{}\n"
        self._root = _Parser(self.text).document()
        if strict:
            try:
                json.loads(self.text.removeprefix("\ufeff"))
            except json.JSONDecodeError as error:
                raise Unreadable(self.text, error.pos, error.msg.lower()) from None

    @property
    def value(self) -> Any:
        return _python(self._root)

    def get(self, path: Path) -> Any:
        """Return the value at a path, or None if there is none. Errors: Misfit for a list or text on the way."""
        node = self._find(path)
        return None if node is None else _python(node)

    def set(self, path: Path, value: object) -> None:
        """Errors: Misfit."""
        at = self._root
        for depth, key in enumerate(path):
            child = self._member(at, key, path[:depth])
            if child is None:
                for missing in reversed(path[depth + 1 :]):
                    value = {missing: value}
                self._insert(at, key, value)
                return
            at = child.node
        self._replace(at.start, at.end, self._rendered(value, _line_indent(self.text, at.start)))

    def append(self, path: Path, item: object) -> None:
        """Add an item to a list, which is made if there is none. Errors: Misfit."""
        node = self._find(path)
        if node is None:
            self.set(path, [item])
        elif node.children is None or node.is_object:
            raise Misfit(f"{'.'.join(path)} is not a list")
        else:
            self._insert(node, None, item)

    def remove(self, path: Path) -> bool:
        """Take out a member, and every other one with its name. Return False if there was none. Errors: Misfit."""
        is_there = False
        while (parent := self._find(path[:-1])) is not None:
            child = self._member(parent, path[-1], path[:-1])
            if child is None:
                break
            self._cut(parent, child)
            is_there = True
        return is_there

    def drop(self, path: Path, index: int) -> None:
        node = self._find(path)
        assert node is not None
        assert node.children is not None
        self._cut(node, node.children[index])

    # --- where things stand ---

    def _find(self, path: Path) -> _Node | None:
        at = self._root
        for depth, key in enumerate(path):
            child = self._member(at, key, path[:depth])
            if child is None:
                return None
            at = child.node
        return at

    def _member(self, node: _Node, key: str, path: Path) -> _Child | None:
        if not node.is_object or node.children is None:
            raise Misfit(f"{'.'.join(path)} is not an object" if path else "it holds no object")
        return next((child for child in reversed(node.children) if child.key == key), None)

    # --- changes ---

    def _replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]
        self._root = _Parser(self.text).document()

    def _insert(self, node: _Node, key: str | None, value: object) -> None:
        outer = _line_indent(self.text, node.start)
        children = node.children or []
        label = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
        if not children:
            inner = outer + self._unit()
            body = self._newline() + inner + label + self._rendered(value, inner)
            inside = self.text[node.start + 1 : node.end - 1]
            close = self._newline() + outer if not inside.strip() else ""
            end = node.end - 1 if not inside.strip() else node.start + 1
            self._replace(node.start + 1, end, body + close)
            return
        last = children[-1]
        if "\n" not in self.text[node.start : children[0].start]:  # all on one line
            comma = "" if last.comma >= 0 else ","
            at = last.comma + 1 if last.comma >= 0 else last.node.end
            self._replace(at, at, f"{comma} {label}{json.dumps(value, ensure_ascii=False)}")
            return
        inner = _line_indent(self.text, children[0].start)
        body = self._newline() + inner + label + self._rendered(value, inner)
        ends = last.comma + 1 if last.comma >= 0 else last.node.end
        behind = _BEHIND.match(self.text, ends)
        at = behind.end() if behind else ends
        if last.comma >= 0:
            self._replace(at, at, body + ",")
        else:
            self._replace(ends, at, "," + self.text[ends:at] + body)

    def _cut(self, parent: _Node, child: _Child) -> None:
        """Remove the member with its line, and the comma that is one too many; comments stay."""
        text, children = self.text, parent.children or []
        end = child.comma + 1 if child.comma >= 0 else child.node.end
        start = child.start
        while text[start - 1] in " \t":
            start -= 1
        alone = text[start - 1] == "\n" and re.match(r"[ \t]*\r?\n", text[end:])
        if alone:
            start -= 2 if text[start - 2] == "\r" else 1
        elif text[start - 1] == "\n":  # a comment stays on its line, at its indentation
            start, end = child.start, end + len(text[end:]) - len(text[end:].lstrip(" \t"))
        position = children.index(child)
        before = children[position - 1].comma if position and child.comma < 0 else -1
        kept = text[:start] if before < 0 else text[:before] + text[before + 1 : start]
        self._replace(0, len(text), kept + text[end:])

    # --- how it is written ---

    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _unit(self) -> str:
        """Return one level of indentation, as the text has it."""
        first = re.search(r"^([ \t]+)\S", self.text, re.MULTILINE)
        return first[1] if first else "  "

    def _rendered(self, value: object, indent: str) -> str:
        text = _short(json.dumps(value, indent=self._unit(), ensure_ascii=False))
        return text.replace("\n", self._newline() + indent)


def _short(text: str) -> str:
    """Put lists of strings on one line."""
    return re.sub(
        r'\[\n\s*("[^"\n]*"(?:,\n\s*"[^"\n]*")*)\n\s*\]',
        lambda match: "[" + re.sub(r",\n\s*", ", ", match[1]) + "]",
        text,
    )


def _line_indent(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    match = re.compile(r"[ \t]*").match(text, begin)
    return match[0] if match else ""


def _python(node: _Node) -> object:
    if node.children is None:
        return node.value
    if node.is_object:
        return {str(child.key): _python(child.node) for child in node.children}
    return [_python(child.node) for child in node.children]


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._levels = 0

    def document(self) -> _Node:
        node = self._value()
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("something follows the end")
        return node

    def _skip(self) -> str:
        """Skip blanks and comments. Return the next character; empty at the end."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _wrong(self, why: str) -> Unreadable:
        return Unreadable(self._text, min(self._at, len(self._text)), why)

    def _value(self) -> _Node:
        first = self._skip()
        if first in ("{", "["):
            return self._container(first)
        start = self._at
        value = self._string() if first in ('"', "'") and first else self._word()
        return _Node(start, self._at, value)

    def _container(self, opened: str) -> _Node:
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            raise self._wrong("it is nested too deeply")
        start, close = self._at, "}" if opened == "{" else "]"
        children: list[_Child] = []
        self._at += 1
        while (char := self._skip()) != close:
            if not char:
                raise Unreadable(self._text, start, f"this {opened} is never closed")
            if children and children[-1].comma < 0:
                raise self._wrong(f"a comma or {close} is missing")
            children.append(self._child(is_object=opened == "{"))
        self._at += 1
        self._levels -= 1
        return _Node(start, self._at, None, children, is_object=opened == "{")

    def _child(self, *, is_object: bool) -> _Child:
        start, key = self._at, None
        if is_object:
            key = self._string() if self._text[start] in "\"'" else self._name()
            if self._skip() != ":":
                raise self._wrong("a colon is missing")
            self._at += 1
        node, comma = self._value(), -1
        if self._skip() == ",":
            comma = self._at
            self._at += 1
        return _Child(key, start, node, comma)

    def _name(self) -> str:
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self._wrong("the name of a member is missing")
        self._at = match.end()
        return match[0]

    def _word(self) -> object:
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self._wrong("a value is missing")
        if match[0] not in _CONSTANTS and not _NUMBER.match(match[0]):
            raise self._wrong(f"not a value: {match[0][:40]}")
        self._at = match.end()
        if match[0] in _CONSTANTS:
            return _CONSTANTS[match[0]]
        try:
            return json.loads(match[0])
        except ValueError:
            return match[0]  # a number that only JSON5 has: it is only checked that it stays

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise self._wrong("this text is never closed")
        self._at = match.end()
        try:
            return str(json.loads(match[0], strict=False))
        except ValueError:  # quoted or escaped as in JSON5
            return _ESCAPE.sub(_unescaped, match[0][1:-1])


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(match[3], match[3])
