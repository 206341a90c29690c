"""The shell that runs what a model writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.system import shells


def test_bash_is_taken_by_its_name_where_the_path_has_it(tmp_path: Path) -> None:
    assert shells.for_models({"PATH": f"/nowhere::{_with_bash(tmp_path)}"}) == ("bash", "-c")


def test_bash_outside_the_path_is_taken_by_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shells, "_USUAL", (str(_with_bash(tmp_path)),))
    assert shells.for_models({}) == (f"{tmp_path}/bash", "-c")


def test_without_bash_it_is_sh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shells, "_USUAL", ())
    (tmp_path / "bash").touch()  # cannot be run
    assert shells.for_models({"PATH": str(tmp_path)}) == ("sh", "-c")


def _with_bash(folder: Path) -> Path:
    (folder / "bash").touch(0o755)
    return folder
