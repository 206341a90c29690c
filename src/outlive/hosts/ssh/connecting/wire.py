"""The messages between a mirror and our end on the other machine.

A message is a header (kind, position, length) and so many bytes. Both ends are of the same version
at all times, because the mirror carries the other end there (bundle.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

from outlive.system import splice

Message = tuple[int, int, bytes | memoryview]
Content: TypeAlias = "bytes | memoryview | Unread"

_HEADER = struct.Struct("<BQI")
# Bytes of a file of the job at this position; the first two are the logs, by number of the stream
STDOUT, STDERR, ORDER, MASK0, MASK1 = range(5)
# A whole file of the job
GAP = 5
# A JSON object (words.py); bytes that belong to the next one
WORD, DATA = 6, 7
CHUNK = 1 << 18
# The most bytes of a message by its kind, and no other kind is taken. Logs are not held in memory
_LONGEST = {
    **dict.fromkeys((STDOUT, STDERR), (1 << 32) - 1),
    ORDER: 32,
    **dict.fromkeys((MASK0, MASK1, GAP), 1 << 20),
    WORD: 1 << 23,
}
_LONGEST_POSITION = 1 << 62
EVENTS_AT_ONCE = 200  # in one word
# What our end says first, each a line: it begins; it has to be sent the bundle; it cannot begin
HELLO, NEED, REFUSE = b"outlive-far ", b"outlive-need", b"outlive-refuses "
BEAT_S = 5.0  # our end says something at least this often
SILENCE_S = 20.0  # a connection on which nothing came for so long is dead


class Nonsense(ValueError):
    """What comes is not what our end sends. The text says what is wrong with it."""


def header(kind: int, at: int, length: int) -> bytes:
    return _HEADER.pack(kind, at, length)


def message(kind: int, at: int, data: bytes) -> bytes:
    return _HEADER.pack(kind, at, len(data)) + data


class Unread:
    """The next bytes of a log, which are still in the pipe of a connection."""

    def __init__(self, pipe: int, most: int) -> None:
        self._pipe = pipe
        self._most = most
        self.moved = 0

    def move(self, log: int, at: int) -> None:
        """Let the kernel move them into the log, to this position. Errors: OSError."""
        self.moved = splice.move(self._pipe, log, at, self._most)


class Parser:
    """Cuts a stream of bytes into messages. The bytes of a log are handed on as they come, as
    several messages. `checked`: they come from another machine, which may send anything."""

    def __init__(self, *, checked: bool = False) -> None:
        self._checked = checked
        self._data = bytearray()  # of a message that is not whole
        # The bytes of a log that come before anything else: kind, position, and how many
        self.run: tuple[int, int, int] | None = None

    def skip(self, count: int) -> None:
        """Take note that so many bytes of `run` do not come through `feed`."""
        assert self.run is not None
        kind, place, left = self.run
        self.run = (kind, place + count, left - count) if left > count else None

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield what can be handed on now. Bytes of a log are valid until the next step. Errors:
        Nonsense."""
        if self._data:
            self._data += data
            data, self._data = bytes(self._data), bytearray()
        view, at = memoryview(data), 0
        while at < len(data):
            if self.run is not None:
                kind, place, left = self.run
                part = view[at : at + left]
                at, left = at + len(part), left - len(part)
                self.run = (kind, place + len(part), left) if left else None
                yield kind, place, part
                continue
            if len(data) - at < _HEADER.size:
                break
            kind, place, length = _HEADER.unpack_from(view, at)
            begin = at + _HEADER.size
            if self._checked:
                _require_sound(kind, place, length)
            if kind <= STDERR and length:
                self.run, at = (kind, place, length), begin
                continue
            if len(data) - begin < length:
                break
            at = begin + length
            yield kind, place, bytes(view[begin:at])
        self._data += view[at:]


def _require_sound(kind: int, place: int, length: int) -> None:
    longest = _LONGEST.get(kind)
    if longest is None:
        raise Nonsense(f"a message of the unknown kind {kind}")
    if length > longest or place > _LONGEST_POSITION:
        raise Nonsense(f"a message of {length:,} bytes for position {place:,}")
