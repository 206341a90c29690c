"""The names of a root's jobs are kept for as long as nothing changes, and are never wrong."""

from __future__ import annotations

import contextlib
import os
import random
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.store import id_cache
from outlive.system import mounts
from support import many_names
from support.many_names import Root
from support.mounts import Mounts
from support.wait import until


@pytest.fixture(autouse=True)
def fewer_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    many_names.fewer_are_many(monkeypatch)


@pytest.fixture
def many(root: Path) -> Iterator[Root]:
    with many_names.made(root) as made:
        yield made


@pytest.fixture
def unlisted(many: Root, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let no code read the directory from now on."""

    def forbid() -> None:
        def entries(_: int) -> list[str]:
            raise AssertionError("the directory was read")

        monkeypatch.setattr(id_cache, "names_in", entries)

    return forbid


# --- what it is for ------------------------------------------------------------------------------------------------


def test_an_unchanged_root_is_not_read_again(many: Root, unlisted: Callable[[], None]) -> None:
    truth = many.truth()
    many.keep()
    unlisted()
    assert list(id_cache.newest_ids(many.fd)) == truth == many.store.ids()
    assert many.store.find(truth[7][-12:].lower()) == truth[7]
    assert id_cache.ids_with(many.fd, truth[-1][:20]) == [name for name in truth if name.startswith(truth[-1][:20])]


def test_the_newest_are_had_without_reading_the_others(many: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = many.truth()
    many.keep()
    read: list[int] = []
    real = os.pread

    def pread(fd: int, count: int, at: int) -> bytes:
        read.append(count)
        return real(fd, count, at)

    monkeypatch.setattr(id_cache.os, "pread", pread)
    ids = id_cache.newest_ids(many.fd)
    assert [next(ids) for _ in range(id_cache._NEWEST)] == truth[: id_cache._NEWEST]
    assert sum(read) < id_cache._NEWEST * 32
    assert list(ids) == truth[id_cache._NEWEST :]


def test_a_small_root_gets_no_further_file(root: Path) -> None:
    small = Root(root, id_cache._WORTH_CACHING - 1)
    with contextlib.closing(small.store):
        small.check()
        assert not (root / id_cache.NAMES).exists()
        small.settle()  # it was larger once
        small.check()
        assert not small.kept.exists()


def test_the_first_look_makes_the_place_and_a_later_one_writes(many: Root) -> None:
    many.check()
    assert (many.path / id_cache.NAMES).stat().st_mode & 0o777 == 0o700
    assert not many.kept.exists(), "the root was changed by making it"
    many.settle()
    before = os.stat(many.path)
    many.check()
    assert many.is_kept()
    assert many.kept.stat().st_mode & 0o777 == 0o600
    assert os.stat(many.path).st_mtime_ns == before.st_mtime_ns, "writing it is no change of the root"


def test_it_is_laid_out_as_the_documentation_says(many: Root) -> None:
    many.keep()
    data, found, truth = many.kept.read_bytes(), os.stat(many.path), many.truth()
    assert data[:16] == b"outlive names 1\n"
    assert data[16:52].decode() == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    numbers = struct.unpack("<QQQQqqQIII", data[52:120])
    assert numbers[:4] == (found.st_dev, found.st_ino, found.st_nlink, found.st_size)
    assert numbers[4:7] == (found.st_mtime_ns, found.st_ctime_ns, len(truth))
    newest, others = data[120 : 120 + 26 * id_cache._NEWEST], data[120 + 26 * id_cache._NEWEST :]
    assert numbers[7:] == (zlib.crc32(newest), zlib.crc32(others), zlib.crc32(data[:116]))
    assert newest.decode() == "".join(truth[: id_cache._NEWEST])
    assert sorted(others[at : at + 26].decode() for at in range(0, len(others), 26)) == sorted(truth)


def test_a_part_of_an_id_is_found_at_its_ends_only(root: Path) -> None:
    """The bytes of neighbours are no id, and neither is the middle of one."""
    data = b"".join(name.encode() for name in ("01" + "A" * 24, "A" * 12 + "B" * 14, "7" + "AB" * 12 + "A"))
    every = [data[at : at + 26].decode() for at in range(0, len(data), 26)]
    parts = {data[at : at + size] for at in range(len(data)) for size in range(6, 27)}
    for part in map(bytes.decode, parts):
        found = list(id_cache._found(data, part.encode()))
        assert found == [one for one in every if one.startswith(part) or one.endswith(part)], part


# --- exactness -----------------------------------------------------------------------------------------------------


def test_what_is_moved_in_or_removed_by_hand_shows_at_once(many: Root, work: Path) -> None:
    for change in ("add", "remove", "rename", "move"):
        many.keep()
        oldest, newest = many.truth()[-1], many.truth()[0]
        if change == "add":
            (many.path / new_id()).mkdir()
        elif change == "remove":
            (many.path / newest).rmdir()
        elif change == "rename":
            os.rename(many.path / oldest, many.path / new_id())
        else:
            os.rename(many.path / oldest, work / oldest)
        assert not many.is_kept(), change
        many.check()


def test_a_change_whose_times_were_put_back_shows_at_once(many: Root) -> None:
    """As archivers and rsync(1) do with a directory."""
    many.keep()
    before = os.stat(many.path)
    os.rename(many.path / many.truth()[0], many.path / new_id())
    os.utime(many.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(many.path).st_mtime_ns == before.st_mtime_ns
    many.check()


@pytest.mark.parametrize("which", range(6))
def test_each_thing_that_may_tell_of_a_change_is_looked_at(
    many: Root, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    many.keep()
    found = os.stat(many.path)
    other = [found.st_dev, found.st_ino, found.st_nlink, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    assert list(id_cache._state(many.fd)) == other
    other[which] += 1
    monkeypatch.setattr(id_cache, "_state", lambda _: tuple(other))
    assert not many.is_kept()


def _coarsely(real: Callable[[int], id_cache.State], tick_ns: int) -> Callable[[int], id_cache.State]:
    def state(root: int) -> id_cache.State:
        *others, mtime_ns, ctime_ns = real(root)
        return (*others, mtime_ns // tick_ns * tick_ns, ctime_ns // tick_ns * tick_ns)  # type: ignore[return-value]

    return state


def test_two_changes_within_one_tick_of_the_clock_both_show(many: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """The times after the second are those of the first, which was listed: nothing may have been kept in between. A tick
    of 40 ms, as no kernel has, has room for many of them."""
    many.settle()
    monkeypatch.setattr(id_cache, "_state", _coarsely(id_cache._state, 40_000_001))
    last, within = None, 0
    while within < 20:
        id_cache.ids_with(many.fd, "ZZZZZZ")
        os.rename(many.path / many.truth()[0], many.path / new_id())
        within += id_cache._state(many.fd) == last
        last = id_cache._state(many.fd)
        assert list(id_cache.newest_ids(many.fd)) == many.truth()
    many.keep()


def test_nothing_is_kept_where_the_last_change_was_just_now(many: Root) -> None:
    many.keep()
    written = many.kept.stat().st_mtime_ns
    many.add()
    many.check()
    assert many.kept.stat().st_mtime_ns == written


@pytest.mark.parametrize("tick_ns", [10_000_000, 1_000_000_000, 2_000_000_000])
def test_times_of_a_coarse_file_system_are_not_believed(
    many: Root, monkeypatch: pytest.MonkeyPatch, tick_ns: int
) -> None:
    many.settle()
    monkeypatch.setattr(id_cache, "_state", _coarsely(id_cache._state, tick_ns))
    many.check()
    assert not many.kept.exists()


def test_a_file_system_that_counts_in_seconds_is_read_each_time(mount: Mounts) -> None:
    """An ext4 whose inodes have no room for more."""
    many = Root(mount.ext4("coarse", 32, "-I", "128", "-N", "4096") / "jobs")
    with contextlib.closing(many.store):
        assert os.stat(many.path).st_ctime_ns % 1_000_000_000 == 0
        many.settle()
        many.check()
        assert not many.kept.exists()


def test_a_file_system_of_an_unknown_kind_is_read_each_time(many: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    many.settle()
    monkeypatch.setattr(mounts, "type_of", lambda _: "nfs4")
    many.check()
    assert not many.kept.exists()


def test_a_clock_that_is_put_back_makes_nobody_believe_a_later_change(
    many: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times of the root are yet to come: a change could have them again."""
    many.settle()
    real = id_cache._state
    ahead = 3_600_000_000_000
    monkeypatch.setattr(id_cache, "_state", lambda root: (*real(root)[:4], *(time + ahead for time in real(root)[4:])))
    many.check()
    assert not many.kept.exists()


def test_a_change_during_the_listing_is_not_lost(many: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    many.settle()
    real, made = id_cache.names_in, list[str]()

    def entries(place: int) -> list[str]:
        found = real(place)
        if not made:
            made.append(many.add())
        return found

    monkeypatch.setattr(id_cache, "names_in", entries)
    id_cache.ids_with(many.fd, "ZZZZZZ")
    assert made and not many.is_kept()
    many.check()


def test_names_are_exact_while_somebody_makes_and_removes_jobs(many: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two readers that also write. What was there before a look and after it is in its answer, and nothing is that had
    gone before it or came after it."""
    monkeypatch.setattr(id_cache, "_SETTLED_NS", id_cache._COARSE_NS)  # so that something is kept between two changes
    ids = many.truth()
    made, removed = set(ids), set[str]()
    stop, wrong, kept = threading.Event(), list[str](), [0]

    def read() -> None:
        while not stop.is_set():
            gone, there = set(removed), set(made)
            kept[0] += many.is_kept()
            found = set(id_cache.newest_ids(many.fd))
            surely = there & set(made)
            if not surely <= found or found & gone:
                wrong.append(f"missing {surely - found}, too many {found & gone}")
                stop.set()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    chance = random.Random(7)
    try:
        for _ in range(60):
            for _ in range(chance.randrange(1, 4)):
                old = ids.pop(chance.randrange(len(ids)))
                # Said before it goes and after it came: a reader that looks in between may see either
                made.discard(old)
                (many.path / old).unlink()
                removed.add(old)
                ids.append(many.add())
                made.add(ids[-1])
            if chance.random() < 0.5:
                seen = kept[0]
                until(lambda seen=seen: kept[0] > seen or stop.is_set())  # type: ignore[misc]
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not wrong
    assert kept[0]
    many.check()


def test_two_threads_that_list_one_root_at_once_both_get_all(many: Root) -> None:
    """Each has a place of its own in the directory; they would share that of the store's."""
    truth, started, found = many.truth(), threading.Barrier(3), list[list[str]]()

    def read() -> None:
        started.wait()
        found.extend(many.store.ids() for _ in range(100))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(found) == 300 and all(one == truth for one in found)
