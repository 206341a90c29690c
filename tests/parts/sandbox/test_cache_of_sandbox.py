"""What jobs in a sandbox cache has another name after each job, but not while one starts with it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import access, visible_paths
from outlive.parts.sandbox.confinement.mounts import Mounts, _caches, rename_cache
from outlive.system import workspaces
from outlive.system.fds import DIRECTORY, Closing


def started(place: Path) -> Mounts:
    """What bubblewrap is given at the start of a job."""
    mounts = Mounts(12)
    _caches(mounts, Sandbox(mode="workspace-write", home=str(place / "home"), cache=str(place / "cache")))
    return mounts


def name(place: Path) -> str:
    (cached,) = (place / "cache").glob("at-*")
    return cached.name


def test_the_name_changes_at_the_end_of_a_job_and_not_before_all_that_start_have_mounted_it(tmp_path: Path) -> None:
    rename_cache(str(tmp_path / "cache"))  # there is none
    one, other = started(tmp_path), started(tmp_path)
    first = name(tmp_path)
    (tmp_path / "cache" / first / ".cache/mine").touch()
    for mounts in (one, other):
        rename_cache(str(tmp_path / "cache"))
        assert name(tmp_path) == first
        mounts.close()
    rename_cache(str(tmp_path / "cache"))
    assert name(tmp_path) != first and (tmp_path / "cache" / name(tmp_path) / ".cache/mine").exists()


def test_a_job_can_neither_keep_the_name_nor_hold_up_the_next_start(tmp_path: Path) -> None:
    started(tmp_path).close()
    first = name(tmp_path)
    cached = tmp_path / "cache" / first / ".cache"
    cached.chmod(0)  # as a job may leave it
    rename_cache(str(tmp_path / "cache"))
    assert name(tmp_path) != first
    cached = tmp_path / "cache" / name(tmp_path) / ".cache"
    cached.chmod(0o700)
    (cached / "mine").touch()
    with Closing(os.open(cached, DIRECTORY)) as fd, Closing(os.open(cached / "mine", os.O_RDONLY)) as inner:
        for one in (fd, inner):
            fcntl.flock(one, fcntl.LOCK_EX)  # as one that runs may have it
        started(tmp_path).close()
        second = name(tmp_path)
        rename_cache(str(tmp_path / "cache"))
        assert name(tmp_path) != second


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    started(tmp_path).close()
    (lock,) = (path for path in (tmp_path / "cache").iterdir() if path.is_file())
    lock.unlink()
    lock.symlink_to(tmp_path / "made")
    with pytest.raises(OSError, match="symbolic links"):
        started(tmp_path)
    assert not (tmp_path / "made").exists()


def test_where_the_cache_is_does_not_depend_on_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job may rename that between two looks at it."""
    looks = iter(f"/{at}" for at in range(100))
    monkeypatch.setattr(os, "getcwd", lambda: next(looks))
    caches = {visible_paths.fixed(f"{tmp_path}/.cache", str(tmp_path)) for _ in range(2)}
    (cache,) = {os.path.dirname(access._cache(str(one), ["/w"])) for one in caches}
    assert cache == f"{tmp_path}/.cache/outlive/sandbox"


def test_a_home_is_no_virtual_environment(tmp_path: Path) -> None:
    """As after `python -m venv ~`: else all of the home counted as shown."""
    for folder in ("bin", "env/bin"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder).with_name("pyvenv.cfg").touch()
    named = visible_paths.toolchains({"PATH": f"{tmp_path}/bin:{tmp_path}/env/bin"}, str(tmp_path))
    assert named == [f"{tmp_path}/bin", f"{tmp_path}/env"]


def test_where_jobs_ran_pyvenv_cfg_makes_no_virtual_environment(tmp_path: Path) -> None:
    """A job wrote it, so that jobs elsewhere see all of its project: of a directory of PATH they see that alone."""
    env = {"HOME": str(tmp_path)}
    for folder in ("tools/bin", "tools/below/bin", "env/bin"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder).with_name("pyvenv.cfg").touch()
    (tmp_path / "link").symlink_to("tools")
    workspaces.note([str(tmp_path / "tools")], env)
    folders = [f"{tmp_path}/{name}" for name in ("tools/bin", "tools/below/bin", "link/bin")]
    named = visible_paths.toolchains({**env, "PATH": ":".join([*folders, f"{tmp_path}/env/bin"])}, str(tmp_path))
    assert named == [*folders, f"{tmp_path}/env"]
