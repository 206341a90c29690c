"""The verb gc: which jobs it deletes, which it leaves alone, and what it says of both."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.system import tree
from support import pair
from support.cli import Cli, Jobs
from support.jobs import UNASKED, aged, background, settled
from support.mcp_client import McpSession
from support.mounts import Mounts
from support.tiers import ONE_ERA


def _done(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", *(words or ("true",)), env=UNASKED)["job_id"]
    return job


def _left(root: Path) -> set[str]:
    """Everything in the root but what belongs to the root itself."""
    return {name for name in os.listdir(root) if name not in (".live", ".dedupe.lock", ".collected", ".deleted")}


def test_gc_deletes_what_ended_before_the_window_and_nothing_else(cli: Cli, jobs: Jobs, root: Path) -> None:
    old, young = aged(cli, 31), aged(cli, 29)
    running, created = background(cli), cli.ok("create", "true")["job_id"]
    found = cli.ok("gc")
    assert (found["older_than"], found["older_than_source"], found["dry_run"]) == ("30d", "default", False)
    assert (found["deleted"], found["skipped"], found["root"]) == (1, 3, str(root))
    assert found["freed_bytes"] > 0
    actions = {one["job_id"]: one["action"] for one in found["jobs"]}
    assert actions == {old: "deleted", young: "skipped", running: "skipped", created: "skipped"}
    assert _left(root) == {young, running, created}
    jobs.end()


def test_a_dry_run_deletes_nothing_and_says_what_it_would(cli: Cli, root: Path) -> None:
    old, young = aged(cli, 8), aged(cli, 6)
    found = cli.ok("gc", "--older-than", "7d", "--dry-run")
    assert (found["deleted"], found["dry_run"], found["older_than"], found["older_than_source"]) == (
        0,
        True,
        "7d",
        "flag",
    )
    assert found["freed_bytes"] == sum(one["bytes"] for one in found["jobs"] if one["action"] == "would_delete") > 0
    assert {one["job_id"]: one["action"] for one in found["jobs"]} == {old: "would_delete", young: "skipped"}
    assert _left(root) == {old, young}


@pytest.mark.parametrize(("window", "days"), [("36h", 1.5), ("3600s", 1 / 24)])
def test_a_window_is_given_with_its_unit(cli: Cli, root: Path, window: str, days: float) -> None:
    old, young = aged(cli, days * 1.1), aged(cli, days * 0.9)
    assert cli.ok("gc", "--older-than", window)["deleted"] == 1
    assert _left(root) == {young}
    assert old != young


def test_a_window_without_a_unit_is_refused_and_nothing_is_deleted(cli: Cli, root: Path) -> None:
    old = aged(cli, 400)
    for window in ("7", "0", "", "d", "-1d", "7y", "soon", "1e3d"):
        error = cli.error("gc", f"--older-than={window}", code="invalid_argument")
        assert error["details"]["field"] == "--older-than"
    assert _left(root) == {old}


def test_the_newest_jobs_are_kept_up_to_a_number(cli: Cli, jobs: Jobs, root: Path) -> None:
    made = [settled(cli) for _ in range(4)]
    running = background(cli)
    found = cli.ok("gc", "--max-jobs", "2")
    assert found["deleted"] == 2
    assert _left(root) == {*made[2:], running}
    gone = cli.error("status", made[0], code="job_not_found")["message"]
    assert gone.endswith("because there were more finished jobs than are kept (its max_jobs)")
    assert cli.ok("gc", "--max-jobs", "0")["deleted"] == 0, "0 is no limit"
    assert cli.ok("gc", "--max-jobs", "1")["deleted"] == 1
    assert _left(root) == {made[3], running}
    jobs.end()


def test_many_jobs_are_deleted_at_once_and_each_is_counted(cli: Cli, root: Path) -> None:
    old, young = aged(cli, 31), aged(cli, 29)
    many = {old} | {new_id() for _ in range(30)}
    for job in many - {old}:
        shutil.copytree(root / old, root / job)
    would = cli.ok("gc", "--dry-run")
    found = cli.ok("gc")
    assert {one["job_id"] for one in found["jobs"] if one["action"] == "deleted"} == many
    assert {one["job_id"] for one in would["jobs"] if one["action"] == "would_delete"} == many
    assert (found["deleted"], found["skipped"], found["used_jobs"]) == (31, 1, 1)
    assert found["freed_bytes"] == would["freed_bytes"] > 0
    assert _left(root) == {young}


def test_another_file_system_inside_a_job_is_not_emptied(cli: Cli, root: Path, place: Path, mount: Mounts) -> None:
    job = aged(cli, 31)
    within = mount(str((root / job / "mounted").relative_to(place)), "size=1m,mode=700")
    (within / "kept").write_text("kept")
    try:
        assert cli.ok("gc")["deleted"] == 0
        assert [path.read_text() for path in root.rglob("kept")] == ["kept"]
    finally:
        for left in root.glob(f".gc-{job}-*"):
            left.rename(root / job)


def test_the_newest_jobs_are_kept_up_to_a_size(cli: Cli, root: Path) -> None:
    made = [settled(cli, "head -c 300000 /dev/zero") for _ in range(3)]
    assert cli.ok("gc", "--max-bytes", "700KB")["deleted"] == 1
    assert _left(root) == set(made[1:])
    assert cli.ok("gc", "--max-bytes", "0")["deleted"] == 0, "0 is no limit"
    assert cli.ok("gc", "--max-bytes", "1")["deleted"] == 2


def test_the_configuration_sets_the_window_and_the_limits(cli: Cli, root: Path) -> None:
    old, young = aged(cli, 8), aged(cli, 6)
    found = cli.ok("gc", "--dry-run", env={"OUTLIVE_GC_OLDER_THAN": "7d"})
    assert (found["older_than"], found["older_than_source"]) == ("7d", "config")
    assert cli.ok("gc", env={"OUTLIVE_GC_MAX_JOBS": "1"})["deleted"] == 1
    assert _left(root) == {young}
    assert old not in _left(root)


@pytest.mark.fault("F24")
def test_a_finished_job_whose_descendants_live_is_skipped(cli: Cli, jobs: Jobs, root: Path) -> None:
    job = _done(cli, "sleep 60 & true")
    found = cli.ok("gc", "--older-than", "0s")
    assert (found["deleted"], found["jobs"][0]["action"]) == (0, "skipped")
    assert _left(root) == {job}
    jobs.end()


@pytest.mark.fault("F07")
def test_gc_deletes_half_deleted_jobs_and_old_half_made_ones(cli: Cli, root: Path) -> None:
    job = _done(cli)
    hidden = [root / f".gc-{job}-ABCDEF", root / f".tmp-{job[:-1]}0", root / f".tmp-{job[:-1]}1"]
    for path in hidden:
        path.mkdir()
        (path / "stdout.log").write_text("x")
    os.utime(hidden[1], (0, 0))
    assert cli.ok("gc", "--dry-run")["leftovers"] == 2
    found = cli.ok("gc")
    assert (found["leftovers"], found["deleted"]) == (2, 0)
    assert _left(root) == {job, hidden[2].name}
    assert [one["job_id"] for one in cli.ok("list", "--all")["jobs"]] == [job]


def test_gc_of_an_empty_root_is_answered(cli: Cli) -> None:
    found = cli.ok("gc")
    assert (found["deleted"], found["skipped"], found["jobs"], found["freed_bytes"]) == (0, 0, [], 0)


def test_gc_deletes_only_names_that_outlive_made(cli: Cli, work: Path, root: Path) -> None:
    cli.ok("run", "true", env=UNASKED)  # its end would delete what `gc` is to count
    job = new_id()
    theirs = [".gc-", ".gc-notes", f".gc-{job}", f".gc-{job}-", f".gc-{job}-ABCDEFG", f".gc-{job}-../..", ".tmp-build"]
    theirs = [name for name in theirs if "/" not in name]
    ours = f".gc-{job}-ABCDEF"
    for name in [*theirs, ours, f".tmp-{job}x"]:
        (root / name).mkdir()
        (root / name / "file").write_text("text", encoding="ascii")
        os.utime(root / name, (0, 0))
    assert cli.ok("gc")["leftovers"] == 1
    assert not (root / ours).exists()
    assert all((root / name / "file").exists() for name in [*theirs, f".tmp-{job}x"])


@pytest.mark.fault("D05")
def test_gc_deletes_a_job_that_cannot_be_read_by_the_age_of_its_directory(cli: Cli, root: Path) -> None:
    young, old = (cli.ok("create", "true")["job_id"] for _ in range(2))
    for job in (young, old):
        (root / job / "state.json").write_bytes(b"")
    os.utime(root / old, (1, 1))
    found: dict[str, dict[str, Any]] = {one["job_id"]: one for one in cli.ok("gc", "--older-than", "1h")["jobs"]}
    assert (found[young]["action"], found[old]["action"]) == ("skipped", "deleted")
    assert "state.json: it is empty" in found[old]["reason"] and "directory" in found[old]["reason"]
    assert not (root / old).exists() and (root / young).exists()


def test_gc_keeps_a_job_that_cannot_be_read_while_a_process_of_it_lives(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "sleep", "600")["job_id"]
    pair.end_pair(job)
    for name in ("state.json", "meta.json", "events.ndjson"):
        (root / job / name).write_bytes(b"")
    (root / ".live" / job).write_bytes(b"")
    os.utime(root / job, (1, 1))
    assert [one["action"] for one in cli.ok("gc", "--older-than", "1h")["jobs"]] == ["skipped"]
    assert cli.ok("kill", job)["survivors"] == []
    assert not tree.with_cookie(job)


@ONE_ERA
def test_gc_names_what_it_keeps_and_why(mcp_session: McpSession) -> None:
    ended = mcp_session.ok("exec", command="true")["job_id"]
    left = mcp_session.ok("exec", command="setsid sleep 60 > /dev/null 2>&1 & echo left")["job_id"]
    runs = mcp_session.ok("exec", command="sleep 60", yield_ms=0)["job_id"]
    found = mcp_session.call("process", action="gc", older_than="0s")
    assert "Deleted 1 finished job older than 0s" in found.text
    assert f"; 2 kept ({runs[-8:]}: it has not ended; {left[-8:]}: something it started still runs)." in found.text
    kept = mcp_session.call("process", action="gc", older_than="7d").text
    assert "2 kept" in kept and "within the window" not in kept
    for job in (left, runs):
        mcp_session.ok("process", action="kill", job_id=job)
    mcp_session.error("process", action="status", job_id=ended, code="job_not_found")
