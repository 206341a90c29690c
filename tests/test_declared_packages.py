"""Every package that the code imports stands in pyproject.toml: what comes along with another package today may be gone
from it tomorrow."""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from support.tiers import first

CHECKOUT = Path(__file__).parents[1]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What our own folders provide: the package, the benchmarks, and the modules that tests import from each other
OURS = {"outlive", "benchmarks"} | {path.stem for path in CHECKOUT.glob("tests/*")}
OURS |= {path.stem for path in CHECKOUT.glob("tests/*/test_*.py")}


def _normal(name: str) -> str:
    """Return the name of a distribution in the form in which two names can be compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared(*extras: str) -> set[str]:
    """Return the distributions that pyproject.toml asks for, those of these extras included."""
    lines = PROJECT["dependencies"] + [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    return {_normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines}


@functools.cache
def _providers() -> dict[str, set[str]]:
    """Return, for each package that is installed here, the distributions that it belongs to."""
    return {package: set(map(_normal, names)) for package, names in metadata.packages_distributions().items()}


@functools.cache
def _imported(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return (package, place) of each import of what is neither ours nor part of the standard library."""
    return tuple(_imports_of(folder))


def _imports_of(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
            if isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            else:
                continue
            for top in {name.split(".")[0] for name in names} - OURS - sys.stdlib_module_names:
                yield top, f"{path.relative_to(CHECKOUT)}:{node.lineno}"


@pytest.mark.parametrize(
    ("folder", "extras"),
    first(1, [("src", ("top",)), ("examples", ()), (".ci", ()), ("benchmarks", ("test",)), ("tests", ("test",))]),
)
def test_every_package_that_is_imported_is_declared(folder: str, extras: tuple[str, ...]) -> None:
    declared = _declared(*extras)
    undeclared = [
        f"{place} imports {package}"
        for package, place in _imported(CHECKOUT / folder)
        if declared.isdisjoint(_providers().get(package, ()))
    ]
    assert not undeclared


def test_every_declared_package_is_imported_by_the_code() -> None:
    imported = {name for package, _ in _imported(CHECKOUT / "src") for name in _providers().get(package, ())}
    assert _declared("top") == imported
