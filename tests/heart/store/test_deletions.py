"""The record of the jobs that were deleted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.store import deletions
from outlive.store.root import Store
from support.mounts import Mounts, fill


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    root.mkdir(mode=0o700)
    with contextlib.closing(Store.existing(str(root))) as found:
        yield found


def test_a_caller_behind_a_wall_is_not_told_of_jobs_that_it_never_had(store: Store) -> None:
    with deletions.Deletions(store, "automatic") as told:
        told.note("01M7BCC1KF2YRR88NVYMK8M48Q", "theirs", "max_percent", 1)
    assert deletions.find(store, "NVYMK8M48Q", "ours") is None
    for wall in ("theirs", None):
        found = deletions.find(store, "NVYMK8M48Q", wall)
        assert found and found["bound"] == "max_percent"


def test_the_record_of_deletions_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "_MOST_BYTES", 1_000)
    ids = [f"01M7BCC1KF2YRR88NVYMK8M{number:03d}" for number in range(100)]
    for job_id in ids:
        with deletions.Deletions(store, "gc") as told:
            told.note(job_id, None, "older_than", 1)
    known = [entry["job_id"] for entry in deletions.entries(store)]
    assert known == ids[::-1][: len(known)], "the newest first"
    assert 5 < len(known) < 30


def test_a_deletion_that_a_full_disk_had_no_room_to_record_is_recorded_after_it(mount: Mounts) -> None:
    full = mount.small("tmpfs", 1)
    filler = fill(full)
    with contextlib.closing(Store.existing(str(full))) as store:
        with deletions.Deletions(store, "gc") as told:
            told.note("01M7BCC1KF2YRR88NVYMK8M48Q", None, "older_than", 1)
            assert not list(deletions.entries(store))
            filler.unlink()
        assert [entry["job_id"] for entry in deletions.entries(store)] == ["01M7BCC1KF2YRR88NVYMK8M48Q"]


def test_two_that_find_the_record_full_at_once_lose_nothing_of_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, first, second = (f"01M7BCC1KF2YRR88NVYMK8M{number:03d}" for number in range(3))
    with deletions.Deletions(store, "gc") as told:
        told.note(early, None, "older_than", 1)
    monkeypatch.setattr(deletions, "_MOST_BYTES", 1)
    opened, others = deletions.Deletions._opened, [first]

    def opened_before_another(told: deletions.Deletions) -> int:
        fd = opened(told)
        while others:
            with deletions.Deletions(store, "automatic") as other:
                other.note(others.pop(), None, "max_percent", 1)
        return fd

    monkeypatch.setattr(deletions.Deletions, "_opened", opened_before_another)
    with deletions.Deletions(store, "gc") as told:
        told.note(second, None, "older_than", 1)
    assert [entry["job_id"] for entry in deletions.entries(store)] == [second, first, early]
