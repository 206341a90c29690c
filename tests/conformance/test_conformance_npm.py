"""Without npm, or without its registry, what needs them is skipped, and the reason is named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from conformance import npm

NOWHERE = "http://127.0.0.1:9/"  # no server listens on the port of the discard service


@pytest.fixture
def elsewhere(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is installed yet, and npm remembers nothing."""
    monkeypatch.setattr(npm, "CACHE", place / "cache")
    alone = {**os.environ, "npm_config_registry": NOWHERE, "npm_config_cache": str(place / "npm")}
    monkeypatch.setattr(npm, "_ENVIRONMENT", alone)
    return place / "cache"


@pytest.mark.slow
def test_without_npm_the_reason_is_named(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(elsewhere))
    with pytest.raises(npm.Unavailable, match="npm is not installed"):
        npm.installed()


@pytest.mark.slow
def test_without_a_registry_the_reason_is_named_and_believed(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    with pytest.raises(npm.Unavailable, match="ECONNREFUSED"):
        npm.installed()
    assert not list(elsewhere.glob(".installing-*"))
    monkeypatch.setattr(npm, "_npm", lambda folder, words: pytest.fail("another process tries again"))
    with pytest.raises(npm.Unavailable, match="ECONNREFUSED"):
        npm.installed()


@pytest.mark.slow
def test_a_mistake_of_ours_is_no_reason_to_skip(elsewhere: Path, place: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    (place / "package.json").write_text("{}")  # and no lock file
    with pytest.raises(AssertionError, match="EUSAGE"):
        npm._npm(str(place), ["ci"])


@pytest.mark.slow
def test_what_takes_too_long_is_ended_with_all_it_started(place: Path) -> None:
    done = npm.bounded(["sh", "-c", "sleep 600 & echo begun; wait"], 0.5)
    assert (done.status, done.out) == (None, "begun\n")
