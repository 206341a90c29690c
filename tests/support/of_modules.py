"""A plugin of pytest: what tests of one module, which is called directly, begin with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.mcp.tools.call import Calls
from outlive.store.root import Store
from support.calls import calls_of
from support.children import Start, started_by_tests


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty job root."""
    found = Store.open(str(tmp_path / "jobs"), {})
    yield found
    found.close()


@pytest.fixture
def calls(root: Path) -> Iterator[Calls]:
    """The calls of a server, made in this process."""
    with contextlib.closing(calls_of(root)) as made:
        yield made


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(*argv)` is a child on a pipe, or on a terminal with `terminal=True`."""
    yield from started_by_tests()
