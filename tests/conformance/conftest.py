"""What comes from npm is installed once for all tests of this folder, or they are skipped with the reason."""

from __future__ import annotations

import pytest

from conformance import npm


@pytest.fixture(scope="session")
def packages() -> npm.Packages:
    """The official suite, the Inspector and the TypeScript clients, with a Node to run them."""
    try:
        return npm.installed()
    except npm.Unavailable as reason:
        pytest.skip(f"nothing from npm here: {reason}")
