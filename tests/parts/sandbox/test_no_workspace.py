"""Directories that a job may not write though outlive was started in them, or they are named in `write`: what lies there
is loaded or run outside of the sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import outlive
from outlive.core.records import GrantedSandbox, Sandbox
from outlive.errors import OutliveError
from outlive.parts.sandbox.confinement import access
from outlive.parts.sandbox.confinement.guard import Guard
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.parts.sandbox.settings import Settings
from outlive.system import interpreter, mounts
from support.cli import Cli
from support.mcp_client import McpSession


def resolved(
    workspace: Path | str, home: Path, mode: str = "workspace-write", git: str = "read", **settings: list[str]
) -> Sandbox:
    return access.resolved(
        granted=GrantedSandbox(mode, "none", git),
        settings=Settings(**settings),  # type: ignore[arg-type]
        workspace=str(workspace),
        homes=[str(home)],
        ours=access.Ours([], interpreter.installed(), ""),
    )


OWN = (
    outlive.DIRECTORY,
    f"{outlive.DIRECTORY}/parts",
    sysconfig.get_paths()["purelib"],
    os.path.dirname(pytest.__file__),
    os.path.dirname(os.__file__),
    f"{os.path.dirname(os.__file__)}/json",
    sysconfig.get_paths()["scripts"],
)


@pytest.mark.parametrize("path", [*map(os.path.realpath, OWN)])
def test_where_code_of_ours_is_loaded_from_is_no_workspace(place: Path, work: Path, path: str) -> None:
    for root, write in ((path, []), (str(work), [path])):
        with pytest.raises(OutliveError, match="loads its own code from there") as raised:
            resolved(root, place / "home", write=write)
        assert raised.value.code == "config_error"
    assert resolved(path, place / "home", "read-only").roots == [path]


def test_code_of_ours_in_a_workspace_is_read_only(place: Path) -> None:
    above = os.path.dirname(os.path.realpath(os.path.dirname(os.__file__)))
    assert os.path.realpath(os.path.dirname(os.__file__)) in resolved(above, place / "home").protect


OBEYED = (
    "repo/.git/hooks",
    "repo/.git",
    "repo/.GIT/modules/x/hooks",
    "repo/.vscode",
    "repo/.Vscode/x",
    "repo/.husky/_",
    "home/.claude/skills/x",
    "repo/.Github/hooks/x",
    "repo/.claude/worktrees",
    "bare/hooks",
)


@pytest.mark.parametrize("path", OBEYED)
def test_what_git_and_tools_run_by_themselves_is_no_workspace(place: Path, work: Path, path: str) -> None:
    (place / path).mkdir(parents=True, exist_ok=True)
    for name in ("HEAD", "objects"):
        (place / "bare").mkdir(exist_ok=True)
        (place / "bare" / name).touch()
    for root, write in ((place / path, []), (work, [f"{place}/{path}"])):
        with pytest.raises(OutliveError, match="is run outside of the sandbox") as raised:
            resolved(root, place / "home", write=write)
        assert raised.value.code == "config_error"
    assert resolved(place / path, place / "home", "read-only").roots == [f"{place}/{path}"]


@pytest.mark.parametrize(
    "path",
    [
        "repo/.claude/worktrees/x",
        "home/.codex/worktrees/ab/repo",
        "repo/hooks",
        "bare/main",
        "repo/.github",
        "repo/hooks/.github",
        "x.git/y",
    ],
)
def test_a_working_tree_is_a_workspace_wherever_an_agent_puts_it(place: Path, path: str) -> None:
    (place / path).mkdir(parents=True)
    for name in ("HEAD", "objects"):
        (place / "bare").mkdir(exist_ok=True)
        (place / "bare" / name).touch()
    assert resolved(place / path, place / "home").roots == [f"{place}/{path}"]


def test_who_may_write_git_may_start_in_it_and_not_in_settings(place: Path) -> None:
    for name in (".git/x", ".vscode/x"):
        (place / "repo" / name).mkdir(parents=True)
    assert resolved(place / "repo/.git/x", place / "home", git="write").roots == [f"{place}/repo/.git/x"]
    with pytest.raises(OutliveError, match="is run outside of the sandbox"):
        resolved(place / "repo/.vscode/x", place / "home", git="write")


@pytest.mark.parametrize("setting", ["core.hooksPath", "init.templateDir"])
@pytest.mark.parametrize("inner", ["", "/hooks", "/hooks/lib"])
def test_below_hooks_that_settings_name_nothing_runs(place: Path, setting: str, inner: str) -> None:
    root = Path(f"{place}/named{inner}")
    root.mkdir(parents=True)
    home = place / "home"
    subprocess.run(["git", "config", "--file", home / ".gitconfig", setting, f"{place}/named"], check=True)
    with pytest.raises(Unguarded, match="has a writable directory in it"):
        Guard(resolved(root, home), [])


def test_both_faces_say_where_else_to_start(
    cli: Cli, place: Path, work: Path, mcp_connect: Callable[..., McpSession]
) -> None:
    hooks = work / ".git/hooks"
    hooks.mkdir(parents=True)
    told = cli.run("run", "--wait", "--sandbox", "workspace-write", "touch hook", cwd=hooks)["error"]
    assert mcp_connect(cwd=hooks).call("exec", command="touch hook", sandbox="workspace-write").result["error"] == told
    assert told["code"] == "config_error" and "Start outlive in the directory of the project" in told["hint"]
    assert list(hooks.iterdir()) == []


@pytest.mark.parametrize("path", ["/proc", "/proc/sys/vm", "/sys", "/sys/fs/cgroup", "/dev"])
def test_settings_of_the_kernel_are_no_workspace(place: Path, work: Path, path: str) -> None:
    assert resolved(path, place / "home").roots == []
    with pytest.raises(OutliveError, match="one of the kernel"):
        resolved(work, place / "home", write=[path])


@pytest.mark.parametrize("kind", sorted(access.KERNEL_FILE_SYSTEMS))
def test_each_file_system_of_the_kernel_counts(
    place: Path, work: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    real = mounts.mounts

    def with_one() -> Iterator[mounts.Mount]:
        yield from real()
        yield mounts.Mount("1", "0:999", "/", str(work), kind, [])

    monkeypatch.setattr(mounts, "mounts", with_one)
    assert resolved(work, place / "home").roots == []
    assert not access.is_workspace(f"{work}/below", []) and access.is_workspace(f"{place}/home/x", [])


def test_dev_is_no_workspace_where_it_is_a_tmpfs_as_in_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that a job left there in the place of our first program led bubblewrap to write elsewhere."""
    monkeypatch.setattr(mounts, "mounts", lambda: iter(()))
    assert not access.is_workspace("/dev", []) and access.is_workspace("/dev/shm/x", [])


def test_where_python_would_load_an_archive_from_a_job_writes_nothing(place: Path) -> None:
    archive = next(path for path in sys.path if path.endswith(".zip"))
    folder = os.path.realpath(os.path.dirname(archive))
    assert folder in resolved(folder, place / "home").protect
