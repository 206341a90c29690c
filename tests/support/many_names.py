"""A root of so many jobs that their names are kept, without any of these jobs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.core.ids import is_id, new_id
from outlive.store import id_cache
from outlive.store.root import Store
from outlive.system import mounts
from support.wait import until

KEPT = f"{id_cache.NAMES}/{id_cache.IDS}"
MANY = 120


def fewer_are_many(patch: pytest.MonkeyPatch) -> None:
    """So many as MANY."""
    patch.setattr(id_cache, "_WORTH_CACHING", 100)
    patch.setattr(id_cache, "_NEWEST", 40)


class Root:
    """A root of many jobs without content."""

    def __init__(self, path: Path, count: int = MANY) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        self.path = path
        self.kept = path / KEPT
        for _ in range(count):
            self.add()
        self.store = Store.existing(str(path))
        self.fd = self.store.fd

    def add(self) -> str:
        """An entry with the name of a job; neither the links nor the size of the root tell of it."""
        name = new_id()
        (self.path / name).touch(mode=0o600)
        return name

    def truth(self) -> list[str]:
        return sorted(filter(is_id, os.listdir(self.path)), reverse=True)

    def settle(self) -> None:
        """Until it is written down (or would be, could it be) what is in it."""
        if not (self.path / id_cache.NAMES).exists():
            (self.path / id_cache.NAMES).mkdir(mode=0o700)
        probe = self.path / id_cache.NAMES / "probe"

        def settled() -> bool:
            probe.touch()
            return probe.stat().st_ctime_ns - os.fstat(self.fd).st_ctime_ns > id_cache._SETTLED_NS

        until(settled)
        probe.unlink()

    def keep(self) -> None:
        self.settle()
        id_cache.ids_with(self.fd, "ZZZZZZ")
        assert self.is_kept()

    def is_kept(self) -> bool:
        return id_cache._cached(self.fd, newest=True) is not None

    def check(self) -> None:
        """All ways to ask say what is there."""
        found, truth = list(id_cache.newest_ids(self.fd)), self.truth()
        assert found == truth
        assert self.store.ids() == truth
        for one in (*truth[:3], *truth[-3:]):
            assert one in id_cache.ids_with(self.fd, one[:16])
            assert self.store.find(one[-12:]) == one


@contextlib.contextmanager
def made(path: Path) -> Iterator[Root]:
    """Skips the test where nothing is ever kept."""
    root = Root(path)
    with contextlib.closing(root.store):
        if mounts.type_of(root.fd) not in id_cache._LOCAL:
            pytest.skip("nothing is kept on this file system")
        yield root
