"""A store that keeps itself below its share of the file system, without being told to."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.parts.cleanup import automatic, surplus
from outlive.parts.cleanup.automatic import _COLLECTED
from outlive.parts.cleanup.bounds import Bounds
from outlive.parts.cleanup.surplus import GRACE_S, Ended, Share
from outlive.store.root import Store
from support import pair, processes
from support.cli import Cli, Jobs
from support.jobs import DAY_S, UNASKED, job_ids, made_older, settled
from support.mounts import Mounts
from support.wait import until

HOUR_S = 3_600.0
SHARE = Bounds(max_percent=10)
MIB = 1 << 20


def _ended(cli: Cli, root: Path, seconds_ago: float, mib: float = 0) -> str:
    """Make a job that ended so long ago and left so much output."""
    words = ("head", "-c", str(int(mib * MIB)), "/dev/zero")
    return made_older(root, settled(cli, "--max-bytes", "100", "--", *words), seconds_ago)


@pytest.fixture
def collect(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], int]:
    """`collect(3)`: automatic gc in this process, on a file system of which 3 MiB are the share."""

    def run(mib: float) -> int:
        monkeypatch.setattr(surplus, "bytes_of_share", lambda _root, percent: int(mib * MIB) if percent else None)
        (root / _COLLECTED).unlink(missing_ok=True)
        store = Store.existing(str(root))
        try:
            return automatic.collect(store, SHARE)
        finally:
            store.close()

    return run


# --- which jobs go ---------------------------------------------------------------------------------


def _chosen(limit: int, *jobs: tuple[float, int], kept: int = 0, target: int | None = None) -> str:
    """Of jobs a, b, c …, each given as (seconds since its end, bytes): those that go, in order."""
    now = 1_000 * DAY_S
    found = [Ended("abcdefgh"[at], now - ago, size) for at, (ago, size) in enumerate(jobs)]
    share = Share(limit, kept, target)
    return "".join(
        job.job_id for job, why in surplus.too_many(found, SHARE, now=now, share=share) if why == "max_percent"
    )


def test_the_job_that_ended_first_goes_first_and_no_more_than_must() -> None:
    old = [(day * DAY_S, 10) for day in (2, 5, 3, 4)]
    assert _chosen(40, *old) == ""
    assert _chosen(39, *old) == "b"
    assert _chosen(20, *old) == "bd"
    assert _chosen(20, *old, target=10) == "bdc"
    assert _chosen(20, *old, kept=10) == "bdc"


def test_a_job_that_has_just_ended_stays_whatever_it_takes() -> None:
    assert _chosen(10, (GRACE_S - 1, 100), (2 * DAY_S, 1)) == "b"
    assert _chosen(10, (GRACE_S - 1, 5), (GRACE_S + 1, 6)) == "b"


def test_jobs_of_another_machine_neither_count_nor_go() -> None:
    now = 1_000 * DAY_S
    jobs = [Ended("a", now - 3 * DAY_S, 100, foreign=True), Ended("b", now - 2 * DAY_S, 10)]
    assert surplus.too_many(jobs, SHARE, now=now, share=Share(10, 0)) == []
    assert [job.job_id for job, _ in surplus.too_many(jobs, SHARE, now=now, share=Share(9, 0))] == ["b"]


def test_a_share_is_so_many_hundredths_of_the_file_system(tmp_path: Path) -> None:
    size = shutil.disk_usage(tmp_path).total
    with contextlib.closing(Store(str(tmp_path), os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY))) as store:
        shares = [surplus.bytes_of_share(store.fd, percent) for percent in (None, 0.0, 50.0, 100.0)]
    assert shares == [None, None, size // 2, size]


# --- automatic gc ----------------------------------------------------------------------------------


def test_a_store_above_its_share_loses_old_jobs_until_it_is_below(
    cli: Cli, root: Path, collect: Callable[..., int]
) -> None:
    jobs = [_ended(cli, root, days * DAY_S, 1) for days in (4, 3, 2)]
    assert collect(3.5) == 0
    assert collect(2.5) == 1
    assert job_ids(root) == set(jobs[1:])


def test_what_was_deleted_is_told_to_callers_that_come_back(cli: Cli, root: Path, collect: Callable[..., int]) -> None:
    job = _ended(cli, root, 3 * DAY_S, 2)
    assert collect(1) == 1
    error = cli.error("status", job, code="job_not_found")
    assert error["code"] == "job_not_found"
    assert "automatic gc deleted it" in error["message"] and "max_percent" in error["message"]
    assert error["details"]["bound"] == "max_percent"
    assert cli.error("log", job[-8:], code="job_not_found")["message"].startswith(
        f"no job {job[-8:]!r}: automatic gc deleted it"
    )
    assert "gc deleted" not in cli.error("status", "01" + job[2:][::-1], code="job_not_found")["message"]
    [found] = [check for check in cli.ok("doctor")["checks"] if check["name"] == "gc"]
    assert found["details"]["deleted"] == 1
    assert found["details"]["deleted_bytes"] > 2 * MIB


def test_automatic_gc_is_in_the_audit_record(cli: Cli, root: Path, tmp_path: Path) -> None:
    job = _ended(cli, root, 3 * DAY_S)
    env = {"OUTLIVE_GC_MAX_PERCENT": "0.0000001", "OUTLIVE_AUDIT_TO": "file", "XDG_STATE_HOME": str(tmp_path)}
    cli.ok("run", "--wait", "true", env=env)
    until(lambda: job not in job_ids(root), what="the deletion")

    def entries() -> list[dict[str, object]]:
        return [one for one in cli.ok("audit", env=env)["entries"] if one["verb"] == "gc"]

    until(lambda: bool(entries()), what="the entry")
    assert [(one["job_id"], one["rule"]) for one in entries()] == [(job, "[gc] max_percent")]


def test_a_running_job_is_never_deleted_for_the_share(
    cli: Cli, jobs: Jobs, root: Path, work: Path, collect: Callable[..., int]
) -> None:
    old, recent = _ended(cli, root, 3 * DAY_S, 1), _ended(cli, root, HOUR_S, 1)
    words = ("run", "--snapshot-after", "0", f"head -c {3 * MIB} /dev/zero; touch full; sleep 600")
    running = cli.ok(*words, env=UNASKED)["job_id"]
    until((work / "full").exists)
    until(lambda: (root / running / "stdout.log").stat().st_size == 3 * MIB)
    assert collect(4.5) == 1
    assert job_ids(root) == {recent, running}
    assert collect(2) == 1, "what runs takes more than the share"
    assert job_ids(root) == {running}
    assert old not in job_ids(root)
    jobs.end()


def test_the_end_of_a_job_on_a_small_file_system_makes_room(cli: Cli, mount: Mounts) -> None:
    root = mount("store", "size=30m,mode=700")
    old = _ended_in(cli, root, 3 * DAY_S, 2)
    recent = _ended_in(cli, root, HOUR_S, 1.5)
    cli.ok("--root", str(root), "run", "--wait", "true")
    until(lambda: old not in job_ids(root), what="the deletion of the oldest job")
    assert recent in job_ids(root)
    assert cli.error("--root", str(root), "status", old, code="job_not_found")["details"]["bound"] == "max_percent"


def _ended_in(cli: Cli, root: Path, seconds_ago: float, mib: float) -> str:
    words = (
        "--root",
        str(root),
        "run",
        "--wait",
        "--max-bytes",
        "100",
        "--",
        "head",
        "-c",
        str(int(mib * MIB)),
        "/dev/zero",
    )
    job: str = cli.ok(*words, env=UNASKED)["job_id"]
    pair.until_free(root, job)
    return made_older(root, job, seconds_ago)


def test_the_verb_keeps_to_the_share_too_and_a_flag_sets_it(cli: Cli, root: Path, place: Path) -> None:
    old, older = _ended(cli, root, 2 * DAY_S), _ended(cli, root, 3 * DAY_S)
    capacity = os.statvfs(root).f_blocks * os.statvfs(root).f_frsize
    percent = f"{100 * (10 + cli.ok('gc', '--dry-run')['used_bytes'] / 2) / capacity:.20f}"
    assert "at most 100" in cli.error("gc", "--max-percent", "1e300", code="invalid_argument")["message"]
    dry = cli.ok("gc", "--dry-run", "--max-percent", percent)
    assert [(one["job_id"], one["reason"]) for one in dry["jobs"] if one["action"] == "would_delete"] == [
        (older, "max_percent")
    ]
    assert cli.ok("gc", "--max-percent", "0", env={"OUTLIVE_GC_MAX_PERCENT": percent})["deleted"] == 0
    assert cli.ok("gc", env={"OUTLIVE_GC_MAX_PERCENT": percent})["deleted"] == 1
    assert job_ids(root) == {old}
    assert "gc deleted it" in cli.error("status", older, code="job_not_found")["message"]
    assert "at most 100" in cli.error("list", code="config_error", env={"OUTLIVE_GC_MAX_PERCENT": "101"})["message"]
    assert processes.wait_gone(place, 60) == {}


# --- when ------------------------------------------------------------------------------------------


def test_a_store_is_looked_at_at_most_once_a_minute(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir(mode=0o700)
    now = time.time()

    def is_due(later_s: float) -> bool:
        monkeypatch.setattr(time, "time", lambda: now + later_s)
        return automatic.is_time(str(root))

    assert is_due(0)
    (root / _COLLECTED).touch()
    assert is_due(0), "its process was killed before it looked"
    with (root / _COLLECTED).open("r+b") as file:
        automatic._begin(file.fileno())
    assert [is_due(later) for later in (0, 50, 61, -2 * DAY_S)] == [False, False, True, True], (
        "the last: it was set back"
    )
