"""A directory that is mounted in a second place (mount --bind) is the same directory there."""

from __future__ import annotations

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
