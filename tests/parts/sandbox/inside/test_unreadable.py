"""What cannot be looked at is not taken for what is not there: it may be what is to be kept from a job."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import after, guard, hidden
from outlive.system import paths
from parts.sandbox.inside.test_break_out import Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture

# Root may enter what is shut
OTHER = pytest.mark.parametrize("user", ["self" if os.geteuid() else "other"])
INSIDE = ("run", "--wait", "--sandbox", "workspace-write")


@OTHER
def test_a_file_with_another_name_is_kept_in_a_directory_that_a_job_shut(ground: Ground) -> None:
    for number, (mode, git) in enumerate((("400", "read"), ("000", "write"), ("400", "write"))):
        place, store = ground.directory(f"w{number}"), ground.directory(f"store{number}")
        ground.shell(f"mkdir -p lib/idna; echo shared > {store}/f; ln {store}/f lib/idna/f", place)
        for command in (f"chmod {mode} lib/idna", "chmod 700 lib/idna; echo evil >> lib/idna/f"):
            answer = ground.outlive(*INSIDE, "--git", git, command, cwd=place)
        assert answer["ok"] and (store / "f").read_text() == "shared\n", (mode, git, answer)
        ground.shell("chmod 700 lib/idna", place)


@OTHER
def test_what_a_job_cannot_open_either_refuses_no_start(ground: Ground) -> None:
    """The data of a server that another user runs, as a container does."""
    data = ground.directory("w", ".devcontainer", "data")
    data.chmod(0o700)
    os.chown(data, ground.ids[0] + (os.geteuid() == 0), -1)
    assert ground.outlive(*INSIDE, "true", cwd=ground.home / "w")["exit_code"] == 0


@OTHER
def test_hooks_and_settings_that_cannot_be_looked_at_refuse_the_start(ground: Ground) -> None:
    for number, (script, named) in enumerate(
        (
            ("git init -q .; git config core.hooksPath ../hooks; mkdir ../hooks; chmod 0 ../hooks", "hooks"),
            ("mkdir below; echo > below/.envrc; chmod 400 below", "w/below/.envrc"),
            ("ln -s .vscode .vscode", "w/.vscode"),
        )
    ):
        place = ground.directory(f"{number}", "w")
        ground.shell(script, place)
        error = ground.outlive(*INSIDE, "true", cwd=place)["error"]
        assert error["code"] == "sandbox_unavailable", error
        assert f"{ground.home}/{number}/{named}: " in error["message"], error
        ground.shell("chmod 700 ../hooks below", place)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is refused before: no command can be started there")
@pytest.mark.parametrize("user", ["self"])
def test_a_workspace_that_a_job_shut_says_how_it_is_opened(ground: Ground) -> None:
    place = ground.directory("w")
    assert ground.outlive(*INSIDE, "chmod 0 .", cwd=place)["exit_code"] == 0
    error = ground.outlive(*INSIDE, "true", cwd=place)["error"]
    assert error["code"] == "sandbox_unavailable" and str(place) in error["message"], error
    assert error["hint"] == "Its owner may not enter this directory: `chmod u+rwx` allows it."
    place.chmod(0o700)
    assert ground.outlive(*INSIDE, "true", cwd=place)["exit_code"] == 0


def broken(at: Path) -> Callable[..., Any]:
    """A look at a path, on a disk that answers with an error at one of them."""
    look = os.stat

    def stat(path: Any, **more: Any) -> os.stat_result:
        if path == str(at):
            raise OSError(errno.EIO, "Input/output error", path)
        return look(path, **more)

    return stat


def sandbox_of(root: Path, *, hide: tuple[Path, ...] = (), protect: tuple[Path, ...] = ()) -> Sandbox:
    status = root.stat()
    return Sandbox(
        mode="workspace-write",
        home="/nonexistent",
        roots=[str(root)],
        root_ids=[[status.st_dev, status.st_ino]],
        hide=[*map(str, hide)],
        protect=[*map(str, protect)],
    )


@pytest.mark.parametrize("name", [".vscode", ".envrc", "ours", "tree/.git", ".git/modules/m/HEAD"])
def test_what_a_disk_does_not_tell_is_not_taken_for_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    root = tmp_path / "w"
    for folder in (".vscode", "ours", "tree", ".git/worktrees/t", ".git/modules/m"):
        (root / folder).mkdir(parents=True)
    for file in (".envrc", ".git/modules/m/HEAD", ".git/worktrees/t/HEAD"):
        (root / file).touch()
    (root / ".git/worktrees/t/gitdir").write_text(f"{root}/tree/.git\n")
    sandbox = sandbox_of(root, protect=(root / "ours",))
    guard.guarded(sandbox)
    monkeypatch.setattr(os, "stat", broken(root / name))
    with pytest.raises(OSError, match="Input/output error") as raised:
        guard.guarded(sandbox)
    assert raised.value.filename == str(root / name)


def test_what_is_to_be_hidden_and_cannot_be_looked_at_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "shown/keys"
    keys.mkdir(parents=True)
    sandbox = sandbox_of(tmp_path / "shown", hide=(keys,))
    monkeypatch.setattr(os, "stat", broken(keys))
    with pytest.raises(OSError, match="Input/output error"):
        hidden.to_cover(sandbox, {}, [str(tmp_path / "shown")])


def test_what_a_job_put_where_it_cannot_be_looked_at_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "w/tree"
    (tmp_path / "w/.git/worktrees/t").mkdir(parents=True)
    (tmp_path / "w/.git/worktrees/t/HEAD").touch()
    (tmp_path / "w/.git/worktrees/t/gitdir").write_text(f"{tree}/.git\n")
    sandbox = sandbox_of(tmp_path / "w")
    before = after.Before.found_by(guard.guarded(sandbox))
    assert before.missing == [f"{tree}/.git"] and after.check(sandbox, before) == []
    look = os.lstat

    def lstat(path: Any, **more: Any) -> os.stat_result:
        if path == f"{tree}/.git":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return look(path, **more)

    monkeypatch.setattr(os, "lstat", lstat)
    assert after.check(sandbox, before) == [{"path": f"{tree}/.git", "kind": "hooks"}]


def test_only_what_nobody_could_reach_is_missing(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "file").touch()
    assert paths.status_of(str(tmp_path / "no")) is None and paths.status_of(str(tmp_path / "file/no")) is None
    for name in ("round/below", "x" * 300):
        with pytest.raises(OSError, match=name):
            paths.status_of(str(tmp_path / name))
