"""The slots of a queue and the line for them: never more jobs than slots, each in its turn, and none lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.parts.queues.table import VARIABLE, Line, Slot, Table, slot_within, with_slot
from outlive.system import locks
from outlive.system.tree import COOKIE
from support.tiers import first
from support.wait import until


class Job:
    """A supervisor, as far as a table knows one."""

    def __init__(self, path: str) -> None:
        self.table = Table.opened(path)
        self.id = new_id()
        self.ticket: int | None = None
        self.slot: Slot | None = None

    def join(self, priority: int = 0) -> Job:
        self.ticket = self.table.join(priority)
        return self

    def position(self) -> int:
        assert self.ticket is not None
        return self.table.ahead(self.ticket) + 1

    def take(self, slots: int = 1) -> Slot | None:
        self.slot = self.table.take(slots, self.id)
        return self.slot

    def free(self) -> None:
        assert self.slot is not None
        self.table.free(self.slot)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "queues" / "heavy")


@pytest.fixture
def jobs(path: str) -> Iterator[list[Job]]:
    made = [Job(path) for _ in range(8)]
    yield made
    for job in made:
        if job.table.fd >= 0:
            job.table.close()


def end(job: Job) -> None:
    """As a SIGKILL of everything of ours: its files are closed, and nothing is written."""
    job.table.close()
    job.table.fd = -1


def test_no_more_jobs_than_slots_have_one(jobs: list[Job]) -> None:
    assert [job.take(3) and job.slot for job in jobs[:3]] == [Slot(number, jobs[number].id) for number in range(3)]
    assert [job.take(3) for job in jobs[3:]] == [None] * 5
    assert [line.job_id for line in jobs[7].table.taken()] and len(jobs[7].table.taken()) == 3
    jobs[1].free()
    assert jobs[7].take(3) == Slot(1, jobs[7].id)
    end(jobs[0])
    assert jobs[6].take(3) == Slot(0, jobs[6].id), "nothing of that job lives"


def test_a_queue_that_has_fewer_slots_than_before_starts_none_until_so_many_are_free(jobs: list[Job]) -> None:
    for job in jobs[:4]:
        assert job.take(4)
    jobs[0].free()
    jobs[1].free()
    assert jobs[7].take(2) is None, "two run, in slots that there are no more"
    jobs[2].free()
    assert jobs[7].take(2) == Slot(0, jobs[7].id)
    assert jobs[6].take(2) is None


def test_the_line_is_in_the_order_of_priorities_and_in_each_of_arrival(jobs: list[Job]) -> None:
    for job, priority in zip(jobs, (0, 0, -10, 10, 0, 10, 3, -10), strict=True):
        job.join(priority)
    assert [job.position() for job in jobs] == [4, 5, 7, 1, 6, 2, 3, 8]
    assert jobs[0].table.length() == 7, "without its own"
    end(jobs[3])
    jobs[4].table.leave(jobs[4].ticket or 0)
    assert [jobs[at].position() for at in (0, 1, 2, 5, 6, 7)] == [3, 4, 5, 1, 2, 6]
    assert jobs[7].table.ahead(jobs[7].ticket or 0, 2) == 2


def test_a_reader_sees_the_place_of_a_job(path: str, jobs: list[Job]) -> None:
    jobs[0].take()
    for job in jobs[1:4]:
        job.join()
    reader = Table.read(path)
    try:
        assert [reader.ahead(job.ticket or 0) for job in jobs[1:4]] == [0, 1, 2]
        assert [line.job_id for line in reader.taken()] == [jobs[0].id]
        assert reader.length() == 3
    finally:
        reader.close()


def test_a_process_that_takes_over_has_the_same_place(jobs: list[Job]) -> None:
    for job in jobs[:3]:
        job.join()
    end(jobs[1])
    successor = jobs[7]
    successor.ticket = successor.table.join(0, jobs[1].ticket)
    assert (successor.ticket, successor.position(), jobs[2].position()) == (jobs[1].ticket, 2, 3)


@pytest.mark.parametrize("spoilt", [-1, 0, 5, 1 << 20, 1 << 62, 1 << 80])
def test_a_ticket_that_another_program_has_spoilt_is_drawn_again(spoilt: int, jobs: list[Job]) -> None:
    jobs[0].join(3)
    jobs[1].ticket = jobs[1].table.join(3, spoilt)
    assert (jobs[0].position(), jobs[1].position()) == (1, 2)


def test_a_ticket_that_another_job_has_is_not_shared(jobs: list[Job]) -> None:
    jobs[0].join()
    jobs[1].ticket = jobs[1].table.join(0, jobs[0].ticket)
    assert jobs[1].position() == 2


def test_a_slot_is_taken_until_the_last_copy_of_its_file_is_closed(path: str, jobs: list[Job]) -> None:
    jobs[0].take()
    copy = os.dup(jobs[0].table.fd)
    end(jobs[0])
    assert jobs[1].take() is None
    os.close(copy)
    assert jobs[1].take() == Slot(0, jobs[1].id)


def test_a_slot_is_taken_as_long_as_a_process_of_its_job_lives(jobs: list[Job]) -> None:
    one, late = jobs[0], jobs[1]
    one.take()
    with subprocess.Popen(["sleep", "60"], env={**os.environ, COOKIE: one.id}) as left:
        try:
            end(one)
            assert late.take() is None
        finally:
            left.kill()
    assert late.take() == Slot(0, late.id)


def test_what_takes_over_holds_the_slot_again_unless_another_job_has_it(jobs: list[Job]) -> None:
    slot = jobs[0].take()
    assert slot is not None
    end(jobs[0])
    assert jobs[1].table.share(slot), "its line still says so"
    assert jobs[2].take() is None
    end(jobs[1])
    assert jobs[2].take()
    assert not jobs[3].table.share(slot)
    jobs[2].free()
    assert not jobs[3].table.share(slot)
    assert jobs[4].take(), "a look at it took nothing"


def test_a_job_that_was_started_inside_of_another_shares_its_slot_until_both_have_ended(jobs: list[Job]) -> None:
    outer, inner, late = jobs[:3]
    slot = outer.take()
    assert slot is not None
    assert inner.table.share(slot)
    assert len(late.table.taken()) == 1
    outer.free()
    assert late.take() is None
    inner.table.free(slot)
    assert late.take()


def test_a_process_of_an_inner_job_keeps_the_slot_and_one_of_a_job_in_no_queue_does_not(jobs: list[Job]) -> None:
    outer, late = jobs[:2]
    slot = outer.take()
    assert slot is not None
    end(outer)
    inner, other = new_id(), new_id()
    value = with_slot("", "heavy", slot, inner)
    for job_id, holds in ((inner, True), (other, False)):
        with subprocess.Popen(["sleep", "60"], env={**os.environ, COOKIE: job_id, VARIABLE: value}) as left:
            try:
                assert (late.take() is None) is holds, job_id
            finally:
                left.kill()


def test_the_variable_has_the_slot_of_each_queue() -> None:
    one, two = Slot(3, new_id()), Slot(1_023, new_id())
    text = with_slot(with_slot("", "heavy", one, new_id()), "gpu", two, new_id())
    assert (slot_within(text, "heavy"), slot_within(text, "gpu"), slot_within(text, "heav")) == (one, two, None)
    for junk in (
        "heavy",
        "heavy=",
        "heavy=1",
        "heavy=1:x:y",
        f"heavy=1024:{one.owner}:",
        f"heavy=²:{one.owner}:",
        "=",
        " ",
    ):
        assert slot_within(junk, "heavy") is None, junk


def test_what_another_program_has_spoilt_counts_as_nothing(path: str, jobs: list[Job]) -> None:
    for junk in (b"\0" * 64, b"x" * 64, b"\xff\xfe\n", b"", new_id().encode() + b" -1\n"):
        with Path(path).open("r+b") as file:
            file.write(junk)
        assert jobs[0].take()
        jobs[0].free()
    jobs[0].take()
    os.truncate(path, 0)
    assert jobs[1].take() is None, "the lock says so, not the line"
    assert jobs[1].table.taken() == [Line()]


def test_a_line_is_read_as_it_was_written() -> None:
    line = Line(new_id(), 1_800_000_000)
    assert len(line.to_bytes()) == 64
    assert Line.read(line.to_bytes()) == line


# A job that comes again and again. What it sees of a slot besides the table is a lock of flock(2) on a file of the slot's own,
# which is closed first if the job is killed: its number is lower
_PROGRAM = """
import fcntl, os, sys, time
from outlive.core.ids import new_id
from outlive.parts.queues.table import Table
folder, slots, rounds, priority = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
proofs = [os.open(f"{folder}/{number}", os.O_RDWR | os.O_CREAT) for number in range(slots)]
log = os.open(f"{folder}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for _ in range(rounds):
    table, job, slot = Table.opened(f"{folder}/table"), new_id(), None
    ticket = table.join(priority)
    os.write(log, f"joined {os.getpid()}\\n".encode())
    while slot is None:
        if table.ahead(ticket, 1) or (slot := table.take(slots, job)) is None:
            time.sleep(0.001)
    try:
        fcntl.flock(proofs[slot.number], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.write(log, b"two at once\\n")
    os.write(log, f"took {os.getpid()}\\n".encode())
    table.leave(ticket)
    time.sleep(0.002)
    fcntl.flock(proofs[slot.number], fcntl.LOCK_UN)
    table.free(slot)
    table.close()
"""


class Crowd:
    """Processes that want slots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def add(self, slots: int, rounds: int, priority: int = 0) -> int:
        words = [sys.executable, "-c", _PROGRAM, str(self.folder), str(slots), str(rounds), str(priority)]
        self.processes.append(subprocess.Popen(words))
        return self.processes[-1].pid

    def log(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def end(self) -> None:
        for one in self.processes:
            one.kill()
            one.wait()


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    made = Crowd(tmp_path)
    yield made
    made.end()


@pytest.mark.parametrize("kills", first(1, [40, 600]))
def test_whatever_is_killed_no_slot_is_taken_twice_and_none_is_lost(kills: int, crowd: Crowd, tmp_path: Path) -> None:
    dice = random.Random(3)
    for _ in range(6):
        crowd.add(3, 1_000_000)
    for _ in range(kills):
        seen = len(crowd.log())
        until(lambda seen=seen: len(crowd.log()) > seen + 3, what="jobs that come and go")
        victim = crowd.processes.pop(dice.randrange(len(crowd.processes)))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        crowd.add(3, 1_000_000)
    crowd.end()
    log = crowd.log()
    assert "two at once" not in log
    assert len([line for line in log if line.startswith("took")]) > kills
    table = Table.opened(str(tmp_path / "table"))
    try:
        assert (table.taken(), table.length()) == ([], 0)
        assert all(locks.take(table.fd, slot) for slot in range(3))
    finally:
        table.close()


def test_jobs_of_a_priority_start_in_the_order_in_which_they_came_though_some_are_killed(
    crowd: Crowd, tmp_path: Path
) -> None:
    table = Table.opened(str(tmp_path / "table"))
    slot = table.take(1, new_id())
    assert slot is not None
    came: list[tuple[int, int]] = []
    for priority in (0, 2, 0, 2, 0, 2, 0, 2):
        pid = crowd.add(1, 1, priority)
        until(lambda pid=pid: f"joined {pid}" in crowd.log(), what="its place in line")
        came.append((-priority, pid))
    for number in (2, 5):
        crowd.processes[number].kill()
        crowd.processes[number].wait()
    killed = {crowd.processes[number].pid for number in (2, 5)}
    table.free(slot)
    table.close()
    expected = [f"took {pid}" for _, pid in sorted(came, key=lambda one: one[0]) if pid not in killed]
    until(lambda: len([line for line in crowd.log() if line.startswith("took")]) == 6, what="six starts")
    assert [line for line in crowd.log() if line.startswith("took")] == expected
