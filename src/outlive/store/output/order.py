"""The file `order` as a reader opens it. If it cannot be used, records take its place that show one
log behind the other: the output is there, only its order is lost."""

from __future__ import annotations

import os
import struct

from outlive import limits
from outlive.store import atomic_file
from outlive.store.job_dir import ORDER, JobDir

RECORD = struct.Struct("<QQQQ")  # merged start, stream, offset in its log, Unix ns
STREAMS = 2
NO_TIME = 1  # in place of a time: records that were made up know none
_MOST_ZEROS = 4_096  # records


def opened(job: JobDir, sizes: list[int]) -> tuple[int, str | None]:
    """Return an fd of the records, -1 if there are none, and what is wrong with the file. `sizes`:
    the lengths of both logs, read before."""
    try:
        fd = job.open_file(ORDER)
    except FileNotFoundError:
        # A launcher that was killed before it made the files of the output leaves none
        return (_stand_in(sizes), _named("it is missing")) if any(sizes) else (-1, None)
    except OSError as error:
        failed = error.strerror or str(error).replace(ORDER, "it", 1)
        return (_stand_in(sizes) if any(sizes) else -1), _named(failed)
    count = _count(fd)
    why = _misfit(fd, count, sizes)
    if why is not None:
        os.close(fd)
        return _stand_in(sizes), _named(why)
    covered = _covered(fd, count)
    is_short = sizes == [job.least_size(stream) for stream in range(STREAMS)] and any(
        size > known for size, known in zip(sizes, covered, strict=True)
    )
    if is_short or os.fstat(fd).st_size >= (count + 1) * RECORD.size:
        whole = _mended(fd, count, sizes, covered if is_short else None)
        os.close(fd)
        return whole, _named("its end is missing") if is_short else None
    return fd, None


def writable(job: JobDir, sizes: list[int]) -> int:
    """Return an fd to write further records into; of records in the place of a file that another
    program has spoilt, as readers have them. Errors: OSError."""
    try:
        fd = atomic_file.open_to_write(job.fd, ORDER, os.O_RDWR)
    except atomic_file.NotOurs:
        return _stand_in(sizes)
    if _misfit(fd, os.fstat(fd).st_size // RECORD.size, sizes) is None:
        return fd
    os.close(fd)
    return _stand_in(sizes)


def makes_sense(record: tuple[int, int, int, int]) -> bool:
    """Return whether this can be a record of ours."""
    start, stream, offset, _ = record
    return stream < STREAMS and max(start, offset) <= limits.MAX_QUOTA_BYTES


def _named(why: str) -> str:
    return f"{ORDER}: {why}, so the two streams are shown one behind the other there"


def _count(fd: int) -> int:
    """Return how many records the file has. After a power cut zeros may follow them: the file system
    has kept the length of the file, and not what was written last."""
    count = os.fstat(fd).st_size // RECORD.size
    least = count - _MOST_ZEROS
    while count > max(0, least) and not record_of(fd, count - 1)[3]:
        count -= 1
    return count


def _misfit(fd: int, count: int, sizes: list[int]) -> str | None:
    """Return what is wrong with the first or the last record. (Those between them may be given back
    to the disk.)"""
    if not count:
        zeros = os.fstat(fd).st_size >= RECORD.size
        return ("it is filled with zeros" if zeros else "it is empty") if any(sizes) else None
    first, last = record_of(fd, 0), record_of(fd, count - 1)
    if not first[3] or not last[3]:
        return "it is filled with zeros"
    if first[0] or first[2] or not makes_sense(first) or not makes_sense(last) or last[0] < last[2]:
        return "it is garbled"
    return None


def record_of(fd: int, number: int) -> tuple[int, int, int, int]:
    """Return a record, zeros behind the end of the file."""
    record: tuple[int, int, int, int] = RECORD.unpack(
        os.pread(fd, RECORD.size, number * RECORD.size).ljust(RECORD.size, b"\0")
    )
    return record


def _covered(fd: int, count: int) -> list[int]:
    """Return up to where each log has its place: the one with the last run has it to its end."""
    if not count:
        return [limits.MAX_QUOTA_BYTES] * STREAMS
    start, stream, offset, _ = record_of(fd, count - 1)
    offsets = [start - offset] * STREAMS
    offsets[stream] = limits.MAX_QUOTA_BYTES
    return offsets


def _mended(fd: int, count: int, sizes: list[int], covered: list[int] | None) -> int:
    """Return a copy of the records. `covered`: with one more, for what has no place in them."""
    size = count * RECORD.size
    copy = os.memfd_create(ORDER, os.MFD_CLOEXEC)
    done = 0
    while done < size and (piece := os.pread(fd, min(size - done, 1 << 20), done)):
        done += os.write(copy, piece)
    if covered is not None:
        start, stream, offset, when = record_of(fd, count - 1)
        other = 1 - stream
        os.write(copy, RECORD.pack(start + sizes[stream] - offset, other, covered[other], when))
    return copy


def _stand_in(sizes: list[int]) -> int:
    """Return a file with records that show stdout before stderr."""
    made = os.memfd_create(ORDER, os.MFD_CLOEXEC)
    start = 0
    for stream, size in enumerate(sizes):
        if size:
            os.write(made, RECORD.pack(start, stream, 0, NO_TIME))
            start += size
    return made
