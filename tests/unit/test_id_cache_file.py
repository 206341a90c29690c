"""The file that the names of a root's jobs are kept in: damaged, foreign, in the way, half written."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlive.store import id_cache
from outlive.system import process
from support import many_names
from support.many_names import KEPT, MANY, Root
from support.mounts import Mounts, fill


@pytest.fixture(autouse=True)
def fewer_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    many_names.fewer_are_many(monkeypatch)


@pytest.fixture
def many(root: Path) -> Iterator[Root]:
    with many_names.made(root) as made:
        yield made


# --- what other programs do to the file ----------------------------------------------------------------------------


def test_a_damaged_file_is_not_believed(many: Root) -> None:
    many.keep()
    whole = many.kept.read_bytes()
    places = [*range(id_cache._HEAD_BYTES), *range(id_cache._HEAD_BYTES, len(whole), 997), len(whole) - 1]
    for at in places:
        many.kept.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert id_cache._cached(many.fd, newest=True) in (None, _newest(many)), at
        assert id_cache._cached(many.fd, newest=False) in (None, _every(whole)), at
        if at < id_cache._HEAD_BYTES:
            assert not many.is_kept(), at


def _newest(many: Root) -> bytes:
    return "".join(many.truth()[: id_cache._NEWEST]).encode()


def _every(whole: bytes) -> bytes:
    return whole[id_cache._HEAD_BYTES + id_cache._NEWEST * 26 :]


@pytest.mark.parametrize("rest", [b"", b"\0" * 80_000, b"outlive names 1\n", os.urandom(80_000), "cut", "longer"])
def test_a_foreign_or_cut_file_is_not_believed(many: Root, rest: bytes | str) -> None:
    many.keep()
    whole = many.kept.read_bytes()
    many.kept.write_bytes({"cut": whole[:-1], "longer": whole + b"0" * 26}.get(rest, rest))  # type: ignore[call-overload]
    many.check()
    os.unlink(many.kept)
    many.check()


def test_a_copy_of_a_root_does_not_believe_what_was_kept_of_the_other(many: Root, place: Path) -> None:
    many.keep()
    shutil.copytree(many.path, place / "copy")
    before = os.stat(many.path)
    (place / "copy" / many.truth()[0]).unlink()
    os.utime(place / "copy", ns=(before.st_atime_ns, before.st_mtime_ns))
    copy = Root(place / "copy", 0)
    with contextlib.closing(copy.store):
        assert (copy.path / KEPT).exists()
        copy.check()
        assert len(copy.truth()) == MANY - 1


def test_what_was_kept_before_a_reboot_is_not_believed(many: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    many.keep()
    monkeypatch.setattr(process, "_boot_id", "00000000-0000-0000-0000-000000000000")
    assert not many.is_kept()
    many.check()
    assert many.is_kept(), "it was written anew"
    monkeypatch.setattr(process, "_boot_id", "")
    assert not many.is_kept()
    many.check()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.symlink_to("/dev/null")


STRANGE: dict[str, Callable[[Path], None]] = {"directory": Path.mkdir, "file": Path.touch, "fifo": _fifo, "link": _link}


@pytest.mark.parametrize("where", [id_cache.NAMES, KEPT, f"{id_cache.NAMES}/{id_cache.NEW}"])
@pytest.mark.parametrize("kind", STRANGE)
def test_something_else_in_its_place_stops_nobody(many: Root, where: str, kind: str) -> None:
    many.settle()
    if where == id_cache.NAMES:
        shutil.rmtree(many.path / id_cache.NAMES)
    STRANGE[kind](many.path / where)
    for _ in range(2):
        many.settle() if where != id_cache.NAMES else None
        many.check()
    shutil.rmtree(many.path)


# --- writers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["ftruncate", "pwrite", "replace"])
def test_a_writer_who_is_killed_leaves_nothing_that_matters(many: Root, call: str) -> None:
    many.keep()
    many.add()
    many.settle()
    child = os.fork()
    if not child:
        real = os.pwrite

        def die(*words: object, **_: object) -> None:
            if call == "pwrite":
                real(*words[:1], words[1][:30_000], 0)  # type: ignore[arg-type, index]
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(id_cache.os, call, die)
        with contextlib.suppress(BaseException):
            id_cache.ids_with(many.fd, "ZZZZZZ")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not many.is_kept()
    many.check()
    assert many.is_kept(), "the next one is not stopped by what it left"
    assert os.listdir(many.path / id_cache.NAMES) == [id_cache.IDS]


def test_only_one_writes_at_a_time(many: Root) -> None:
    many.settle()
    held = os.open(many.path / id_cache.NAMES / id_cache.NEW, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    many.check()
    assert not many.kept.exists()
    os.close(held)
    many.check()
    assert many.is_kept()


def test_what_another_writer_has_just_renamed_is_not_written_over(many: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """We had opened the file when it got its new name, and a third one has made the next already."""
    many.keep()
    new = many.kept.with_name(id_cache.NEW)
    os.rename(many.kept, new)
    real = fcntl.flock
    monkeypatch.setattr(
        id_cache.fcntl, "flock", lambda fd, how: (os.rename(new, many.kept), new.touch(), real(fd, how))
    )
    assert id_cache.ids_with(many.fd, many.truth()[0]) == many.truth()[:1]
    assert many.is_kept()


def test_a_full_disk_costs_nothing_but_the_listing(mount: Mounts) -> None:
    many = Root(mount("full", "size=1m,mode=700") / "jobs")
    with contextlib.closing(many.store):
        many.settle()
        filler = fill(many.path.parent)
        many.check()
        assert not many.kept.exists()
        assert (many.path / id_cache.NAMES / id_cache.NEW).stat().st_blocks == 0
        filler.unlink()
        many.check()
        assert many.is_kept()


def test_a_read_only_root_is_read(mount: Mounts) -> None:
    path = mount("ro", "size=1m,mode=700")
    many = Root(path / "jobs")
    with contextlib.closing(many.store):
        subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
        many.check()
        subprocess.run(["mount", "-o", "remount,rw", str(path)], check=True)
        many.keep()
        many.add()
        many.settle()
        subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
        assert not many.is_kept()
        many.check()
