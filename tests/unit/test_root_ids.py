"""Which jobs are in a root, newest first, however many there are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.store import id_cache
from outlive.store.root import Store


@pytest.mark.parametrize("count", [0, 3, 39, 40, 41, 200])
def test_newest_ids_are_all_ids_in_the_same_order(count: int, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_cache, "_NEWEST", 40)
    store = Store.open(str(root), dict(os.environ))
    made = [new_id() for _ in range(count)]
    for name in [*made, ".live", ".tmp-" + new_id(), "8" * 26, "I" * 26, "notes"]:
        (root / name).mkdir()
    assert list(store.newest_ids()) == store.ids() == sorted(made, reverse=True)
    store.close()
