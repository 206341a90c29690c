"""A directory that is to be hidden and is not there: it is made before the start, and not where a link of a job leads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement.mounts import Mounts, add
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.system import paths
from support import wait
from support.cli import Cli, Jobs
from support.mcp_client import McpSession
from support.tiers import ONE_ERA

INSIDE = ("--sandbox", "workspace-write")


@ONE_ERA
def test_a_job_that_waits_has_nothing_made_through_a_link_of_the_job_before_it(
    cli: Cli,
    jobs: Jobs,
    place: Path,
    work: Path,
    mcp_connect: Callable[..., McpSession],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config, outside = place / "outlive.toml", place / "outside"
    outside.mkdir()
    config.write_text("")
    monkeypatch.setenv("OUTLIVE_CONFIG", str(config))
    script = f"until test -e go; do sleep 0.05; done; ln -s {outside} a"
    first = cli.ok("run", "--snapshot-after", "0", *INSIDE, script)["job_id"]
    config.write_text(f'[sandbox]\nmode = "workspace-write"\nhide = ["{work}/a/keys"]\n')
    late = [cli.ok("run", "--snapshot-after", "0", "--after", first, "touch ran")["job_id"]]
    session = mcp_connect(cwd=work)
    late.append(session.ok("exec", command="touch ran", after=[first], yield_ms=0)["job_id"])
    (work / "go").touch()
    for answer in (cli.ok("wait", late[0]), session.ok("process", action="wait", job_id=late[1])):
        assert answer["state"] == "failed"
        assert f"{work}/a/keys cannot be hidden from the job" in answer["message"]
        assert f"{work}/a: it is a link" in answer["message"]
    assert list(outside.iterdir()) == [] and not (work / "ran").exists()
    jobs.end()


def sandbox_of(root: Path, hide: Path, mode: str) -> Sandbox:
    status = root.stat()
    ids = [[status.st_dev, status.st_ino]]
    return Sandbox(mode=mode, roots=[str(root)], root_ids=ids, home=str(root.parent), hide=[str(hide)])


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
@pytest.mark.parametrize("link", ["a", "a/keys"])
def test_a_link_on_the_way_to_what_is_hidden_lets_nothing_start(tmp_path: Path, mode: str, link: str) -> None:
    """Else another directory were hidden, and the one that is meant were not when it is made."""
    root = tmp_path / "w"
    (root / "other/keys").mkdir(parents=True)
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(root / "other" if link == "a" else root / "other/keys")
    mounts = Mounts(100)
    with pytest.raises(Unguarded, match=f"{root}/{link}: it is a link"):
        add(mounts, sandbox_of(root, root / "a/keys", mode), str(root), lambda: None)
    mounts.close()


def test_what_a_job_made_in_the_place_of_what_is_hidden_lets_no_writing_job_start(tmp_path: Path) -> None:
    (tmp_path / "keys").touch()
    mounts = Mounts(100)
    with pytest.raises(Unguarded, match="it is a link, or no directory"):
        add(mounts, sandbox_of(tmp_path, tmp_path / "keys", "workspace-write"), str(tmp_path), lambda: None)
    mounts.close()


def test_folders_are_made_below_those_that_are_there_with_a_mode_for_the_last(tmp_path: Path) -> None:
    paths.make_folders(f"{tmp_path}/a/b", 0o700)
    (tmp_path / "a/b/c").touch()
    paths.make_folders(f"{tmp_path}/a/b")
    assert [(tmp_path / one).stat().st_mode & 0o777 for one in ("a", "a/b")] == [0o755, 0o700]
    with pytest.raises(OSError, match="no directory"):
        paths.make_folders(f"{tmp_path}/a/b/c/d")


@pytest.mark.parametrize(
    ("top", "mode"),
    [
        ("work", "read-only"),
        ("shown", "read-only"),
        ("shown", "workspace-write"),
        ("home/.cargo/bin", "workspace-write"),
        ("disk/bin", "workspace-write"),  # where ~/.cargo leads
    ],
)
def test_what_is_hidden_and_missing_is_not_seen_when_it_is_made_while_a_job_runs(
    cli: Cli, place: Path, top: str, mode: str
) -> None:
    shown = place / top
    shown.mkdir(parents=True, exist_ok=True)
    if top == "disk/bin":
        (place / "home/.cargo").symlink_to(place / "disk")
    keys = shown / "a/keys"
    env = {"HOME": f"{place}/home", "OUTLIVE_SANDBOX_SHOW": str(shown), "OUTLIVE_SANDBOX_HIDE": str(keys)}
    look = f"ls -A {keys}; cat {keys}/key ~/.cargo/bin/a/keys/key"
    script = f"until test -e {shown}/go -o -e ~/.cargo/bin/go; do sleep 0.05; done; {look}"
    job = cli.ok("run", "--sandbox", mode, "--snapshot-after", "0", script, env=env)["job_id"]
    wait.until(lambda: "pid" in cli.ok("status", job) or cli.ok("status", job)["state"] != "running", what="the start")
    keys.mkdir(parents=True, exist_ok=True)
    (keys / "key").write_text("SECRET\n")
    (shown / "go").touch()
    ended = cli.ok("wait", job)
    assert ended["state"] == "exited" and "SECRET" not in ended["output"], ended
    assert "SECRET" in cli.ok("run", "--wait", look, env=env)["output"]


def test_the_state_is_not_seen_by_a_job_that_was_there_before_it(cli: Cli, place: Path) -> None:
    above = place / "home/.local"
    above.mkdir()
    env = {"HOME": f"{place}/home", "XDG_STATE_HOME": f"{above}/state"}
    script = f"until test -e {above}/go; do sleep 0.05; done; cat state/outlive/approved.secret"
    words = ("run", "--sandbox", "read-only", "--snapshot-after", "0", script)
    job = cli.ok(*words, cwd=above, env=env)["job_id"]
    (above / "state/outlive").mkdir(parents=True, exist_ok=True)
    (above / "state/outlive/approved.secret").write_text("SECRET\n")
    (above / "go").touch()
    assert "SECRET" not in cli.ok("wait", job)["output"]


def test_what_is_to_be_hidden_in_what_is_shown_and_cannot_be_made_lets_nothing_start(tmp_path: Path) -> None:
    shown, root = tmp_path / "shown", tmp_path / "w"
    for path in (shown, root):
        path.mkdir()
    sandbox = Sandbox.replace(sandbox_of(root, shown / "a/keys", "workspace-write"), show=[str(shown)])
    (shown / "a").symlink_to(root)
    mounts = Mounts(100)
    with pytest.raises(Unguarded, match=f"{shown}/a/keys cannot be hidden from the job.*{shown}/a: it is a link"):
        add(mounts, sandbox, str(root), lambda: None)
    mounts.close()
    assert list(root.iterdir()) == []


def test_a_file_in_the_place_of_a_hidden_directory_that_no_job_writes_stays(tmp_path: Path) -> None:
    (tmp_path / "keys").touch()
    mounts = Mounts(100)
    add(mounts, sandbox_of(tmp_path, tmp_path / "keys", "read-only"), str(tmp_path), lambda: None)
    mounts.close()
    assert (tmp_path / "keys").is_file()
