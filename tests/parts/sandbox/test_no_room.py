"""A repository that a job made is disarmed on a full disk too, where a new name finds no room."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import after, guard


def _in(root: Path) -> Sandbox:
    status = root.stat()
    return Sandbox(
        mode="workspace-write", roots=[str(root)], root_ids=[[status.st_dev, status.st_ino]], home=str(root.parent)
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("git", ["", ".git", "file"])
def test_a_repository_is_none_any_more_where_it_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: str, number: int
) -> None:
    before = after.Before.found_by(guard.guarded(_in(tmp_path)))
    place = tmp_path / "new"
    place.mkdir()
    if git == "file":
        head = place / ".git"
        head.write_text("gitdir: /elsewhere\n")
    else:
        (place / git / "objects").mkdir(parents=True)
        (place / git / "config").write_text("[core]\n\tfsmonitor = x\n")
        head = place / git / "HEAD"
        head.write_text("ref: refs/heads/main\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "rename", full)
    found = after.check(_in(tmp_path), before)
    assert [one["kind"] for one in found] == ["armed"]
    assert not head.exists()
