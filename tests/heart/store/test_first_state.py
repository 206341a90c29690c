"""The first state of a job: it stands in the mark of live jobs until there is a state.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.core.records import State
from outlive.store.new_job import NewJob
from outlive.store.root import Store


@pytest.fixture
def new(tmp_path: Path) -> Iterator[NewJob]:
    store = Store.open(str(tmp_path / "jobs"), {})
    made = NewJob(store, new_id())
    store.mark_live(made.job_id)
    made.publish()
    yield made
    made.close()
    store.close()


def test_the_first_state_makes_no_file_and_counts_until_the_next_one(new: NewJob) -> None:
    assert new.dir.read_state() is None
    before = sorted(Path(new.dir.path).rglob("*"))
    _mark(new, boot_id="this")
    assert sorted(Path(new.dir.path).rglob("*")) == before
    found = new.dir.read_state()
    assert found is not None
    assert (found.phase, found.boot_id) == ("spawning", "this")
    new.dir.write_state(State.replace(found, phase="running", pid=7))
    found = new.dir.read_state()
    assert found is not None
    assert (found.phase, found.pid) == ("running", 7)


def test_a_guardian_writes_the_first_state_over_that_of_its_supervisor(new: NewJob) -> None:
    _mark(new, boot_id="a longer one")
    _mark(new, boot_id="short")
    found = new.dir.read_state()
    assert found is not None
    assert found.boot_id == "short"


def test_a_first_state_that_a_power_cut_spoiled_still_says_that_the_command_may_have_run(new: NewJob) -> None:
    mark = Path(new.store.path, ".live", new.job_id)
    mark.write_bytes(b"\0" * 700)
    found = new.dir.read_state()
    assert found is not None
    assert (found.phase, found.job_id) == ("spawning", new.job_id)


@pytest.mark.parametrize("place", ["missing", "link"])
def test_without_a_mark_the_first_state_is_a_file_of_the_job(new: NewJob, tmp_path: Path, place: str) -> None:
    mark = Path(new.store.path, ".live", new.job_id)
    mark.unlink()
    if place == "link":
        (tmp_path / "other").touch()
        mark.symlink_to(tmp_path / "other")
    _mark(new, boot_id="this")
    assert Path(new.dir.path, "state.json").exists()
    found = new.dir.read_state()
    assert found is not None
    assert found.phase == "spawning"


def test_the_first_state_of_a_job_that_create_made_replaces_the_one_it_has(new: NewJob) -> None:
    new.dir.write_state(State(job_id=new.job_id, state="created", phase="created"))
    _mark(new, boot_id="this")
    found = new.dir.read_state()
    assert found is not None
    assert found.phase == "spawning"


def _mark(new: NewJob, *, boot_id: str) -> None:
    new.dir.mark_spawning(State(job_id=new.job_id, boot_id=boot_id, phase="spawning"))
