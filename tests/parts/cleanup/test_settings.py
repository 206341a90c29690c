"""[gc] of the configuration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive import config
from outlive.config import Config
from outlive.errors import OutliveError
from outlive.parts.cleanup import settings
from outlive.parts.cleanup.bounds import Bounds


def load(text: str = "", **env: str) -> Config:
    """Return what is in force with this file and these variables."""
    path = Path(os.environ["HOME"], "config.toml")
    path.write_text(text, encoding="utf-8")
    return config.load({**os.environ, **env}, str(path))


def test_without_a_file_everything_has_its_default() -> None:
    found = {key: settings.value(load(), key) for key in settings.KEYS}
    assert found == {"older_than": "30d", "max_jobs": None, "max_bytes": None, "max_percent": 10, "automatic": True}


def test_a_variable_or_a_key_sets_a_value() -> None:
    found = load('[gc]\nmax_bytes = "10G"\n', OUTLIVE_GC_OLDER_THAN="7d", OUTLIVE_GC_MAX_JOBS="0")
    assert [settings.value(found, key) for key in ("older_than", "max_jobs", "max_bytes")] == ["7d", 0, 10 << 30]


def test_what_makes_no_sense_is_refused() -> None:
    rows: list[tuple[str, dict[str, str], str]] = [
        ("older_than = '30'", {}, "older_than"), ("older_than = 'soon'", {}, "older_than"),
        ("older_than = '7'", {}, "older_than"), ("max_jobs = -1", {}, "max_jobs"),
        ("max_percent = 101", {}, "at most 100"), ("max_percent = -1", {}, "max_percent"),
        ("max_bytes = 1.5", {}, "max_bytes"), ("max_bytes = true", {}, "max_bytes"),
        ("max_bytes = 'ten'", {}, "gc.max_bytes is not a size"), ("automatic = 'yes'", {}, "automatic"),
        ("", {"OUTLIVE_GC_OLDER_THAN": "30"}, "OUTLIVE_GC_OLDER_THAN"), ("older_then = '1d'", {}, "older_then"),
    ]  # fmt: skip
    for line, variables, said in rows:
        with pytest.raises(OutliveError) as caught:
            load(f"[gc]\n{line}\n", **variables)
        assert caught.value.code == "config_error"
        assert said in caught.value.message
    assert caught.value.hint == "Did you mean older_than?"


def test_the_share_of_the_file_system_and_what_is_set_are_kept_to_without_a_call_of_gc() -> None:
    def bounds(text: str = "", **env: str) -> Bounds | None:
        return settings.bounds(load(text, **env))

    share = Bounds(max_percent=10)
    assert bounds() == share
    assert bounds(OUTLIVE_GC_OLDER_THAN="2d") == Bounds.replace(share, older_than_s=172_800)
    assert bounds("[gc]\nmax_jobs = 0\nmax_bytes = 5\n") == Bounds.replace(share, max_bytes=5)
    assert bounds("[gc]\nmax_percent = 0.5\n") == Bounds.replace(share, max_percent=0.5)
    assert bounds("[gc]\nmax_percent = 0\n") is None, "0 is no bound"
    assert bounds("[gc]\nmax_jobs = 3\nautomatic = false\n") is None
    assert bounds("[gc]\nautomatic = true\n") == share
