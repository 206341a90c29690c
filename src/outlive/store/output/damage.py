"""Spans of a job's logs that another program cut away or deleted while the job ran. Positions keep
their meaning, and answers say what is missing.

The file `missing` exists only for jobs to which that happened. It is a list of records of four
64-bit integers: stream, first byte of its log that is missing, first byte that is there again, Unix
ns. The supervisor appends one when it finds a log shorter than it left it, or another file in its
place, and then gives the log its length back. Bytes of such a span read as zeros, or not at all,
and are never shown.
"""

from __future__ import annotations

import os
import struct
import time

from outlive.store.job_dir import MISSING, JobDir
from outlive.system.fds import Closing

Spans = list[tuple[int, int]]

_RECORD = struct.Struct("<QQQQ")
_MOST = 4096  # records that are read


def record(job: JobDir, stream: int, start: int, stop: int) -> None:
    """Write down that bytes [start, stop) of one log are missing. Errors: OSError."""
    with Closing(job.open_file(MISSING, os.O_WRONLY | os.O_CREAT | os.O_APPEND)) as fd:
        os.write(fd, _RECORD.pack(stream, start, stop, time.time_ns()))
        os.fdatasync(fd)


def read(job: JobDir) -> tuple[Spans, Spans]:
    """Return the missing spans of each log, in order and without overlaps."""
    spans: tuple[Spans, Spans] = ([], [])
    try:
        fd = job.open_file(MISSING)
    except OSError:
        return spans
    with Closing(fd):
        data = os.pread(fd, _MOST * _RECORD.size, 0)
    for at in range(0, len(data) - _RECORD.size + 1, _RECORD.size):
        stream, start, stop, _ = _RECORD.unpack_from(data, at)
        if stream in (0, 1) and start < stop:
            spans[stream].append((start, stop))
    return merge(spans[0]), merge(spans[1])


def merge(spans: Spans) -> Spans:
    """Return the spans in order; spans that overlap or touch become one."""
    merged: Spans = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def without(data: bytes, offset: int, spans: Spans) -> bytes:
    """Return `data`, which stands at `offset` of a log, without its missing spans. A line that was
    cut gets a newline."""
    parts, at, end = [], offset, offset + len(data)
    for start, stop in spans:
        if start < end and stop > at:
            kept = data[at - offset : max(at, start) - offset]
            parts.append(kept + b"\n" if kept and not kept.endswith(b"\n") else kept)
            at = min(stop, end)
    return b"".join((*parts, data[at - offset :])) if parts else data
