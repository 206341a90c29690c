"""Which repositories a search finds below a directory that is open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import search
from outlive.system.fds import DIRECTORY, Closing


def found(place: Path, name: str) -> list[tuple[str, str]]:
    with Closing(os.open(place, DIRECTORY)) as fd:
        return search.find({name: fd})


@pytest.mark.parametrize("name", [".GIT", ".Git", ".giT"])
def test_a_directory_that_is_called_git_in_another_case_is_searched(tmp_path: Path, name: str) -> None:
    (tmp_path / name / "a/app/.git").mkdir(parents=True)
    assert ("g", str(tmp_path / name / "a/app")) in found(tmp_path, str(tmp_path))


def test_what_lies_in_git_itself_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / ".git/modules/a/.git").mkdir(parents=True)
    assert found(tmp_path, str(tmp_path)) == [("g", str(tmp_path))]


@pytest.mark.parametrize("name", ["git", "gone/git", "/nowhere"])
def test_a_repository_without_git_is_found_whatever_name_its_root_has(tmp_path: Path, name: str) -> None:
    (tmp_path / "logs/x/objects").mkdir(parents=True)
    (tmp_path / "logs/x/HEAD").touch()
    (tmp_path / "other/objects").mkdir(parents=True)
    (tmp_path / "other/head").touch()
    assert found(tmp_path, name) == [("b", f"{name}/logs/x")]
