"""Copies on a host of kind ssh whose job was deleted here by hand."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from outlive.core.records import State
from outlive.core.units import timestamp
from outlive.parts.hosts.far import orphans
from outlive.parts.hosts.ssh import origin
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from parts.hosts.test_ssh import is_held, mirror_of
from support.cli import Cli
from support.fake_ssh import FakeSsh
from support.wait import until


def orphan(cli: Cli, box: FakeSsh, *, days: float = 2) -> str:
    """Return a job that ended there so many days ago, and whose directory here was deleted meanwhile."""
    words = ("run", "--host", "box", "--stdin", "open", "--snapshot-after", "0", "--", "read x")
    job: str = cli.ok(*words)["job_id"]
    box.down()
    os.kill(mirror_of(job), signal.SIGKILL)
    until(lambda: not is_held(cli, job), what="the mirror is dead")
    store = Store.existing(str(box.root))
    with JobDir.open(store, job) as there:
        running = there.read_state()
        assert running and running.pid
        os.kill(running.pid, signal.SIGKILL)
        until(lambda: not there.is_supervised(), what="its end there")
        ended = there.read_state()
        assert ended
        there.write_state(State.replace(ended, finished_at=timestamp(time.time() - days * 86_400)))
    store.close()
    shutil.rmtree(cli.root / job)
    box.up()
    return job


def there(box: FakeSsh) -> set[str]:
    return {path.name for path in box.jobs()}


def run(cli: Cli) -> None:
    assert cli.ok("run", "--host", "box", "--wait", "--", "true")["exit_code"] == 0


def test_a_copy_whose_job_was_deleted_here_is_deleted_there_by_the_next_job(cli: Cli, box: FakeSsh) -> None:
    job = orphan(cli, box)
    assert there(box) == {job}
    run(cli)
    box.wait_empty()


def test_a_copy_of_today_and_one_of_another_root_stay(
    cli: Cli, box: FakeSsh, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    young, old = orphan(cli, box, days=0.5), orphan(cli, box)
    other = Cli(place / "other-root")
    monkeypatch.setenv("OUTLIVE_ROOT", str(other.root))
    other.root.mkdir(mode=0o700)
    run(other)
    until(lambda: there(box) == {young, old}, what="nothing of another root is deleted")
    monkeypatch.setenv("OUTLIVE_ROOT", str(cli.root))
    run(cli)
    until(lambda: there(box) == {young}, what="the old one is deleted")
    shutil.rmtree(box.root / young)


def test_what_still_runs_and_what_is_here_is_never_dropped(cli: Cli, box: FakeSsh) -> None:
    words = ("run", "--host", "box", "--snapshot-after", "0", "--", "exec sleep 1000")
    job = cli.ok(*words)["job_id"]
    store = Store.existing(str(box.root))
    name = origin.name_of(str(cli.root))
    assert orphans.candidates(store, name) == []
    orphans.drop(store, name, [job])
    store.close()
    assert cli.ok("status", job)["state"] == "running"
    assert origin.gone(str(cli.root), [job, "../x"]) == [] and origin.name_of(str(cli.root)) == name
    cli.ok("kill", job)
    box.wait_empty()
