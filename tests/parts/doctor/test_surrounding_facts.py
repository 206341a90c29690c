"""What is read from files of the system: control groups, logind's settings, mounts, units. The files are stand-ins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.parts.doctor import logind, resources
from outlive.parts.doctor import root as root_checks
from outlive.parts.doctor import systemd as systemd_checks
from outlive.parts.finding import FAIL, OK, WARN, CheckContext
from outlive.store.root import Store
from outlive.system import cgroup, mounts, systemd

# --- control groups ------------------------------------------------------------------------------------------------


def _group(place: Path, version: int, **files: str) -> cgroup.Group:
    for name, text in files.items():
        (place / name.replace("_", ".", 1)).write_text(text)
    return cgroup.Group(str(place), "/here", version)


def test_the_counter_of_a_group_is_read_in_both_versions(tmp_path: Path) -> None:
    second = _group(tmp_path, 2, memory_events="low 0\noom 5\noom_kill 3\noom_group_kill 0\n", memory_max="max\n")
    assert (second.oom_kills(), resources.limit_of(second), resources.dies_as_one(second)) == (3, None, False)
    (tmp_path / "memory.events.local").write_text("oom_kill 1\n")
    assert second.oom_kills() == 1, "its own processes go before those of groups below it"
    (tmp_path / "memory.max").write_text("1048576\n")
    (tmp_path / "memory.oom.group").write_text("1\n")
    assert (resources.limit_of(second), resources.dies_as_one(second)) == (1_048_576, True)
    first = _group(tmp_path, 1, memory_oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 7\n")
    (tmp_path / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert (first.oom_kills(), resources.limit_of(first), resources.dies_as_one(first)) == (7, None, False)


def test_a_group_that_says_nothing_is_not_taken_for_zero(tmp_path: Path) -> None:
    assert _group(tmp_path, 2).oom_kills() is None
    assert _group(tmp_path, 1, memory_oom_control="under_oom 0\n").oom_kills() is None


@pytest.mark.parametrize(
    ("root", "path", "there"),
    [("/", "/a/b", "a/b"), ("/a", "/a/b", "b"), ("/a", "/a", ""), ("/other", "/a/b", None)],
    ids=["whole", "part", "own namespace", "elsewhere"],
)
def test_a_group_is_found_where_its_hierarchy_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str, path: str, there: str | None
) -> None:
    place = tmp_path / "memory"
    (place / "a" / "b").mkdir(parents=True)
    (place / "b").mkdir()
    table = tmp_path / "mountinfo"
    table.write_text(
        f"30 1 0:9 / {tmp_path}/cpu rw - cgroup cgroup rw,cpu\n31 1 0:8 {root} {place} rw,nosuid shared:1 - cgroup cgroup rw,memory\n"
    )
    monkeypatch.setattr(mounts, "_MOUNTS", str(table))
    monkeypatch.setattr(cgroup, "paths", lambda pid="self": {"memory": path, "": "/"})
    monkeypatch.setattr(cgroup, "_USUAL", {})
    found = cgroup.memory()
    if there is None:
        assert found is None
    else:
        assert found is not None
        assert (os.path.normpath(found.directory), found.path, found.version) == (str(place / there), path, 1)


def test_this_process_is_in_some_group_of_its_own_kernel() -> None:
    found = cgroup.paths()
    assert all(path.startswith("/") for path in found.values())
    group = cgroup.memory()
    if group is not None:
        assert (group.oom_kills() or 0) >= 0


# --- units ---------------------------------------------------------------------------------------------------------


def test_the_path_of_a_group_tells_what_it_belongs_to() -> None:
    rows: list[tuple[str, str, str]] = [
        ("/user.slice/user-1000.slice/session-3.scope", systemd.SESSION, "session-3.scope"),
        ("/user.slice/user-1000.slice/session-c2.scope", systemd.SESSION, "session-c2.scope"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope", systemd.USER_UNIT, "app-a.scope"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/agent.service", systemd.USER_UNIT, "agent.service"),
        ("/system.slice/agents.service", systemd.SERVICE, "agents.service"),
        ("/system.slice/docker-0123.scope", systemd.CONTAINER, "docker-0123.scope"),
        ("/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope", systemd.CONTAINER, "cri-containerd-2.scope"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/outlive-01J.scope", systemd.SCOPE, "outlive-01J.scope"),
        ("/", systemd.NONE, ""),
    ]  # fmt: skip
    for path, kind, name in rows:
        found = systemd.unit_of(path)
        assert (found.kind, found.name) == (kind, name)


def test_a_container_without_a_name_is_known_by_other_marks() -> None:
    assert systemd.unit_of("/", contained=True).kind == systemd.CONTAINER


@pytest.mark.fault("F52")
def test_a_service_whose_restart_takes_the_jobs_along_is_named_with_the_way_out() -> None:
    rows: list[tuple[str, str | None, str]] = [
        ("/system.slice/agents.service", "control-group", WARN),
        ("/system.slice/agents.service", "mixed", WARN),
        ("/system.slice/agents.service", None, WARN),
        ("/system.slice/agents.service", "process", OK),
        ("/system.slice/docker-0123.scope", None, WARN),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/outlive-01J.scope", None, OK),
        ("/", None, OK),
    ]
    for path, kill_mode, status in rows:
        found = systemd_checks.judged_service(systemd.unit_of(path), kill_mode)
        assert found.status == status
        if status == WARN and ".service" in path:
            assert "KillMode=process" in str(found.advice) and "scope" in str(found.advice)


# --- logind --------------------------------------------------------------------------------------------------------


def test_drop_ins_go_before_the_file_and_one_hides_another_of_its_name(tmp_path: Path) -> None:
    etc, lib = tmp_path / "etc", tmp_path / "lib"
    for place in (etc, lib):
        (place / "logind.conf.d").mkdir(parents=True)
    (lib / "logind.conf").write_text("[Login]\nKillUserProcesses=no\n")
    (etc / "logind.conf").write_text(
        "[Login]\n#KillUserProcesses=no\nKillExcludeUsers=root ann\n[Other]\nKillOnlyUsers=x\n"
    )
    assert logind.settings((str(etc), str(lib))) == {"KillExcludeUsers": "root ann"}
    (lib / "logind.conf.d" / "50-a.conf").write_text("[Login]\nKillUserProcesses=yes\n")
    (lib / "logind.conf.d" / "60-b.conf").write_text("[Login]\nKillUserProcesses = true\n")
    assert logind.settings((str(etc), str(lib)))["KillUserProcesses"] == "true"
    (etc / "logind.conf.d" / "60-b.conf").write_text("")
    assert logind.settings((str(etc), str(lib)))["KillUserProcesses"] == "yes"


def test_whose_processes_a_logout_ends() -> None:
    rows: list[tuple[dict[str, str], str, bool]] = [
        ({}, "ann", False),
        ({"KillUserProcesses": "yes"}, "ann", True),
        ({"KillUserProcesses": "yes"}, "root", False),
        ({"KillUserProcesses": "yes", "KillExcludeUsers": "ann"}, "ann", False),
        ({"KillUserProcesses": "yes", "KillOnlyUsers": "ben"}, "ann", False),
        ({"KillUserProcesses": "yes", "KillOnlyUsers": "ben ann"}, "ann", True),
        ({"KillUserProcesses": "no", "KillOnlyUsers": "ann"}, "ann", False),
    ]
    for settings, user, kills in rows:
        assert logind.kills_processes_of(user, settings) is kills


@pytest.mark.fault("F51")
@pytest.mark.parametrize(
    ("path", "kills", "lingers", "status"),
    [
        ("/user.slice/user-1000.slice/session-3.scope", True, False, WARN),
        ("/user.slice/user-1000.slice/session-3.scope", True, True, WARN),
        ("/user.slice/user-1000.slice/session-3.scope", False, False, OK),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope", True, False, WARN),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope", True, True, OK),
        ("/system.slice/agents.service", True, False, OK),
    ],
)
def test_a_logout_that_ends_jobs_is_foreseen_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, path: str, kills: bool, lingers: bool, status: str
) -> None:
    monkeypatch.setattr(systemd, "is_init", lambda: True)
    monkeypatch.setattr(logind, "settings", lambda: {"KillUserProcesses": "yes" if kills else "no"})
    monkeypatch.setattr(systemd, "lingers", lambda user: lingers)
    monkeypatch.setattr(cgroup, "unit_path", lambda: path)
    monkeypatch.setattr(systemd_checks, "_is_container", lambda: False)
    monkeypatch.setattr(systemd_checks, "_user", lambda: "ann")
    found = systemd_checks.logout(CheckContext({}, {}))
    assert found.status == status
    assert status == OK or "loginctl enable-linger ann" in str(found.advice)


# --- file systems --------------------------------------------------------------------------------------------------


@pytest.mark.fault("F27")
@pytest.mark.parametrize(
    ("kind", "status"),
    [
        *((kind, FAIL) for kind in ("nfs", "nfs4", "cifs", "9p", "ceph", "fuse.sshfs")),
        ("tmpfs", WARN),
        ("fuse.mergerfs", WARN),
        ("ext4", OK),
    ],
)
def test_a_root_on_a_network_file_system_is_said_to_be_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, status: str
) -> None:
    home = tmp_path / "a b"
    (home / "jobs").mkdir(parents=True)
    table = tmp_path / "mountinfo"
    odd = str(home).replace(" ", r"\040")
    table.write_text(
        "21 1 8:1 / / rw - ext4 /dev/vda rw\n"
        f"22 21 0:40 / {odd} rw,relatime shared:2 - {kind} server:/export rw\n"
        f"23 21 0:41 / {odd}/jobs-of-others rw - xfs /dev/vdb rw\n"
    )
    monkeypatch.setattr(mounts, "_MOUNTS", str(table))
    mount = mounts.holding(str(home / "jobs"))
    assert mount is not None and (mount.type, mount.point) == (kind, str(home))
    context = CheckContext({}, {})
    context.store = Store.open(str(home / "jobs"), {})
    try:
        found = root_checks.file_system(context)
    finally:
        context.store.close()
    assert found.status == status
    assert status != FAIL or "not supported" in str(found.advice)
