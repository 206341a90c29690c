"""Which jobs are in a root, newest first, however many there are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.errors import OutliveError
from outlive.store.root import Store


def test_ids_are_those_of_jobs_newest_first(root: Path) -> None:
    store = Store.open(str(root), dict(os.environ))
    made = [new_id() for _ in range(40)]
    for name in [*made, ".live", ".tmp-" + new_id(), "8" * 26, "I" * 26, "notes"]:
        (root / name).mkdir()
    assert store.ids() == sorted(made, reverse=True)
    store.close()


def test_a_part_of_an_id_is_found_at_its_ends_only(root: Path) -> None:
    store = Store.open(str(root), dict(os.environ))
    one, other, inside = "01ABCDEFGH" + "0" * 16, "0" * 16 + "01ABCDEFGH", "0" * 8 + "01ABCDEFGH" + "0" * 8
    for name in (one, other, inside):
        (root / name).mkdir()
    with pytest.raises(OutliveError) as caught:
        store.find("01ABCDEFGH")
    assert caught.value.details == {"candidates": [one, other], "truncated": False}
    assert store.find("01abcdefgh", exists=lambda job: job == other) == other
    store.close()


def test_two_threads_that_list_one_root_at_once_both_get_all(root: Path) -> None:
    store = Store.open(str(root), dict(os.environ))
    made = {new_id() for _ in range(300)}
    for name in made:
        (root / name).mkdir()
    found: list[set[str]] = []
    threads = [threading.Thread(target=lambda: found.extend(set(store.ids()) for _ in range(20))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [made] * 40
    store.close()
