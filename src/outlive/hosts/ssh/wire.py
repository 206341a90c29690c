"""The messages between a mirror and our end on the other machine.

A message is a header (kind, position, length) and so many bytes. Both ends are of the same version
at all times, because the mirror carries the other end there (bundle.py).
"""

from __future__ import annotations

import struct

from outlive import fastjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Message = tuple[int, int, bytes]

_HEADER = struct.Struct("<BQI")
# Bytes of a file of the job at this position; the first two are the logs, by number of the stream
STDOUT, STDERR, ORDER, MASK0, MASK1 = range(5)
# A whole file of the job
GAP, MISSING = 5, 6
# A JSON object; bytes that belong to the next one
WORD, DATA = 7, 8
CHUNK = 1 << 18
# What our end says first, each a line: it begins; it has to be sent the bundle; it cannot begin
HELLO, NEED, REFUSE = b"outlive-far ", b"outlive-need", b"outlive-refuses "
BEAT_S = 5.0  # our end says something at least this often
SILENCE_S = 20.0  # a connection on which nothing came for so long is dead


def message(kind: int, at: int, data: bytes) -> bytes:
    return _HEADER.pack(kind, at, len(data)) + data


def word(**content: Any) -> bytes:
    return message(WORD, 0, fastjson.dumps(content, separators=(",", ":")).encode())


class Parser:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield each message that is whole now."""
        self._data += data
        at, size = 0, len(self._data)
        view = memoryview(self._data)
        try:
            while size - at >= _HEADER.size:
                kind, place, length = _HEADER.unpack_from(view, at)
                begin = at + _HEADER.size
                if size - begin < length:
                    break
                at = begin + length
                yield kind, place, bytes(view[begin:at])
        finally:
            view.release()
            del self._data[:at]

    def rest(self) -> bytes:
        """Take what is not a whole message."""
        data, self._data = bytes(self._data), bytearray()
        return data
