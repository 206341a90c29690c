"""Who may change a directory on the way to the job root can put another root in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.store import root as root_module
from outlive.store.root import Store
from support.cli import Cli

STRANGER = 12_345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory to another user")


def _refused(cli: Cli, root: Path, *words: str) -> str:
    """The error of a call with this root: message and hint."""
    error = cli.error("--root", str(root), *(words or ("list",)), code="store_unsafe")
    return f"{error['message']} | {error['hint']}"


def _works(cli: Cli, root: Path) -> None:
    assert cli.ok("--root", str(root), "list", "--all")["root"] == os.path.realpath(root)


@as_root
def test_a_directory_of_another_user_on_the_way_is_refused(cli: Cli, work: Path) -> None:
    (work / "theirs" / "inner").mkdir(parents=True)
    root = work / "theirs" / "inner" / "jobs"
    _works(cli, root)
    os.chown(work / "theirs", STRANGER, -1)
    assert f"{work}/theirs on the way to the job root belongs to uid {STRANGER}" in _refused(cli, root)
    assert "--root" in _refused(cli, root, "run", "touch", str(work / "ran"))
    assert not (work / "ran").exists()
    checks = cli.ok("--root", str(root), "doctor")["checks"]
    assert any("belongs to uid" in str(one) for one in checks)


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o2777])
def test_a_directory_that_others_may_write_is_refused_unless_it_is_sticky(cli: Cli, work: Path, mode: int) -> None:
    open_ = work / "open"
    open_.mkdir()
    open_.chmod(mode)
    said = _refused(cli, open_ / "jobs")
    assert f"{open_} on the way to the job root is writable by others (mode {mode:04o})" in said
    assert f"chmod go-w {open_}" in said
    assert not (open_ / "jobs").exists()
    open_.chmod(mode | 0o1000)
    _works(cli, open_ / "jobs")


@as_root
def test_in_a_sticky_directory_what_another_user_made_is_refused(cli: Cli, work: Path) -> None:
    shared = work / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "theirs").mkdir()
    os.chown(shared / "theirs", STRANGER, -1)
    assert "belongs to" in _refused(cli, shared / "theirs" / "jobs")
    (work / "ours").mkdir()
    (shared / "link").symlink_to(work / "ours")
    os.lchown(shared / "link", STRANGER, -1)
    assert f"the link {shared}/link on the way" in _refused(cli, shared / "link" / "jobs")
    os.lchown(shared / "link", os.geteuid(), -1)
    _works(cli, shared / "link" / "jobs")
    assert (work / "ours" / "jobs").is_dir()


@as_root
def test_a_link_leads_to_a_way_that_is_checked_too(cli: Cli, work: Path) -> None:
    (work / "theirs" / "inner").mkdir(parents=True)
    os.chown(work / "theirs", STRANGER, -1)
    (work / "link").symlink_to("theirs/inner")
    assert f"{work}/theirs" in _refused(cli, work / "link" / "jobs")
    (work / "loop").symlink_to("loop")
    cli.error("--root", str(work / "loop" / "jobs"), "list", code="io_error")


def test_what_is_missing_of_the_way_is_made_for_this_user_alone(cli: Cli, work: Path) -> None:
    before = os.umask(0)
    try:
        _works(cli, work / "a" / "b" / "jobs")
    finally:
        os.umask(before)
    assert {(work / part).stat().st_mode & 0o777 for part in ("a", "a/b", "a/b/jobs")} == {0o700}


@as_root
def test_a_group_of_this_user_alone_may_write_and_another_one_may_not(work: Path) -> None:
    folder = work / "folder"
    folder.mkdir()
    folder.chmod(0o775)
    Store.open(str(folder / "jobs"), {}).close()
    os.chown(folder, -1, STRANGER)
    with pytest.raises(OutliveError, match="writable by others"):
        Store.open(str(folder / "jobs"), {})


@as_root
def test_a_server_that_opens_its_root_again_checks_the_way_again(work: Path) -> None:
    (work / "a").mkdir()
    root = str(work / "a" / "jobs")
    Store.open(root, {}).close()
    Store.existing(root).close()
    os.chown(work / "a", STRANGER, -1)
    with pytest.raises(OutliveError, match="belongs to"):
        Store.existing(root)


def test_users_that_a_container_does_not_have_are_trusted_only_where_root_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not root_module._is_unmapped_root(STRANGER)
    assert not root_module._is_unmapped_root(65_534) or os.geteuid() != 0
    del monkeypatch
