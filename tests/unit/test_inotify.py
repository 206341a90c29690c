"""A file's coming, changing and going wakes each process that watches for it: real files, real directories."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlive.system import inotify
from support.seen import See, Seen, inode, made, seen_by_tests, watched
from support.wait import until

try:
    inotify.Watch("/").close()
except OSError as reason:
    pytest.skip(f"no inotify here: {reason}", allow_module_level=True)


@pytest.fixture
def see() -> Iterator[See]:
    yield from seen_by_tests()


# --- the file --------------------------------------------------------------------------------------------------------


def test_a_new_file_is_told(see: See, work: Path) -> None:
    seen = see(work / "file")
    (work / "file").touch()
    assert seen.told()


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("other"),
        lambda file: os.truncate(file, 0),
        lambda file: os.utime(file, (1, 1)),
        lambda file: file.chmod(0o600),
        lambda file: file.unlink(),
        lambda file: file.rename(file.with_name("elsewhere")),
        lambda file: os.replace(made(file.with_name("new")), file),
    ],
    ids=["write", "truncate", "touch", "chmod", "unlink", "move away", "replace"],
)
def test_every_change_of_a_file_is_told_and_the_next_one_too(
    change: Callable[[Path], object], see: See, work: Path
) -> None:
    file = made(work / "file")
    seen = see(file)
    change(file)
    assert seen.told()
    assert not seen.told()
    file.unlink(missing_ok=True)
    seen.told()
    file.write_text("again")
    assert seen.told()
    with file.open("a") as stream:
        stream.write("and again")
    assert seen.told()


def test_bytes_appended_by_a_writer_that_keeps_the_file_open_are_told(see: See, work: Path) -> None:
    with (work / "file").open("wb", buffering=0) as stream:
        seen = see(work / "file")
        for _ in range(3):
            stream.write(b"x")
            assert seen.told()
            assert not seen.told()


def test_a_file_deleted_while_somebody_reads_it_is_told(see: See, work: Path) -> None:
    with made(work / "file").open():
        seen = see(work / "file")
        (work / "file").unlink()
        assert seen.told()
        (work / "file").touch()
        assert seen.told()


def test_a_neighbour_is_not_taken_for_the_file(see: See, work: Path) -> None:
    made(work / "file")
    seen = see(work / "file")
    for name in ("neighbour", "file2", "fil"):
        made(work / name)
        (work / name).unlink()
    assert seen.woken()
    assert not seen.told()


def test_a_neighbour_that_grows_wakes_nobody(see: See, work: Path) -> None:
    with (work / "log").open("wb", buffering=0) as log:
        seen = see(made(work / "file"))
        log.write(b"a line")
        assert not seen.woken()


def test_a_directory_that_comes_and_goes_is_told(see: See, work: Path) -> None:
    seen = see(work / "directory")
    (work / "directory").mkdir()
    assert seen.told()
    (work / "directory").rmdir()
    assert seen.told()


def test_a_watch_is_woken_while_it_waits(see: See, work: Path) -> None:
    seen = see(work / "file")
    thread = threading.Thread(target=(work / "file").touch)
    thread.start()
    seen.wait()
    thread.join()
    assert seen.told()


@pytest.mark.parametrize("name", [b"with space", b"\xff\xfe", b"a\nb", b"x" * 255])
def test_any_name_is_watched(name: bytes, see: See, work: Path) -> None:
    file = work / os.fsdecode(name)
    seen = see(file)
    file.touch()
    assert seen.told()


def test_a_relative_path_means_the_directory_of_then(see: See, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "below").mkdir()
    seen = see("./below/../below//file")
    monkeypatch.chdir("/")
    (work / "below" / "file").touch()
    assert seen.told()


# --- the directories above -------------------------------------------------------------------------------------------


def test_missing_directories_are_followed_as_they_appear(see: See, work: Path) -> None:
    seen = see(work / "a" / "b" / "c" / "file")
    for directory in ("a", "a/b", "a/b/c"):
        (work / directory).mkdir()
        assert seen.told()
    (work / "a" / "b" / "c" / "file").touch()
    assert seen.told()


def test_directories_made_in_one_go_are_followed_before_the_first_look(see: See, work: Path) -> None:
    seen = see(work / "a" / "b" / "file")
    (work / "a" / "b").mkdir(parents=True)
    assert seen.told()
    (work / "a" / "b" / "file").touch()
    assert seen.told()


def test_a_tree_that_is_deleted_and_made_again_is_followed(see: See, work: Path) -> None:
    for _ in range(3):
        (work / "a" / "b").mkdir(parents=True)
        seen = see(work / "a" / "b" / "file")
        shutil.rmtree(work / "a")
        assert seen.told()
        (work / "a" / "b").mkdir(parents=True)
        assert seen.told()
        (work / "a" / "b" / "file").touch()
        assert seen.told()
        shutil.rmtree(work / "a")


def test_a_directory_deleted_under_somebody_who_works_in_it_is_followed(see: See, work: Path) -> None:
    """The kernel says nothing on the directory itself: it lives on until that one leaves."""
    (work / "a" / "b").mkdir(parents=True)
    seen = see(work / "a" / "b" / "file")
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, cwd=work / "a" / "b"
    ) as somebody:
        (work / "a" / "b").rmdir()
        assert seen.told()
        (work / "a").rmdir()
        assert seen.told()
        (work / "a" / "b").mkdir(parents=True)
        assert seen.told()
        (work / "a" / "b" / "file").touch()
        assert seen.told()
        assert somebody.stdin
        somebody.stdin.close()


def test_a_directory_far_above_that_is_replaced_is_noticed(see: See, work: Path) -> None:
    for one in ("old", "new"):
        (work / one / "b" / "c" / "d").mkdir(parents=True)
    seen = see(work / "old" / "b" / "c" / "d" / "file")
    (work / "old").rename(work / "older")
    assert seen.told()
    (work / "new").rename(work / "old")
    assert seen.told()
    (work / "older" / "b" / "c" / "d" / "file").touch()
    assert not seen.told()
    (work / "old" / "b" / "c" / "d" / "file").touch()
    assert seen.told()


def test_a_file_in_place_of_a_directory_is_waited_out(see: See, work: Path) -> None:
    seen = see(work / "a" / "file")
    (work / "a").touch()
    assert seen.told()
    (work / "a").unlink()
    assert seen.told()
    (work / "a").mkdir()
    assert seen.told()
    (work / "a" / "file").touch()
    assert seen.told()


def test_watches_of_directories_left_behind_are_taken_back(see: See, work: Path) -> None:
    seen = see(work / "a" / "b" / "c" / "file")
    least = len(watched(seen))
    (work / "a" / "b" / "c").mkdir(parents=True)
    assert seen.told()
    assert len(watched(seen)) == least + 3
    shutil.rmtree(work / "a")
    assert seen.told()
    assert len(watched(seen)) == least


def test_no_directory_but_the_last_two_tells_of_names(see: See, work: Path) -> None:
    (work / "a" / "b" / "c").mkdir(parents=True)
    masks = watched(see(work / "a" / "b" / "c" / "file"))
    of_names = 0x3C0  # IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE
    assert masks[inode(work / "a" / "b" / "c")] & of_names == of_names
    assert masks[inode(work / "a" / "b")] & of_names == of_names
    assert not masks[inode(work / "a")] & of_names
    assert not masks[inode(work)] & of_names


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_link_that_leads_elsewhere_now_is_followed(see: See, work: Path) -> None:
    for one in ("one", "two"):
        (work / one).mkdir()
    (work / "current").symlink_to("one")
    seen = see(work / "current" / "file")
    (work / "next").symlink_to("two")
    os.replace(work / "next", work / "current")
    assert seen.told()
    (work / "two" / "file").touch()
    assert seen.told()
    (work / "one" / "file").touch()
    assert not seen.told()


def test_a_link_to_nothing_waits_for_what_it_names(see: See, work: Path) -> None:
    (work / "far" / "away").mkdir(parents=True)
    (work / "file").symlink_to(work / "far" / "away" / "file")
    seen = see(work / "file")
    (work / "far" / "away" / "file").touch()
    assert seen.told()
    (work / "far" / "away" / "file").write_text("more")
    assert seen.told()
    (work / "file").unlink()
    assert seen.told()


def test_up_means_up_from_where_a_link_leads(see: See, work: Path) -> None:
    (work / "far" / "away").mkdir(parents=True)
    (work / "link").symlink_to("far/away")
    seen = see(work / "link" / ".." / "file")
    (work / "far" / "file").touch()
    assert seen.told()


def test_links_in_a_circle_are_watched_until_they_are_broken(see: See, work: Path) -> None:
    (work / "a").symlink_to("b")
    (work / "b").symlink_to("a")
    seen = see(work / "a")
    (work / "b").unlink()
    assert seen.told()
    (work / "b").touch()
    assert seen.told()


# --- races, limits, errors -------------------------------------------------------------------------------------------


def test_what_appears_between_looking_and_watching_is_not_missed(
    see: See, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process makes the directories and the file between the look at the way and the watch of it."""
    real = inotify._way_to
    looks: list[inotify._Way] = []

    def and_then(path: str) -> inotify._Way:
        way = real(path)
        if not looks:
            (work / "a" / "b").mkdir(parents=True)
        looks.append(way)
        return way

    monkeypatch.setattr(inotify, "_way_to", and_then)
    seen = see(work / "a" / "b" / "file")
    assert inode(work / "a" / "b") in watched(seen)
    (work / "a" / "b" / "file").touch()
    assert seen.told()


def test_a_file_replaced_while_it_is_taken_up_is_not_mistaken_for_its_successor(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is watched, its directory is not yet; and because a process reads it, its end is told as a change only."""
    file = made(work / "file")
    real = inotify.Watch._add
    new = [made(work / "new")]

    def and_then(watch: inotify.Watch, watches: dict[int, str], path: str, mask: int) -> bool:
        added = real(watch, watches, path, mask)
        if path == str(file) and new:
            os.replace(new.pop(), file)
        return added

    monkeypatch.setattr(inotify.Watch, "_add", and_then)
    with file.open():
        seen = Seen(file)
        try:
            seen.told()
            with file.open("a") as stream:
                stream.write("more")
            assert seen.told()
        finally:
            seen.watch.close()


def test_what_vanishes_between_looking_and_watching_is_not_waited_for(
    see: See, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "a" / "b").mkdir(parents=True)
    real = inotify._way_to
    looks: list[inotify._Way] = []

    def and_then(path: str) -> inotify._Way:
        way = real(path)
        if not looks:
            shutil.rmtree(work / "a")
        looks.append(way)
        return way

    monkeypatch.setattr(inotify, "_way_to", and_then)
    seen = see(work / "a" / "b" / "file")
    (work / "a" / "b").mkdir(parents=True)
    assert seen.told()
    (work / "a" / "b" / "file").touch()
    assert seen.told()


def test_a_file_made_and_replaced_all_the_time_is_told_to_the_end(see: See, work: Path) -> None:
    """One thread makes and deletes the directories with the file in them; the other one never waits in vain."""
    rounds, file = 100, work / "a" / "b" / "file"
    seen = see(file)
    go = threading.Barrier(2)

    def make() -> None:
        for _ in range(rounds):
            go.wait()
            file.parent.mkdir(parents=True)
            file.touch()
            go.wait()
            shutil.rmtree(work / "a")

    thread = threading.Thread(target=make)
    thread.start()
    try:
        for _ in range(rounds):
            go.wait()
            while not file.exists():
                seen.wait()
                seen.watch.drain()
            go.wait()
            while file.exists():
                seen.wait()
                seen.watch.drain()
    except BaseException:
        go.abort()
        raise
    finally:
        thread.join()


def test_an_overflow_of_the_queue_is_not_taken_for_silence(see: See, work: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 100_000:
        pytest.skip("the queue is too long to fill")
    (work / "a").mkdir()
    seen = see(work / "a" / "file")
    for number in range(limit // 2 + 10):
        os.close(os.open(work / "a" / f"{number % 1000}", os.O_CREAT | os.O_WRONLY))
        os.unlink(work / "a" / f"{number % 1000}")
    (work / "a" / "file").touch()  # no watch tells of this any more
    assert seen.told()
    (work / "a" / "file").write_text("now")
    assert seen.told()


def test_where_there_is_no_inotify_construction_fails(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoLibc:
        pass

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: NoLibc())
    with pytest.raises(OSError) as refused:
        inotify.Watch(str(work / "file"))
    assert refused.value.errno == errno.ENOSYS


@pytest.mark.parametrize("path", ["a\0b", "/a\0b"])
def test_a_path_no_file_can_have_is_refused(path: str) -> None:
    with pytest.raises(OSError) as refused:
        inotify.Watch(path)
    assert refused.value.errno == errno.EINVAL


LIMITED = """
import os, resource, sys
from outlive.system import inotify
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
made = []
try:
    while True:
        made.append(inotify.Watch(sys.argv[1]))
except OSError as error:
    print(error.errno, len(made) > 5)
"""


def test_at_the_limit_of_open_files_construction_fails(work: Path) -> None:
    said = subprocess.run([sys.executable, "-c", LIMITED, str(work / "file")], capture_output=True, check=True)
    assert said.stdout.split() == [b"%d" % errno.EMFILE, b"True"], said


def test_closing_is_enough_and_may_be_done_twice(work: Path) -> None:
    before = os.listdir("/proc/self/fd")
    watch = inotify.Watch(str(work / "file"))
    assert not os.get_inheritable(watch.fileno())
    watch.close()
    watch.close()
    until(lambda: os.listdir("/proc/self/fd") == before, what="the thread that closes it")


def test_a_watch_that_the_kernel_closes_slowly_holds_no_caller_up(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = inotify.Watch(str(work / "file"))
    ours, real, returned, closed = watch.fileno(), os.close, threading.Event(), threading.Event()

    def slow(fd: int) -> None:
        if fd == ours:
            assert returned.wait(60)
        real(fd)
        if fd == ours:
            closed.set()

    monkeypatch.setattr(os, "close", slow)
    watch.close()
    returned.set()
    assert closed.wait(60)
