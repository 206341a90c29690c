"""What scripts/reference.py needs to fill in docs/explanation/steps.md: where each named step
of system/fault_points.py is reached, found in the syntax tree of the source.

A row of the page that begins with the name of a step is written anew: the name, what is true after
it, the file and the function. The order of the rows, and everything else, is written by hand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import outlive
from outlive.system.fault_points import POINTS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "steps.md"
SOURCE = Path(outlive.__file__).parent
_ROW = re.compile(r"^\|`(\w+)` \|.*$", re.MULTILINE)


def page() -> str:
    """Return the page with its rows of steps filled in. Errors: ValueError if a step has no row or
    two, or if no function reaches it."""
    text = PAGE.read_text(encoding="utf-8")
    rows = [name for name in _ROW.findall(text) if name in POINTS]
    wrong = sorted(name for name in POINTS if rows.count(name) != 1)
    if wrong:
        raise ValueError(f"each step has one row in {PAGE.name}; not so: {', '.join(wrong)}")
    reached = places()
    missing = sorted(POINTS.keys() - reached.keys())
    if missing:
        raise ValueError(f"no function reaches {', '.join(missing)}")

    def filled(row: re.Match[str]) -> str:
        name = row[1]
        return f"|`{name}` |{POINTS[name]} |{', '.join(reached[name])}|" if name in POINTS else row[0]

    return _ROW.sub(filled, text)


def places() -> dict[str, list[str]]:
    """Return for each step the functions that reach it, as `file:function` in backticks."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if "fault_points.at(" in (text := path.read_text(encoding="utf-8")):
            for function, step in _reached(ast.parse(text)):
                where = f"`{path.relative_to(SOURCE)}:{function}`"
                if where not in found.setdefault(step, []):
                    found[step].append(where)
    return found


def _reached(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (function, step) for each function that names a step, or a table of steps."""
    tables = {
        target.id: _named(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function, node in _functions(module, ""):
        steps = _named(node)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                steps += tables.get(inner.id, [])
        yield from ((function, step) for step in steps)


def _named(node: ast.AST) -> list[str]:
    texts = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and text in POINTS]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.ClassDef):
            yield from _functions(below, f"{prefix}{below.name}.")
        elif isinstance(below, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + below.name, below
