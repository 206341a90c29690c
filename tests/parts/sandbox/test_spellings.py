"""Directories that ignore case, as Windows drives in WSL do, are recognised by what another spelling of a name leads to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.core.records import GrantedSandbox, Sandbox
from outlive.errors import OutliveError
from outlive.parts.sandbox.confinement import access
from outlive.parts.sandbox.confinement.access import is_writable
from outlive.parts.sandbox.confinement.mounts import require_one_spelling
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.parts.sandbox.settings import Settings
from outlive.system import own_programs, paths

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


def test_a_path_is_taken_as_its_directories_list_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "Proj/Secrets").mkdir(parents=True)
    other = f"{place}/proj/SECRETS"
    assert paths.as_listed(other) == other
    monkeypatch.setattr(paths, "entry", ignoring(place))
    assert paths.as_listed(other) == f"{place}/Proj/Secrets"
    assert paths.as_listed(f"{place}/Proj/Secrets") == f"{place}/Proj/Secrets"
    assert paths.as_listed(f"{other}/New") == f"{place}/Proj/Secrets/New"
    assert paths.as_listed("/") == "/"


def resolved(workspace: str, home: Path, **settings: list[str]) -> Sandbox:
    return access.resolved(
        granted=GrantedSandbox("workspace-write", "none", "read"),
        settings=Settings(**settings),  # type: ignore[arg-type]
        workspace=workspace,
        homes=[str(home)],
        ours=access.Ours([], [], ""),
    )


def test_a_directory_that_is_named_in_another_spelling_is_refused_with_the_right_one(
    place: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Proj/Secrets", "Home"):
        (place / name).mkdir(parents=True)
    monkeypatch.setattr(paths, "entry", ignoring(place))
    home, proj = place / "Home", f"{place}/proj"
    assert resolved(f"{place}/Proj", home).roots == [f"{place}/Proj"]
    nothing: list[str] = []
    for workspace, of_user, write, show in (
        (proj, home, nothing, nothing),
        (str(work), home, [proj], nothing),
        (str(work), home, nothing, [proj]),
        (str(work), place / "HOME", nothing, nothing),
        (f"{place}/hOME", home, nothing, nothing),
    ):
        with pytest.raises(OutliveError, match="which ignores case, lists it as") as raised:
            resolved(workspace, of_user, write=write, show=show)
        assert raised.value.code == "config_error"
        assert str(raised.value.hint).endswith((f"{place}/Proj.", f"{place}/Home."))


def test_what_is_hidden_is_found_by_any_spelling(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "Proj/Secrets").mkdir(parents=True)
    monkeypatch.setattr(paths, "entry", ignoring(place))
    found = resolved(f"{place}/Proj", place / "home", hide=[f"{place}/PROJ/secrets"])
    assert found.hide[0] == f"{place}/Proj/Secrets"


def test_no_program_comes_from_a_workspace_by_another_spelling(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Proj", "proj"):  # two for open(2), which cannot be taught to ignore case
        (place / name).mkdir()
        (place / name / "ssh").write_text("#!/bin/sh\n")
        (place / name / "ssh").chmod(0o755)
    env = {"PATH": f"{place}/proj", "HOME": f"{place}/home"}
    own_programs.know([f"{place}/Proj"])
    assert own_programs.find("ssh", env) == f"{place}/proj/ssh"
    monkeypatch.setattr(paths, "entry", lambda path: real(path.replace("/proj", "/Proj")))
    own_programs._seen_safe.clear()
    with pytest.raises(OutliveError, match="passed over"):
        own_programs.find("ssh", env)
