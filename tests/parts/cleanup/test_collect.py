"""Old jobs that are deleted without anybody asking, where the configuration says what is to be kept."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.parts.cleanup import automatic
from outlive.parts.cleanup.automatic import _COLLECTED, collect
from outlive.parts.cleanup.bounds import Bounds
from outlive.parts.cleanup.surplus import Ended, too_many
from outlive.store.root import Store
from outlive.system import fault_points
from support import pair, processes
from support.cli import Cli, Jobs
from support.commands import GATE
from support.jobs import DAY_S, aged, job_ids, settled
from support.mcp_client import RawMcp
from support.wait import until


def _collected(cli: Cli, root: Path, place: Path, **bounds: str) -> str:
    """The job whose end had others deleted; nothing is at work any more."""
    (root / _COLLECTED).unlink(missing_ok=True)
    env = {f"OUTLIVE_GC_{name.upper()}": value for name, value in bounds.items()}
    job: str = cli.ok("run", "--wait", "true", env=env)["job_id"]
    if (
        bounds and bounds.get("automatic") != "false"
    ):  # between its job's locks and the collection nothing ties a guardian to this place
        until((root / _COLLECTED).exists, what="the collection")
    assert processes.wait_gone(place, 60) == {}
    return job


@pytest.fixture
def store(root: Path) -> Store:
    root.mkdir(mode=0o700, exist_ok=True)
    return Store(str(root), os.open(root, os.O_RDONLY | os.O_DIRECTORY))


@pytest.fixture
def sweep(root: Path) -> Callable[..., int]:
    """`sweep(max_jobs=3)`: a collection in this process, as if none had been for long enough."""

    def run(older_than_s: float | None = None, max_jobs: int | None = None, max_bytes: int | None = None) -> int:
        (root / _COLLECTED).unlink(missing_ok=True)
        store = Store.existing(str(root))
        try:
            return collect(store, Bounds(older_than_s=older_than_s, max_jobs=max_jobs, max_bytes=max_bytes))
        finally:
            store.close()

    return run


def _is_time(root: Path) -> bool:
    return automatic.is_time(str(root))


def _is_made_due(root: Path) -> None:
    """Have the next look be due, as it is a minute after the last one."""
    os.utime(root / _COLLECTED, (time.time() - automatic._EVERY_S,) * 2)


# --- what goes -----------------------------------------------------------------------------------------------------


def test_of_a_store_below_its_share_of_the_file_system_nothing_goes(cli: Cli, root: Path, place: Path) -> None:
    old = aged(cli, 400)
    job = _collected(cli, root, place, automatic="true")
    assert job_ids(root) == {old, job}
    found = cli.ok("gc", "--dry-run", "--older-than", "1000d")
    assert found["automatic"] is True
    assert found["bounds"]["max_percent"] == 10
    assert found["bounds"]["share_bytes"] == pytest.approx(
        os.statvfs(root).f_blocks * os.statvfs(root).f_frsize / 10, abs=1
    )


def test_without_any_bound_nothing_is_ever_looked_at(cli: Cli, root: Path, place: Path) -> None:
    for settings in ({"automatic": "false"}, {"max_percent": "0"}):
        old = aged(cli, 400)
        (root / _COLLECTED).unlink(missing_ok=True)
        env = {f"OUTLIVE_GC_{name.upper()}": value for name, value in settings.items()}
        job = cli.ok("run", "--wait", "true", env=env)["job_id"]
        assert processes.wait_gone(place, 60) == {}
        assert {old, job} <= job_ids(root)
        assert not (root / _COLLECTED).exists()
        assert cli.ok("gc", "--dry-run", env=env)["automatic"] is False


def test_the_end_of_a_job_has_those_deleted_that_are_too_many(cli: Cli, root: Path, place: Path) -> None:
    made = [aged(cli, days) for days in (1, 4, 2, 3)]
    job = _collected(cli, root, place, max_jobs="3")
    assert job_ids(root) == {made[0], made[2], job}, "those that ended first went first"


def test_what_a_running_job_takes_counts_and_finished_ones_go_for_it(
    cli: Cli, root: Path, place: Path, work: Path, sweep: Callable[..., int]
) -> None:
    old = aged(cli, 2, "head -c 300000 /dev/zero")
    running = cli.ok("run", "--snapshot-after", "0", f"head -c 600000 /dev/zero; touch full; {GATE}")["job_id"]
    until((work / "full").exists)
    assert sweep(max_bytes=1_000_000) == 0
    assert sweep(max_bytes=700_000) == 1
    assert job_ids(root) == {running}
    assert sweep(max_bytes=0) == 0
    (work / "go").touch()
    assert cli.ok("wait", running)["exit_code"] == 0
    assert old not in job_ids(root)


def test_over_mcp_the_owners_bounds_hold_for_everybodys_jobs(
    raw_mcp: Callable[..., RawMcp], cli: Cli, root: Path
) -> None:
    old = aged(cli, 2)
    server = raw_mcp(env={"OUTLIVE_GC_MAX_JOBS": "1"})
    job = server.call("exec", command="true")["job_id"]
    until(lambda: job_ids(root) == {job}, what="the end of the job of another owner")
    assert old != job
    found = server.call("process", action="gc", older_than="30d", dry_run=True)
    assert (found["automatic"], found["bounds"]["max_jobs"], found["used_jobs"]) == (True, 1, 1)


def test_it_can_be_left_to_the_verb(cli: Cli, root: Path, place: Path) -> None:
    old = aged(cli, 8)
    job = _collected(cli, root, place, older_than="7d", automatic="false")
    assert job_ids(root) == {old, job}
    assert cli.ok("gc", env={"OUTLIVE_GC_OLDER_THAN": "7d", "OUTLIVE_GC_AUTOMATIC": "no"})["deleted"] == 1


# --- what stays ----------------------------------------------------------------------------------------------------


def test_a_job_that_runs_or_lingers_or_was_never_started_is_not_touched(
    cli: Cli, jobs: Jobs, root: Path, sweep: Callable[..., int]
) -> None:
    running = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    lingering = cli.ok("run", "--wait", "sleep 60 & true")["job_id"]
    created = cli.ok("create", "true")["job_id"]
    path = root / lingering / "state.json"
    state = json.loads(path.read_bytes())
    state.pop("checksum")
    path.write_text(json.dumps(state | {"finished_at": "2020-01-01T00:00:00.000Z"}), encoding="utf-8")
    ended = aged(cli, 2)
    assert sweep(max_jobs=1) == 0, "jobs that have not ended do not count"
    assert sweep(older_than_s=0, max_jobs=0, max_bytes=0) == 1
    assert ended not in job_ids(root)
    assert job_ids(root) == {running, lingering, created}
    jobs.end()


def test_what_ended_just_now_stays_for_whoever_reads_it(cli: Cli, root: Path, place: Path) -> None:
    made = [settled(cli) for _ in range(3)]
    job = _collected(cli, root, place, older_than="0s", max_jobs="0", max_bytes="0")
    assert job_ids(root) == {*made, job}


def test_a_job_whose_end_is_still_to_be_told_stays(cli: Cli, root: Path, sweep: Callable[..., int], work: Path) -> None:
    job = aged(cli, 3, "--notify-file", str(work / "told"), "true")
    event = root / job / "completion_event.json"
    event.write_text(
        json.dumps(json.loads(event.read_bytes()) | {"delivered": False, "pending": True}), encoding="utf-8"
    )
    assert sweep(max_jobs=0) == 0
    cli.ok("status", job)
    pair.until_free(cli.root, job)
    assert sweep(max_jobs=0) == 1


def test_what_cannot_be_read_stays(cli: Cli, root: Path, sweep: Callable[..., int]) -> None:
    damaged, newer = aged(cli, 9), aged(cli, 9)
    (root / damaged / "state.json").write_bytes(b"\0" * 100)
    path = root / newer / "state.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"format": 99}), encoding="utf-8")
    assert sweep(older_than_s=0, max_jobs=0, max_bytes=0) == 0
    assert job_ids(root) == {damaged, newer}


def test_no_link_in_the_root_is_followed(cli: Cli, root: Path, place: Path, sweep: Callable[..., int]) -> None:
    precious = place / "precious"
    old = aged(cli, 9)
    (root / old).rename(precious)  # a whole, old job, elsewhere
    (root / old).symlink_to(precious)
    (root / f".gc-{old}-ABCDEF").symlink_to(precious)
    clients = place / "clients"
    clients.mkdir()
    (clients / new_id()).touch()
    os.utime(next(clients.iterdir()), (0, 0))
    (root / ".owed").mkdir(exist_ok=True)
    (root / ".owed" / "0123456789abcdef").symlink_to(clients)
    before = {path.name for path in precious.iterdir()}
    assert sweep(older_than_s=0, max_jobs=0, max_bytes=0) == 0
    cli.ok("gc", "--older-than", "0s")
    assert {path.name for path in precious.iterdir()} == before
    assert len(list(clients.iterdir())) == 1


def test_a_link_in_the_place_of_the_stamp_or_of_the_root_stops_it(cli: Cli, root: Path, place: Path) -> None:
    old = aged(cli, 9)
    (place / "elsewhere").write_bytes(b"")
    (root / _COLLECTED).symlink_to(place / "elsewhere")
    store = Store.existing(str(root))
    assert collect(store, Bounds(older_than_s=0, max_jobs=0, max_bytes=0)) == 0
    store.close()
    assert (place / "elsewhere").read_bytes() == b"" and old in job_ids(root)
    (place / "link").symlink_to(root)
    with pytest.raises(OSError, match="link"):
        Store.existing(str(place / "link"))


# --- when ----------------------------------------------------------------------------------------------------------


def test_it_happens_at_most_so_often(cli: Cli, root: Path, store: Store) -> None:
    ages = Bounds(older_than_s=7 * DAY_S)
    aged(cli, 9)
    assert collect(store, ages) == 1
    aged(cli, 9)
    assert collect(store, ages) == 0, "not again so soon"
    _is_made_due(root)
    assert collect(store, ages) == 1
    store.close()


def test_a_sweep_that_was_cut_short_goes_on_at_the_next_look(
    cli: Cli, root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = Bounds(older_than_s=7 * DAY_S)
    made = {aged(cli, days) for days in (9, 10, 11)}
    monkeypatch.setattr(automatic, "GC_WORK_S", 0)
    assert collect(store, ages) == 0
    assert job_ids(root) == made
    monkeypatch.undo()
    _is_made_due(root)
    assert collect(store, ages) == 3
    assert not _is_time(root)
    store.close()


def test_a_clock_that_jumps_after_a_sweep_was_cut_short_deletes_nothing(
    cli: Cli, root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = Bounds(older_than_s=7 * DAY_S)
    aged(cli, 9)
    young = aged(cli, 1)
    monkeypatch.setattr(automatic, "GC_WORK_S", 0)
    assert collect(store, ages) == 0
    monkeypatch.undo()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3650 * DAY_S)
    assert collect(store, ages) == 0
    assert young in job_ids(root)
    store.close()


def test_a_clock_that_jumped_ahead_deletes_nothing_at_its_first_look(
    cli: Cli, root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = Bounds(older_than_s=7 * DAY_S)
    kept = settled(cli)
    assert collect(store, ages) == 0
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3650 * DAY_S)
    assert collect(store, ages) == 0
    monkeypatch.setattr(time, "time", lambda: now)  # it was put right, within the minute
    assert _is_time(root), "a time that is years to come does not hold it up"
    assert collect(store, ages) == 0
    assert job_ids(root) == {kept}
    store.close()


def test_while_one_collects_nobody_else_does(cli: Cli, root: Path, store: Store) -> None:
    old = aged(cli, 9)
    with (root / _COLLECTED).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert collect(store, Bounds(older_than_s=0)) == 0
        assert old in job_ids(root)
    assert collect(store, Bounds(older_than_s=0)) == 1
    store.close()


def test_ends_and_calls_at_once_delete_each_job_once(cli: Cli, root: Path, place: Path) -> None:
    old = [aged(cli, 9) for _ in range(6)]
    env = {"OUTLIVE_GC_OLDER_THAN": "7d"}
    runs = [cli.spawn("run", "--wait", "true", env=env) for _ in range(4)]
    calls = [cli.spawn("gc", env=env) for _ in range(3)]
    answers = [json.loads(call.communicate(timeout=60)[0]) for call in (*runs, *calls)]
    assert all(answer["ok"] for answer in answers), answers
    assert processes.wait_gone(place, 60) == {}
    assert sum(answer["deleted"] for answer in answers[4:]) <= len(old)
    assert job_ids(root) == {answer["job_id"] for answer in answers[:4]}
    assert not [name for name in os.listdir(root) if name.startswith(".gc")]
    recorded = [json.loads(line)["job_id"] for line in (root / ".deleted").read_bytes().splitlines()]
    assert sorted(recorded) == sorted(old)


def test_a_root_that_cannot_be_written_is_left_alone(cli: Cli, root: Path, place: Path) -> None:
    (root).mkdir(mode=0o700, exist_ok=True)
    store = Store(str(root), os.open(place, os.O_RDONLY | os.O_PATH | os.O_DIRECTORY))
    (place / _COLLECTED).mkdir()
    assert collect(store, Bounds(older_than_s=0, max_jobs=0, max_bytes=0)) == 0
    store.close()


# --- deaths --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["delete_renamed", "delete_emptied"])
def test_a_collector_that_dies_leaves_an_invisible_rest_that_the_next_one_deletes(
    cli: Cli, root: Path, place: Path, work: Path, point: str
) -> None:
    old = [aged(cli, 9) for _ in range(2)]
    env = {"OUTLIVE_GC_OLDER_THAN": "7d", fault_points.VARIABLE: point, fault_points.REPORT: str(work / "crashes")}
    job = cli.ok("run", "--wait", "echo whole; exit 3", env=env)["job_id"]
    until((work / "crashes").exists, what="the death")
    assert processes.wait_gone(place, 60) == {}
    assert (work / "crashes").read_text(encoding="utf-8").split() == [point]
    assert len(job_ids(root) & set(old)) == 1, "one of them has another name now"
    assert [name for name in os.listdir(root) if name.startswith(".gc-")]
    assert {one["job_id"] for one in cli.ok("list", "--all")["jobs"]} == job_ids(root)
    assert (cli.ok("status", job)["exit_code"], cli.ok("log", job)["output"]) == (3, "whole\n")
    other = _collected(cli, root, place, older_than="7d")
    assert job_ids(root) == {job, other}
    assert not [name for name in os.listdir(root) if name.startswith(".gc-")]


def test_a_guardian_that_took_over_collects_too(cli: Cli, root: Path, place: Path, work: Path) -> None:
    old = aged(cli, 9)
    words = ("run", "--snapshot-after", "0", f"{GATE}; exit 4")
    job = cli.ok(*words, env={"OUTLIVE_GC_OLDER_THAN": "7d"})["job_id"]
    pair.end(pair.supervisor(job))
    (work / "go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == 4
    assert processes.wait_gone(place, 60) == {}
    assert old not in job_ids(root) and job in job_ids(root)


# --- the choice ----------------------------------------------------------------------------------------------------


def _chosen(bounds: Bounds, *sizes: int, other_bytes: int = 0) -> str:
    """Of jobs a, b, c … that ended one after the other, a day apart, the last one now: which go."""
    now = 1_000 * DAY_S
    jobs = [Ended("abcdef"[at], now - (len(sizes) - 1 - at) * DAY_S, size) for at, size in enumerate(sizes)]
    return "".join(job.job_id for job, _ in too_many(reversed(jobs), bounds, now=float(now), other_bytes=other_bytes))


def test_what_ended_first_goes_first_and_no_more_than_must() -> None:
    assert _chosen(Bounds(), 1, 1, 1) == ""
    assert _chosen(Bounds(older_than_s=1.5 * DAY_S), 1, 1, 1, 1) == "ab"
    assert _chosen(Bounds(max_jobs=3), 1, 1, 1, 1) == "a"
    assert _chosen(Bounds(max_jobs=0), 1, 1) == "ab"
    assert _chosen(Bounds(max_bytes=5), 1, 3, 3, 2) == "ab"
    assert _chosen(Bounds(max_bytes=5), 1, 3, 3, 2, other_bytes=3) == "abc"
    assert _chosen(Bounds(max_bytes=5), 9) == "a"
    assert _chosen(Bounds(older_than_s=2.5 * DAY_S, max_jobs=2, max_bytes=100), 1, 1, 1, 1) == "ab"
