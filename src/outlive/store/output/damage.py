"""What of a job's logs somebody cut away or deleted while it ran: positions stay, and what is missing is said.

The file `missing` is there only for a job to which that happened. It is appended to: records of four 64-bit integers, (stream,
first byte of its log that is missing, first one that is there again, Unix ns). The supervisor writes one when it finds a log
shorter than it left it, or another file in its place, and then gives the log its length back. What lies in such a span reads
as zeros, or not at all, and is never shown.
"""

from __future__ import annotations

import os
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.job_dir import JobDir

    Spans = list[tuple[int, int]]

MISSING = "missing"
_RECORD = struct.Struct("<QQQQ")
_MOST = 4096  # records that are read


def record(job: JobDir, stream: int, start: int, stop: int) -> None:
    """Bytes [start, stop) of one log are missing. Errors: OSError."""
    fd = job.open_file(MISSING, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(fd, _RECORD.pack(stream, start, stop, time.time_ns()))
        os.fdatasync(fd)
    finally:
        os.close(fd)


def read(job: JobDir) -> tuple[Spans, Spans]:
    """The spans of each log, in order and without overlaps."""
    found: tuple[Spans, Spans] = ([], [])
    try:
        fd = job.open_file(MISSING)
    except OSError:
        return found
    try:
        data = os.pread(fd, _MOST * _RECORD.size, 0)
    finally:
        os.close(fd)
    for at in range(0, len(data) - _RECORD.size + 1, _RECORD.size):
        stream, start, stop, _ = _RECORD.unpack_from(data, at)
        if stream in (0, 1) and start < stop:
            found[stream].append((start, stop))
    return merged(found[0]), merged(found[1])


def merged(spans: Spans) -> Spans:
    """The same in order, those that touch as one."""
    found: Spans = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found


def without(data: bytes, offset: int, spans: Spans) -> bytes:
    """`data`, which stands at `offset` of a log, less what is missing of it. A line that was cut ends there."""
    parts, at, end = [], offset, offset + len(data)
    for start, stop in spans:
        if start < end and stop > at:
            kept = data[at - offset : max(at, start) - offset]
            parts.append(kept + b"\n" if kept and not kept.endswith(b"\n") else kept)
            at = min(stop, end)
    return b"".join((*parts, data[at - offset :])) if parts else data
