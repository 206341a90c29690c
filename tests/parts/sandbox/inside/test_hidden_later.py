"""A directory that is to be hidden and is not there: it is made before the start, and not where a link of a job leads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement.mounts import Mounts, add
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.system import paths
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
