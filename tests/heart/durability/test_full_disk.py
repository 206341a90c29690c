"""A disk that is full when a job ends: its outcome has its space already."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import State
from outlive.store import atomic_file
from outlive.store.job_dir import RESERVE, JobDir
from outlive.system import fault_points
from support import pair, processes
from support.cli import Cli
from support.commands import GATE
from support.mounts import KINDS, Mounts, fill
from support.tiers import first
from support.wait import until


@pytest.fixture(params=KINDS)
def small(request: pytest.FixtureRequest, mount: Mounts) -> Path:
    """A root on a file system of 4 MiB."""
    kind: str = request.param
    return mount.small(kind, 4)


def _state(root: Path, job: str) -> dict[str, Any]:
    """Return what the disk has, whichever processes live."""
    return atomic_file.load((root / job / "state.json").read_bytes())


def _is_full(root: Path) -> bool:
    try:
        (root / "probe").write_bytes(b"x" * 4096)
    except OSError:
        return True
    finally:
        (root / "probe").unlink(missing_ok=True)
    return False


def _gated(cli: Cli, root: Path, **env: str) -> str:
    """A job that runs and ends with 3 when it may, on a disk that is full by then."""
    words = ("--root", str(root), "run", "--snapshot-after", "0", f"echo up; {GATE}; exit 3")
    job: str = cli.ok(*words, env=env)["job_id"]
    cli.ok("--root", str(root), "wait", job, "--until", "output", "--timeout-ms", "50s")
    fill(root)
    assert _is_full(root)
    return job


@pytest.mark.fault("F16")
def test_the_outcome_is_on_disk_though_the_disk_is_full(cli: Cli, small: Path, work: Path, place: Path) -> None:
    job = _gated(cli, small)
    (work / "go").touch()
    assert processes.wait_gone(place, 60) == {}, "no process has to stay and hold it in memory"
    assert (_state(small, job)["state"], _state(small, job)["exit_code"]) == ("exited", 3)
    found = cli.ok("--root", str(small), "wait", job)
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 3, "up\n")
    assert not (small / job / RESERVE).exists()


def test_samples_of_what_a_job_uses_go_on_when_a_full_disk_has_room_again(cli: Cli, small: Path, work: Path) -> None:
    job = _gated(cli, small)
    supervisor, file = pair.supervisor(job), small / job / "usage.ndjson"
    until(lambda: cli.ok("--root", str(small), "status", job)["elapsed_ms"] > 2500, what="the time of the first sample")
    assert not file.exists() or not file.stat().st_size
    (small / "filler").unlink()
    until(lambda: file.exists() and json.loads(file.read_bytes().splitlines()[-1]), what="a sample")
    assert pair.supervisor(job) == supervisor
    (work / "go").touch()
    found = cli.ok("--root", str(small), "wait", job)
    assert (found["state"], found["exit_code"]) == ("exited", 3)
    assert not [one for one in cli.ok("--root", str(small), "events", job)["events"] if one["type"] == "fault"]


@pytest.mark.fault("F16")
def test_a_job_that_fills_its_disk_ends_with_its_outcome_there(cli: Cli, small: Path, place: Path) -> None:
    words = ("--root", str(small), "run", "--wait", "head -c 12000000 /dev/zero | tr '\\0' x; exit 3")
    found = cli.ok(*words)
    assert (found["state"], found["exit_code"]) == ("exited", 3)
    assert processes.wait_gone(place, 60) == {}
    state = _state(small, found["job_id"])
    stored = (small / found["job_id"] / "stdout.log").stat().st_size
    assert (state["exit_code"], state["dropped_bytes"]) == (3, 12_000_000 - stored)
    assert 0 < stored <= 4 << 20


@pytest.mark.fault("F16")
def test_a_start_that_finds_no_room_for_its_end_is_refused(cli: Cli, small: Path, place: Path) -> None:
    cli.ok("--root", str(small), "list")
    size = fill(small).stat().st_size
    seen = []
    for kib in (4, 8, 12, 16, 24):
        os.truncate(small / "filler", size - (kib << 10))
        answer = cli.run("--root", str(small), "run", "--snapshot-after", "0", "exit 3")
        assert processes.wait_gone(place, 60) == {}, "no process has to stay and hold the end in memory"
        jobs = cli.ok("--root", str(small), "list", "--all")["jobs"]
        if answer["ok"]:
            assert _state(small, answer["job_id"])["exit_code"] == 3
        else:
            assert (answer["error"]["code"], answer["error"]["retryable"], jobs) == ("launch_failed", True, [])
        seen.append(answer["ok"])
        os.truncate(small / "filler", size // 2)
        for job in jobs:
            cli.ok("--root", str(small), "remove", job["job_id"])
        size = fill(small).stat().st_size
    assert seen[0] is False and seen[-1] is True


@pytest.mark.fault("F16")
def test_a_guardian_that_takes_over_on_a_full_disk_writes_the_outcome(
    cli: Cli, small: Path, work: Path, place: Path
) -> None:
    job = _gated(cli, small)
    pair.take_over(job)
    (work / "go").touch()
    assert processes.wait_gone(place, 60) == {}
    assert _state(small, job)["exit_code"] == 3


@pytest.mark.parametrize("deaths", first(1, [f"end_unwritten,{fault_points.SUCCESSOR}end_unwritten", "end_unwritten"]))
def test_who_dies_between_the_outcome_and_its_rename_loses_it_on_no_disk(
    cli: Cli, small: Path, work: Path, place: Path, deaths: str
) -> None:
    job = _gated(cli, small, **{fault_points.VARIABLE: deaths, fault_points.REPORT: str(work / "crashes")})
    (work / "go").touch()
    assert processes.wait_gone(place, 60) == {}
    assert (work / "crashes").read_text(encoding="utf-8").split() == deaths.split(",")
    found = cli.ok("--root", str(small), "status", job)
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 3, "exit")
    assert _state(small, job)["exit_code"] == 3


def test_an_outcome_that_was_written_and_not_renamed_is_found(cli: Cli, root: Path, work: Path, place: Path) -> None:
    deaths = f"end_unwritten,{fault_points.SUCCESSOR}end_unwritten"
    env: dict[str, str | None] = {fault_points.VARIABLE: deaths, fault_points.REPORT: str(work / "crashes")}
    words = ("run", "--snapshot-after", "0", "--notify-file", str(work / "told"), f"echo up; {GATE}; exit 3")
    job = cli.ok(*words, env=env)["job_id"]
    (work / "go").touch()
    assert processes.wait_gone(place, 60) == {}
    found = cli.ok("status", job)
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 3, "exit")
    until(lambda: json.loads((work / "told").read_bytes())["exit_code"] == 3, what="the word of the end")
    history = [event["type"] for event in cli.ok("events", job)["events"]]
    assert history.count("finished") == 1


def _ended(job_id: str, **changes: Any) -> bytes:
    return atomic_file.dump(State(job_id=job_id, state="exited", phase="finished", exit_code=3).to_dict() | changes)


@pytest.mark.parametrize("name", [RESERVE, ".state.json.123.4"])
def test_only_a_whole_outcome_of_this_job_counts(tmp_path: Path, name: str) -> None:
    job_id = new_id()
    with JobDir(str(tmp_path), job_id, os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)) as job:
        assert job.unrenamed_outcome() is None
        whole = _ended(job_id)
        for data in (
            b"",
            bytes(8_192),
            whole[:-20],
            whole[:-20] + bytes(100),
            _ended(new_id()),
            _ended(job_id, state="running", exit_code=None),
            _ended(job_id, format=99),
            b'{"job_id":"%s","state":"exited","exit_code":3}\n' % job_id.encode(),
        ):
            (tmp_path / name).write_bytes(data)
            assert job.unrenamed_outcome() is None, data
        (tmp_path / name).write_bytes(whole + bytes(8_192 - len(whole)))
        found = job.unrenamed_outcome()
        assert found is not None and found.exit_code == 3


def test_a_reserve_that_is_no_file_of_ours_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"kept")
    (tmp_path / RESERVE).symlink_to(tmp_path / "precious")
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    with pytest.raises(OSError, match="symbolic"):
        atomic_file.write_reserved(fd, RESERVE, "state.json", b"new")
    os.close(fd)
    assert (tmp_path / "precious").read_bytes() == b"kept"
