"""Names that a job changes while another sandbox is made, or while its supervisor looks after it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from outlive.core import real_path
from outlive.core.records import Definition, Sandbox, State
from outlive.jobs.conditions.condition import Condition
from outlive.jobs.conditions.kind import Asked
from outlive.parts.outside.probes import File
from outlive.parts.sandbox.confinement import after, guard, search, visible_paths
from outlive.parts.sandbox.confinement.guard import Guard
from outlive.parts.sandbox.confinement.mounts import Mounts, add
from outlive.parts.sandbox.reach import Reach
from outlive.store.inspection.inspection import Inspection
from outlive.system import workspaces
from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture
from support import wait

IN_ONE = ("--sandbox", "workspace-write")


def sandbox_of(root: Path) -> Sandbox:
    status = root.stat()
    ids = [[status.st_dev, status.st_ino]]
    return Sandbox(mode="workspace-write", roots=[str(root)], root_ids=ids, home=str(root.parent))


def guarded(root: Path) -> Guard:
    return guard.guarded(sandbox_of(root))


def test_a_link_that_takes_the_place_of_a_directory_is_not_mounted(tmp_path: Path) -> None:
    """Bubblewrap would follow it, with the rights of the user, and mount what lies behind it writable."""
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    (root / "below/.git").mkdir(parents=True)
    (outside / ".git").mkdir(parents=True)
    kept = guarded(root)
    (root / "below").rename(root / "old")
    (root / "below").symlink_to(outside)
    mounts = Mounts(100)
    with pytest.raises(OSError, match="stands in its place"):
        kept.mount(mounts)
    mounts.close()


def test_another_repository_that_takes_the_place_of_one_is_not_mounted(tmp_path: Path) -> None:
    (tmp_path / "one/.git").mkdir(parents=True)
    kept = guarded(tmp_path)
    (tmp_path / "one").rename(tmp_path / "old")
    (tmp_path / "one/.git").mkdir(parents=True)
    mounts = Mounts(100)
    with pytest.raises(OSError, match="stands in its place"):
        kept.mount(mounts)
    mounts.close()


@pytest.mark.parametrize("name", ["config", "config.worktree", "commondir", "hooks/pre-commit"])
def test_a_repository_that_was_moved_while_it_was_written_is_reported(tmp_path: Path, name: str) -> None:
    """Two jobs: one moves a repository that it made, the other writes what it was not mounted from, the first moves it back."""
    git = tmp_path / "one/.git"
    (git / "hooks").mkdir(parents=True)
    (git / "config").write_text("[core]\n\tbare = false\n")
    before = after.Before.found_by(guarded(tmp_path))
    (tmp_path / "one").rename(tmp_path / "other")
    (tmp_path / "other/.git" / name).write_text("[core]\n\tfsmonitor = x\n")
    (tmp_path / "other").rename(tmp_path / "one")
    assert after.check(sandbox_of(tmp_path), before) == [{"path": str(git), "kind": "changed"}]


def test_a_repository_that_gets_the_inode_of_a_file_that_is_gone_is_disarmed(tmp_path: Path) -> None:
    """The number of a file `.git` is free when it is replaced, and goes to the next that is made."""
    git = tmp_path / "one/.git"
    git.parent.mkdir()
    git.write_text("gitdir: /nowhere\n")
    before = after.Before.found_by(guarded(tmp_path))
    git.unlink()
    (git / "objects").mkdir(parents=True)
    (git / "HEAD").touch()
    (git / "config").write_text("[core]\n\tfsmonitor = x\n")
    inode, known = git.stat().st_ino, before.repositories[str(git)]
    before.repositories[str(git)] = [inode if value == known[1] else value for value in known]
    moved = f"{git}.from-sandbox"
    assert after.check(sandbox_of(tmp_path), before) == [{"path": str(git), "kind": "repository", "moved_to": moved}]


def test_plain_settings_that_the_user_changes_meanwhile_are_not_reported(tmp_path: Path) -> None:
    git = tmp_path / "one/.git"
    (git / "hooks").mkdir(parents=True)
    before = after.Before.found_by(guarded(tmp_path))
    (git / "config").write_text('[branch "main"]\n\tremote = origin\n')
    (git / "hooks/pre-push.sample").touch()
    assert after.check(sandbox_of(tmp_path), before) == []


def test_directories_that_are_shut_again_and_again_hold_up_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that a job left can do it, and so can a job with as many of them in each other."""
    shut, looks = tmp_path / "shut", 0
    shut.mkdir()

    def find(*_: object) -> list[tuple[str, str]]:
        nonlocal looks
        looks += 1
        assert looks < 10, "it goes on for ever"
        shut.chmod(0)
        return [("u", str(shut))]

    before = after.Before.found_by(guarded(tmp_path))
    monkeypatch.setattr(search, "find", find)
    monkeypatch.setattr(after, "_OPENING_S", 0.0)
    assert after.check(sandbox_of(tmp_path), before) == [{"path": str(shut), "kind": "unchecked"}]
    shut.chmod(0o700)


def test_an_entry_of_the_home_that_leads_into_the_workspace_shows_nothing_else_when_it_becomes_a_link(
    tmp_path: Path,
) -> None:
    """`~/bin` is a link to `~/dotfiles/bin`, in which a job works that turns it into a link to `~/.ssh` and back."""
    root, keys = tmp_path / "dotfiles", tmp_path / ".ssh"
    (root / "bin").mkdir(parents=True)
    keys.mkdir()
    (tmp_path / "bin").symlink_to("dotfiles/bin")
    sandbox = sandbox_of(root)

    def guarded() -> None:
        (root / "bin").rename(root / "old")
        (root / "bin").symlink_to(keys)

    for turns in (lambda: None, guarded):
        mounts = Mounts(100)
        add(mounts, sandbox, str(root), turns)
        shown = {mounts.words[at + 2]: mounts.words[at : at + 2] for at in range(len(mounts.words) - 2)}
        how, number = shown[str(tmp_path / "bin")]
        assert (how, os.readlink(f"/proc/self/fd/{mounts.files[int(number)]}")) in [
            ("--ro-bind-fd", str(root / "bin")),
            ("--ro-bind-fd", str(root / "old")),
        ]
        mounts.close()
    assert visible_paths.entries(sandbox) == {}, "a link in the workspace"


@pytest.mark.parametrize("named", ["show", "toolchains"])
def test_a_directory_that_becomes_a_link_between_two_looks_shows_nothing_of_what_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """It lies in another workspace, in which a job runs; the configuration or the environment names it for this one."""
    root, other, keys = tmp_path / "workspace", tmp_path / "other/lib", tmp_path / ".ssh"
    for folder in (root, other, keys):
        folder.mkdir(parents=True)
    there = [str(other)]
    mine = sandbox_of(root)
    sandbox = Sandbox.replace(mine, show=there) if named == "show" else Sandbox.replace(mine, toolchains=there)

    def looked_at(path: str) -> tuple[str | None, list[str]]:
        found = real_path.followed(path)
        if path == str(other) and not other.is_symlink():
            other.rmdir()
            other.symlink_to(keys)
        return found

    monkeypatch.setattr(visible_paths, "followed", looked_at)
    assert visible_paths.visible(sandbox, {})[-2:] == [str(other), str(root)]
    other.unlink()
    other.mkdir()
    mounts = Mounts(100)
    with pytest.raises(OSError, match="it is a link"):
        add(mounts, sandbox, str(root), lambda: None)
    mounts.close()


@USERS
def test_a_link_in_the_place_of_a_toolchain_shows_nothing_to_the_next_job(ground: Ground) -> None:
    place = ground.directory("attacks")
    more = {"VIRTUAL_ENV": f"{place}/.venv", "PATH": f"{place}/tools:{os.environ['PATH']}"}
    ground.shell("mkdir -p .venv/bin tools", place)
    script = "mv .venv old; ln -s ~/.ssh .venv; rmdir tools; ln -s ~/.ssh tools"
    assert ground.outlive("run", "--wait", *IN_ONE, script, cwd=place, **more)["exit_code"] == 0
    answer = ground.outlive("run", "--wait", *IN_ONE, "! cat ~/.ssh/id_ed25519", cwd=place, **more)
    assert answer["ok"] and answer["exit_code"] == 0, answer


@USERS
def test_a_working_tree_that_another_job_makes_up_shows_nothing(ground: Ground) -> None:
    """Its git directory lies in the cache of the sandbox, which jobs write."""
    place = ground.directory("attacks")
    script = (
        "mkdir -p t ~/.cache/evil; echo $PWD/t/.git > ~/.cache/evil/gitdir; echo $HOME/.ssh > ~/.cache/evil/commondir; "
        "touch cached; until test -s evil; do sleep 0.05; done; "
        'echo "gitdir: $(cat evil)" > t/.git; touch made; until test -e go; do sleep 0.05; done'
    )
    job = str(ground.outlive("run", "--snapshot-after", "0", *IN_ONE, script, cwd=place)["job_id"])
    wait.until((place / "cached").exists, what="the directory")
    (evil,) = ground.home.glob(".cache/outlive/sandbox/*/*/.cache/evil")
    (place / "evil").write_text(str(evil))
    wait.until((place / "made").exists, what="the working tree")
    answer = ground.outlive("run", "--wait", *IN_ONE, "! cat ~/.ssh/id_ed25519", cwd=place)
    (place / "go").touch()
    ground.outlive("wait", job)
    assert answer["ok"] and answer["exit_code"] == 0, answer


def test_a_file_that_becomes_a_link_while_it_is_looked_for_tells_nothing_of_what_it_leads_to(tmp_path: Path) -> None:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.touch()
    looked: list[str] = []

    class Turning(Reach):
        """The job makes its link in the middle of a look."""

        def sees(self, path: str) -> bool:
            answer = super().sees(path)
            looked.append(path)
            if not (root / "turns").is_symlink():
                (root / "turns").symlink_to(outside)
            return answer

    job = Inspection(Definition(cwd=str(root), created_at="2026-01-01T00:00:00.000Z"), State(state="running"))
    nothing: Any = None  # a file needs neither the call nor the job's directory
    reach = Turning(sandbox_of(root), network=False)
    waiting = File(Asked(Condition("file", "turns"), nothing, nothing, job, reach))
    assert waiting.check(job) is None
    (root / "turns").unlink(missing_ok=True)
    (root / "turns").symlink_to(outside)
    assert waiting.check(job) is None
    assert looked == [str(outside)]


def test_a_search_that_failed_keeps_no_other_look_from_being_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, app = tmp_path / "w", tmp_path / "w" / "app"
    for top in (root, app):
        (top / ".git/hooks").mkdir(parents=True)
        (top / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (top / ".mcp.json").write_text("{}")
    before = after.Before.found_by(guarded(root))
    for top in (root, app):
        (top / ".mcp.json").write_text('{"mcpServers": {}}')
        (top / ".envrc").write_text("x")
        (top / ".vscode").mkdir()
    (app / ".git/config").write_text("[core]\n\tfsmonitor = x\n")

    def failed(*_: object) -> list[tuple[str, str]]:
        raise search.Unguarded("the path is longer than 4,000 bytes: x")

    monkeypatch.setattr(search, "find", failed)
    found = {(one["kind"], one["path"]) for one in after.check(sandbox_of(root), before)}
    settings = {("settings", f"{top}/{name}") for top in (root, app) for name in (".mcp.json", ".envrc", ".vscode")}
    assert found == settings | {("unchecked", str(root)), ("changed", f"{app}/.git")}


def test_one_look_that_fails_keeps_no_other_from_being_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = after.Before.found_by(guarded(tmp_path))
    (tmp_path / ".envrc").write_text("x")
    (tmp_path / "new/.git").mkdir(parents=True)

    def failed(*_: object) -> bool:
        raise ValueError("what no case says")

    monkeypatch.setattr(after, "_is_harmless", failed)
    found = [(one["kind"], one["path"]) for one in after.check(sandbox_of(tmp_path), before)]
    assert ("settings", f"{tmp_path}/.envrc") in found and ("unchecked", f"{tmp_path}/new") in found


@pytest.mark.parametrize("named", ["show", "toolchains"])
def test_a_link_that_a_job_left_in_a_directory_of_the_system_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Its workspace was below /opt or /usr/src."""
    root, system, state = tmp_path / "workspace", tmp_path / "opt", tmp_path / "state"
    for folder in (root, system / "app", tmp_path / ".ssh"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(visible_paths, "SYSTEM", (str(system),))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    (system / "app" / "bin").symlink_to(tmp_path / ".ssh")
    link, hide = [str(system / "app" / "bin")], [str(state / "outlive")]
    mine = Sandbox.replace(sandbox_of(root), hide=hide)
    given = Sandbox.replace(mine, show=link) if named == "show" else Sandbox.replace(mine, toolchains=link)
    assert visible_paths.chosen(given) == [str(tmp_path / ".ssh")], "the system's own links are followed"
    workspaces.note([str(system / "app")], {})
    assert visible_paths.chosen(given) == []
