"""The local copy of a job that runs elsewhere is the same to the byte, wherever connections break and mirrors die."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, strategies

from outlive.parts.hosts.far.source import Source
from outlive.parts.hosts.ssh.connecting import wire
from outlive.parts.hosts.ssh.connecting.words import Follow
from outlive.parts.hosts.ssh.local_copy import LocalCopy
from outlive.store.job_dir import GAP, LOGS, MASKS, ORDER, JobDir
from outlive.store.output.gap import NO_GAP, GapFile
from outlive.store.output.merged import Output
from outlive.supervisor.output.masking import Masking
from support.kept import Job, made, numbered

QUOTA = 1 << 16


class Copy:
    """A mirror's directory, and the mirrors that follow one another there."""

    def __init__(self, place: Path, quota: int = 0) -> None:
        self.path = place / "copy"
        self.path.mkdir()
        for name in (ORDER, *LOGS):
            (self.path / name).touch()
        self.dir = JobDir(str(place), "copy", os.open(self.path, os.O_RDONLY | os.O_DIRECTORY))
        self._quota = quota
        self.copy = LocalCopy(self.dir, quota)

    def connect(self, there: JobDir) -> Iterator[bytes]:
        """Yield what a new connection sends until the copy has all that is there now."""
        source = Source(there, self.copy.follow(), self._quota)
        source.look(None)
        while True:
            for data in source.turn():
                yield _read(there, *data) if isinstance(data, tuple) else data
            if not source.is_behind:
                return

    def follow(self, there: JobDir, *, cut: int | None = None) -> bool:
        """Take what comes, up to `cut` bytes of it. Return whether that was all."""
        parser = wire.Parser()
        for data in self.connect(there):
            part = data if cut is None else data[:cut]
            for kind, at, content in parser.feed(part):
                if kind != wire.WORD:
                    self.copy.take(kind, at, content)
            if cut is not None:
                cut -= len(part)
                if cut <= 0:
                    return False
        return True

    def restart(self) -> None:
        """The mirror is killed, and another one begins with what is on the disk."""
        self.copy.close()
        self.copy = LocalCopy(self.dir, self._quota)

    def close(self) -> None:
        self.copy.close()
        self.dir.close()


def _read(job: JobDir, stream: int, offset: int, count: int) -> bytes:
    """What sendfile(2) sends."""
    with open(job.log_path(stream), "rb") as log:
        log.seek(offset)
        return log.read(count)


@contextmanager
def pair(place: Path, quota: int = 0) -> Iterator[tuple[Job, Copy]]:
    with made(place, quota) as job:
        copy = Copy(place, quota)
        try:
            yield job, copy
        finally:
            copy.close()


def check_same(job: Job, copy: Copy) -> None:
    """Every byte that is still there is here, in the same order; of the files nothing differs but holes."""
    for look in (job.dir, copy.dir):
        reader = GapFile(look)
        gap = reader.newest()
        reader.close()
        if look is job.dir:
            there = gap
    assert gap.packed() == there.packed()
    with Output(job.dir) as theirs, Output(copy.dir) as ours:
        assert (ours.end, ours.sizes, ours.runs) == (theirs.end, theirs.sizes, theirs.runs)
        assert ours.pieces(0, ours.end) == theirs.pieces(0, theirs.end)
    holes = dict(zip((*LOGS, ORDER), (*gap.streams, gap.order), strict=True))
    for name, hole in holes.items():
        scale = 32 if name == ORDER else 1
        mine, other = (copy.path / name).read_bytes(), (job.path / name).read_bytes()
        assert mine[: hole.start * scale] == other[: hole.start * scale]
        assert mine[hole.stop * scale :] == other[hole.stop * scale :]


PIECES = strategies.lists(
    strategies.tuples(
        strategies.integers(0, 1),  # stream
        strategies.integers(1, 400),  # lines
        strategies.one_of(strategies.none(), strategies.integers(0, 30_000)),  # where the connection breaks
        strategies.booleans(),  # whether the mirror is killed then
    ),
    min_size=1,
    max_size=25,
)


@given(pieces=PIECES, quota=strategies.sampled_from([0, QUOTA]))
def test_a_copy_is_exact_wherever_connections_break(
    pieces: list[tuple[int, int, int | None, bool]], quota: int
) -> None:
    with tempfile.TemporaryDirectory() as place, pair(Path(place), quota) as (job, copy):
        line = 0
        for stream, lines, cut, killed in pieces:
            job.put(stream, numbered(lines, line))
            line += lines
            if cut is not None:
                copy.follow(job.dir, cut=cut)
            if killed:
                copy.restart()
        assert copy.follow(job.dir)
        check_same(job, copy)


def test_long_pieces_of_one_stream_are_copied_by_the_kernel(tmp_path: Path) -> None:
    with pair(tmp_path) as (job, copy):
        for number in range(4):
            job.put(number % 2, numbered(40_000, number * 100_000))
            copy.follow(job.dir, cut=700_000)
        source = Source(job.dir, Follow(), 0)
        source.look(None)
        assert sum(isinstance(one, tuple) for one in [*source.turn(), *source.turn(), *source.turn()]) >= 1
        assert copy.follow(job.dir)
        check_same(job, copy)


def test_a_gap_that_overtook_the_copy_is_taken_over(tmp_path: Path) -> None:
    """The job printed more than its quota while no mirror was connected: what is left is the same at both ends."""
    with pair(tmp_path, QUOTA) as (job, copy):
        job.put(0, numbered(1_000))
        assert copy.follow(job.dir)
        for number in range(20):
            job.put(number % 2, numbered(1_000, 1_000 * (number + 1)))
        assert job.gap() is not NO_GAP
        assert copy.follow(job.dir)
        check_same(job, copy)
        copy.restart()
        job.put(1, numbered(10, 90_000))
        assert copy.follow(job.dir)
        check_same(job, copy)
        assert (copy.path / GAP).exists()


def test_what_a_power_cut_left_uneven_is_cut_back_and_fetched_again(tmp_path: Path) -> None:
    """A file system may have written one file and not the other."""
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    with pair(tmp_path) as (job, copy):
        for number in range(40):
            job.put(number % 2, numbered(dice.randint(1, 30), number * 100))
        assert copy.follow(job.dir)
        for _ in range(30):
            name = dice.choice((ORDER, *LOGS))
            size = (copy.path / name).stat().st_size
            os.truncate(copy.path / name, dice.randint(0, size))
            copy.restart()
            assert copy.follow(job.dir), f"seed {seed}"
            check_same(job, copy)


def test_places_of_masked_values_are_copied_with_the_output(tmp_path: Path) -> None:
    """The values travel in the output as it is stored; no reader shows them before their places are here."""
    with pair(tmp_path) as (job, copy):
        copy.close()
        for name in MASKS:
            (copy.path / name).touch()
        copy.dir = JobDir(str(tmp_path), "copy", os.open(copy.path, os.O_RDONLY | os.O_DIRECTORY))
        copy.copy = LocalCopy(copy.dir, 0)
        masking = Masking(job.dir, ["secret-value"])
        for number in range(50):
            job.put(number % 2, b"a secret-value %d\n" % number)
            masking.look(job.sizes, final=number % 3 == 0)
            copy.follow(job.dir, cut=number * 37)
            with Output(copy.dir) as output:
                assert b"secret" not in output.read(0, output.end)
        masking.look(job.sizes, final=True)
        assert copy.follow(job.dir)
        masking.close()
        with Output(job.dir) as theirs, Output(copy.dir) as ours:
            assert ours.read(0, ours.end) == theirs.read(0, theirs.end)
            assert ours.read(0, ours.end).count(b"************") == 50


def test_messages_are_whole_however_the_bytes_come() -> None:
    """Those of a log come as several, as they come; their places tell where each belongs."""
    for size in [1, 2, 7, 1_000_000]:
        messages = [(number % 9, number * 1_000, os.urandom(number % 50 + 1)) for number in range(200)]
        data = b"".join(wire.message(*one) for one in messages)
        parser = wire.Parser()
        found: list[tuple[int, int, bytes]] = []
        for at in range(0, len(data), size):
            for kind, place, content in parser.feed(data[at : at + size]):
                if found and kind <= wire.STDERR and found[-1][:2] == (kind, place - len(found[-1][2])):
                    _, place, before = found.pop()
                    content = before + bytes(content)
                found.append((kind, place, bytes(content)))
        assert found == messages
