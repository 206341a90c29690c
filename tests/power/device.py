"""A block device that records every write and every flush, and can show what a power cut left of them.

The kernel's loop driver writes to a file; that file is served from here, by the protocol of FUSE (linux/fuse.h), whose
root may be a regular file. So file system, block layer and loop driver are the real ones, and what arrives here is what
a disk would get. Needs root, /dev/fuse and loop devices; nothing is compiled.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import stat
import struct
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

BLOCK, SECTOR = 4096, 512
_GETATTR, _SETATTR, _OPEN, _READ, _WRITE, _STATFS, _RELEASE, _FSYNC = 3, 4, 14, 15, 16, 17, 18, 20
_FORGET, _FLUSH, _INIT, _ACCESS, _INTERRUPT, _DESTROY, _FORGETS = 2, 25, 26, 34, 36, 38, 42
_HEADER, _ANSWER = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_TRANSFER = struct.Struct("<QQIIQII")  # fuse_read_in, fuse_write_in
_BIG_WRITES, _DIRECT_IO = 1 << 5, 1
_MOST_BYTES = 128 * 1024
_LIBC = ctypes.CDLL(None, use_errno=True)


class Record(NamedTuple):
    """A write, or with `data` None a flush: all writes before it are on the disk for certain."""

    ns: int
    at: int
    data: bytes | None


class Device:
    """A disk that begins as the file `base`. `path`: the file to give to mount(8) with `-o loop`.

    `blocks`: what differs from `base` now. `log`: all that was written and flushed, if it is a list.
    """

    def __init__(self, base: Path, path: Path) -> None:
        """Errors: OSError if FUSE cannot be mounted here."""
        self.blocks: dict[int, bytes] = {}
        self.log: list[Record] | None = None
        self._path = path
        self._base = os.open(base, os.O_RDONLY | os.O_CLOEXEC)
        self._size = os.fstat(self._base).st_size
        path.touch(0o600)
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._fd},rootmode={stat.S_IFREG | 0o600:o},user_id=0,group_id=0"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        if _LIBC.mount(b"recording-disk", os.fsencode(path), b"fuse", 0, options.encode()) != 0:
            number = ctypes.get_errno()
            os.close(self._fd)
            os.close(self._base)
            raise OSError(number, f"mounting FUSE: {os.strerror(number)}")
        self._thread.start()

    def close(self) -> None:
        """Unmount it. Nothing may use it any more."""
        _LIBC.umount2(os.fsencode(self._path), 2)  # MNT_DETACH
        self._thread.join(10)
        os.close(self._fd)
        os.close(self._base)

    # --- the protocol ---

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self._fd, _MOST_BYTES + BLOCK)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):  # the request was interrupted
                    continue
                return  # ENODEV: unmounted
            _, op, unique, *_ = _HEADER.unpack_from(request)
            if op in (_FORGET, _FORGETS, _INTERRUPT):  # these have no answer
                continue
            answer = self._answered(op, request[_HEADER.size :])
            body, number = (b"", answer) if isinstance(answer, int) else (answer, 0)
            try:
                os.write(self._fd, _ANSWER.pack(_ANSWER.size + len(body), -number, unique) + body)
            except OSError:  # it was interrupted
                continue

    def _answered(self, op: int, body: bytes) -> bytes | int:
        """The answer to a request, or the number of an error."""
        if op == _INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, _BIG_WRITES, 16, 12, _MOST_BYTES, 1, 0, 0, 0)
        if op in (_GETATTR, _SETATTR):
            mode = stat.S_IFREG | 0o600
            sizes = struct.pack("<6Q", 1, self._size, self._size // SECTOR, 0, 0, 0)
            return struct.pack("<QII", 3600, 0, 0) + sizes + struct.pack("<10I", 0, 0, 0, mode, 1, 0, 0, 0, BLOCK, 0)
        if op == _OPEN:
            return struct.pack("<QII", 1, _DIRECT_IO, 0)
        if op == _READ:
            _, at, count, *_ = _TRANSFER.unpack_from(body)
            return self.read(at, min(count, max(0, self._size - at)))
        if op == _WRITE:
            _, at, count, *_ = _TRANSFER.unpack_from(body)
            data = body[_TRANSFER.size : _TRANSFER.size + count]
            if self.log is not None:
                self.log.append(Record(time.monotonic_ns(), at, data))
            self.write(at, data)
            return struct.pack("<II", count, 0)
        if op == _FSYNC and self.log is not None:
            self.log.append(Record(time.monotonic_ns(), 0, None))
        if op == _STATFS:
            return struct.pack("<5Q4I24x", 0, 0, 0, 1, 1, BLOCK, 255, BLOCK, 0)
        return b"" if op in (_FSYNC, _FLUSH, _RELEASE, _ACCESS, _DESTROY) else errno.ENOSYS

    # --- the bytes ---

    def read(self, at: int, count: int) -> bytes:
        first = at - at % BLOCK
        pieces = [self._block(one) for one in range(first, at + count, BLOCK)]
        return b"".join(pieces)[at - first : at - first + count]

    def _block(self, at: int) -> bytes:
        found = self.blocks.get(at)
        return os.pread(self._base, BLOCK, at).ljust(BLOCK, b"\0") if found is None else found

    def write(self, at: int, data: bytes) -> None:
        done = 0
        while done < len(data):
            here = at + done
            start = here - here % BLOCK
            piece = data[done : done + BLOCK - (here - start)]
            if len(piece) == BLOCK:
                self.blocks[start] = piece
            else:
                old = self._block(start)
                self.blocks[start] = old[: here - start] + piece + old[here - start + len(piece) :]
            done += len(piece)

    def cut(self, log: list[Record], behind: int, durable: dict[int, bytes], chance: random.Random) -> None:
        """Become what a cut behind the first `behind` records may leave. `durable`: the blocks at the last flush before
        it. Of the writes since that flush any may be missing, and one may be torn between two blocks of 4 KiB: xfs
        reads a torn directory back when it recovers, btrfs a torn superblock, and neither can be mounted then."""
        self.blocks = dict(durable)
        since = unflushed(log, behind)
        kept = [one for one in since if chance.random() < chance.choice((0.0, 0.2, 0.5, 0.8, 1.0))]
        torn = chance.choice(kept) if kept and chance.random() < 0.5 else None
        for one in kept:
            assert one.data is not None
            inside = range(BLOCK - one.at % BLOCK, len(one.data), BLOCK)
            self.write(one.at, one.data[: chance.choice(inside)] if one is torn and inside else one.data)


def unflushed(log: list[Record], behind: int) -> list[Record]:
    """The writes among the first `behind` records that no flush follows."""
    first = behind
    while first > 0 and log[first - 1].data is not None:
        first -= 1
    return log[first:behind]


def apply(device: Device, records: Iterable[Record]) -> None:
    for one in records:
        if one.data is not None:
            device.write(one.at, one.data)
