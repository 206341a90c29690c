"""A directory that is mounted in a second place (mount --bind) is the same directory there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.supervisor.events import sinks
from outlive.system import mounts, own_programs, workspaces
from support.cli import Cli, Jobs
from support.mounts import Mounts

INSIDE = ("--wait", "--sandbox", "workspace-write", "--network", "none")


@pytest.mark.parametrize("above", ["home", "home/.local", "root"])
def test_what_is_ours_is_not_seen_by_another_mount(
    cli: Cli, jobs: Jobs, place: Path, work: Path, root: Path, mount: Mounts, above: str
) -> None:
    home = place / "home"
    state = home / ".local/state/outlive"
    state.mkdir(parents=True)
    (state / "approved.secret").write_text("secret\n")
    cli.ok("run", "--wait", "true")  # the root is made
    mount.bind(str((work / "other").relative_to(place)), root if above == "root" else place / above)
    env = {"HOME": str(home)}
    said = cli.ok("run", *INSIDE, "find other -name approved.secret -o -name meta.json; echo x > other/new", env=env)
    assert "approved.secret" not in said["output"]
    assert "meta.json" not in said["output"]
    inner = {"home": "other/.local/state/outlive", "home/.local": "other/state/outlive", "root": "other"}[above]
    forged = cli.ok("run", *INSIDE, f"echo x > {inner}/approved.secret", env=env)
    assert forged["exit_code"] != 0
    assert (state / "approved.secret").read_text() == "secret\n"
    jobs.end()


def test_no_program_comes_from_a_workspace_by_another_mount(place: Path, work: Path, mount: Mounts) -> None:
    (work / "tools").mkdir()
    (work / "tools/ssh").write_text("#!/bin/sh\n")
    (work / "tools/ssh").chmod(0o755)
    whole, part = mount.bind("whole", work), mount.bind("part", work / "tools")
    own_programs.know([str(work)])
    for folder in (whole / "tools", part):
        with pytest.raises(OutliveError, match="passed over"):
            own_programs.find("ssh", {"PATH": str(folder), "HOME": str(place / "home")})


def test_no_program_comes_from_what_is_mounted_in_a_workspace_by_its_own_name(
    place: Path, work: Path, mount: Mounts
) -> None:
    tools = place / "home/tools"
    tools.mkdir()
    (tools / "ssh").write_text("#!/bin/sh\n")
    (tools / "ssh").chmod(0o755)
    env = {"PATH": str(tools), "HOME": str(place / "home"), "XDG_STATE_HOME": f"{place}/state"}
    assert own_programs.find("ssh", env) == str(tools / "ssh")
    mount.bind("work/tools", tools)
    workspaces.note([str(work)], env)
    with pytest.raises(OutliveError, match="passed over"):
        own_programs.find("ssh", env)
    assert str(tools) in mounts.other_names([str(work)])


def test_no_event_is_written_where_a_link_in_a_workspace_leads_by_another_mount(
    place: Path, work: Path, mount: Mounts
) -> None:
    workspaces.note([str(work)], {"XDG_STATE_HOME": f"{place}/state"})
    (place / "mine").write_text("mine\n")
    (work / "told").symlink_to(place / "mine")
    (work / "out").symlink_to(place)
    other = mount.bind("mounted", work)
    for path in ("told", "out/new/told"):
        told = sinks.append({"event": 1}, str(other / path), [f"{place}/state/outlive"])
        assert "is a link that a job in a sandbox could have made" in told["error"]
    assert (place / "mine").read_text() == "mine\n"
    assert not (place / "new").exists()
    assert sinks.append({"event": 1}, str(other / "new" / "told"), [f"{place}/state/outlive"])["success"]
    assert (work / "new" / "told").is_file()


NAMED = ("[core]\n\thooksPath = {}/gh\n", "[include]\n\tpath = {}/inc\n")


@pytest.mark.parametrize("setting", NAMED, ids=["hooks", "include"])
@pytest.mark.parametrize("whose", ["user", "repository"])
def test_what_git_obeys_is_not_named_by_another_mount_of_the_workspace(
    cli: Cli, place: Path, work: Path, mount: Mounts, setting: str, whose: str
) -> None:
    again = mount.bind("again", work)
    (work / "gh").mkdir()
    (work / "inc").touch()
    subprocess.run(["git", "init", "-q", work], check=True)
    home = place / "home"
    settings = home / ".gitconfig" if whose == "user" else work / ".git/config"
    with settings.open("a") as file:
        file.write(setting.format(again))
    job = cli.run("run", *INSIDE, "true", env={"HOME": str(home)}).json
    said = str(job.get("message") or job["error"]["message"])
    assert "nothing was run" in said and str(again) in said, job


def test_a_step_back_behind_a_link_leads_where_the_kernel_goes(cli: Cli, place: Path, work: Path) -> None:
    for name in ("sub", "gh"):
        (work / name).mkdir()
    (work / "inc").touch()
    home = place / "home"
    (home / "lnk").symlink_to(work / "sub")
    hooks, include = (setting.format("~/lnk/..") for setting in NAMED)
    (home / ".gitconfig").write_text(hooks)
    kept = cli.ok("run", *INSIDE, "echo > gh/post-checkout", env={"HOME": str(home)})
    assert "Read-only file system" in kept["output"] and not [*(work / "gh").iterdir()]
    (home / ".gitconfig").write_text(include)
    refused = cli.run("run", *INSIDE, "echo > inc", env={"HOME": str(home)}).json
    assert "nothing was run" in str(refused.get("message") or refused["error"]["message"]), refused
