"""Two tiers: what `pytest` runs by default proves every behaviour; what is marked `slow` proves it again, at length.

Of a test with many parameters, some run by default and the rest are slow. CONTRIBUTING.md has the commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

# A test that starts a server of its own for each era of the protocol runs by default with the newer one.
MODERN_FIRST = pytest.mark.parametrize("era", ["modern", pytest.param("legacy", marks=pytest.mark.slow)], indirect=True)
# Of a table of values that both faces take alike, each value is tried by default with one face, in turn: both faces are
# tried, and every value is. With the other face it is slow. For tests with `face` whose values differ behind the faces.
IN_TURN = pytest.mark.in_turn
# For behaviour that lies behind the protocol, which is the same in both
ONE_ERA = pytest.mark.parametrize("era", ["modern"], indirect=True)


def only(wanted: Callable[[Any], bool], values: Iterable[Any]) -> list[Any]:
    """Return `values` for a `parametrize`: those for which `wanted(value)` is false are slow."""
    return [value if wanted(value) else slow(value) for value in values]


def first(count: int, values: Iterable[Any]) -> list[Any]:
    """Return `values` for a `parametrize`: all after the first `count` are slow."""
    return [value if number < count else slow(value) for number, value in enumerate(values)]


def slow(value: Any) -> Any:
    """Return one value for a `parametrize` that is not tried by default. A tuple stands for several arguments."""
    if hasattr(value, "marks"):  # a pytest.param
        return pytest.param(*value.values, marks=[*value.marks, pytest.mark.slow], id=value.id)
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)


def take_turns(items: Iterable[Any]) -> None:
    """Make slow what IN_TURN does not try by default."""
    values: dict[str, list[dict[str, Any]]] = {}
    faces: dict[str, list[Any]] = {}
    for item in items:
        if item.get_closest_marker(IN_TURN.name) is None:
            continue
        test, rest = item.nodeid.partition("[")[0], dict(item.callspec.params)
        face = rest.pop("face")
        for known, one in ((values.setdefault(test, []), rest), (faces.setdefault(test, []), face)):
            if one not in known:
                known.append(one)
        if (values[test].index(rest) + faces[test].index(face)) % 2:
            item.add_marker(pytest.mark.slow)
