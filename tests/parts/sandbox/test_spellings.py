"""Directories that ignore case, as Windows drives in WSL do, are recognised by what another spelling of a name leads to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement.access import is_writable
from outlive.parts.sandbox.confinement.mounts import require_one_spelling
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.system import paths

real = paths.entry


def ignoring(folder: Path) -> object:
    """What `entry` finds where a directory, and what is below it, ignores case."""

    def entry(path: str) -> tuple[int, int] | None:
        at = str(folder)
        if not path.startswith(at + "/"):
            return real(path)
        for name in path.removeprefix(at + "/").split("/"):
            there = (one for one in os.listdir(at) if one.lower() == name.lower())
            at = os.path.join(at, next(there, name))
        return real(at)

    return entry


@pytest.mark.parametrize("below", [".git", "sub/.git", "SUB/1/2", "f\u00fcr/1"])
def test_what_is_kept_where_case_is_ignored_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    kept = tmp_path / below
    kept.mkdir(parents=True)
    require_one_spelling([str(kept)], [str(tmp_path)])
    monkeypatch.setattr("outlive.parts.sandbox.confinement.mounts.entry", ignoring(tmp_path))
    with pytest.raises(Unguarded, match="ignores case in names"):
        require_one_spelling([str(kept)], [str(tmp_path)])
    require_one_spelling([str(kept)], [str(tmp_path / "elsewhere")])
    require_one_spelling([str(tmp_path / "missing")], [str(tmp_path)])


def test_two_names_of_one_file_are_no_two_spellings(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("")
    os.link(tmp_path / "tool", tmp_path / "TOOL")
    require_one_spelling([str(tmp_path / "tool")], [str(tmp_path)])


def test_a_notification_is_not_written_by_another_spelling(tmp_path: Path) -> None:
    place = Sandbox(
        mode="workspace-write", roots=[str(tmp_path)], hide=[f"{tmp_path}/state"], protect=[f"{tmp_path}/venv"]
    )
    assert is_writable(place, f"{tmp_path}/log")
    for name in (".GIT/hooks/post-checkout", "sub/.Git/config", ".VSCode/tasks.json", ".MCP.json", "State/x", "VENV/y"):
        assert not is_writable(place, f"{tmp_path}/{name}"), name
