"""The directories that jobs in sandboxes may write are known to every process of ours."""

from __future__ import annotations

import binascii
import os
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.system import own_programs, workspaces


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(own_programs, "_workspaces", {})
    home = str(tmp_path / "home")
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return {"HOME": home}


def test_what_is_noted_once_is_known_once(env: dict[str, str]) -> None:
    for _ in range(2):
        workspaces.note(["/a", "/b"], env)
    workspaces.note(["/c\n\udcff"], env)
    assert sorted(workspaces.noted(env)) == ["/a", "/b", "/c\n\udcff"]


def test_paths_with_the_same_checksum_are_told_apart(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binascii, "crc32", lambda data: 7)
    for path in ("/a", "/b", "/a", "/b"):
        workspaces.note([path], env)
    assert sorted(workspaces.noted(env)) == ["/a", "/b"]


def test_what_is_gone_is_forgotten_when_there_are_many(
    env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "_MANY", 3)
    workspaces.note([str(tmp_path), "/gone/1"], env)
    workspaces.note(["/gone/2"], env)
    assert len(workspaces.noted(env)) == 3
    workspaces.note(["/new"], env)
    assert sorted(workspaces.noted(env)) == sorted([str(tmp_path), "/new"])


def test_what_another_process_forgets_in_this_moment_keeps_nothing_from_being_noted(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "_MANY", 2)
    workspaces.note(["/gone/1", "/gone/2"], env)
    unlink = os.unlink

    def twice(path: str) -> None:
        unlink(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", twice)
    workspaces.note(["/new"], env)
    assert workspaces.noted(env) == ["/new"]


def test_a_program_found_to_be_safe_is_so_no_longer_once_a_job_may_write_it(
    env: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "tools" / "bin" / "ssh"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    env["PATH"] = str(program.parent)
    assert own_programs.find("ssh", env) == str(program)
    workspaces.note([str(tmp_path / "tools")], env)
    with pytest.raises(OutliveError, match="passed over"):
        own_programs.find("ssh", env)


def test_a_state_directory_that_cannot_be_written_stops_no_job(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    unwritable = {**env, "XDG_STATE_HOME": str(tmp_path / "file" / "below")}
    workspaces.note(["/a"], unwritable)
    assert workspaces.noted(env) == ["/a"], "this process has a state directory of its own"
    assert workspaces.noted_in([str(tmp_path / "file" / "below" / "outlive")]) == []


def test_what_a_caller_notes_elsewhere_is_known_to_both(env: dict[str, str], tmp_path: Path) -> None:
    theirs = {**env, "XDG_STATE_HOME": str(tmp_path / "theirs")}
    workspaces.note(["/a"], theirs)
    workspaces.note(["/b"], env)
    assert sorted(workspaces.noted(theirs)) == ["/a", "/b"]
    assert workspaces.noted_in([str(tmp_path / "theirs" / "outlive"), "/nowhere"]) == ["/a"]
