"""Encodings of text other than UTF-8, as Python names them."""

from __future__ import annotations

import codecs
import sys
from typing import Any

from outlive.core.nearest import nearest
from outlive.errors import invalid

_LONGEST_NAME = 40
_UTF_8 = ("utf-8", "utf-8-sig")
_WIDTHS = {"utf-16": 2, "utf-16-le": 2, "utf-16-be": 2, "utf-32": 4, "utf-32-le": 4, "utf-32-be": 4}
# The longer marks first: that of UTF-16 LE begins that of UTF-32 LE
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WHOLE = ("punycode", "idna")  # codecs of a whole name, which read each piece of a text as one
_COMMON = "latin-1, cp1252, gbk, shift_jis, utf-16"
_USUAL = ("latin-1", "cp1252", "cp437", "cp850", "gbk", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "koi8_r",
    "iso2022_jp", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "windows-1252", "mac_roman")  # fmt: skip


class Encoding:
    """One encoding. `width`: bytes of a unit of UTF-16 or UTF-32, else 1. `mark`: bytes of a byte
    order mark at the beginning, which are no text. `alone`: whether each byte is a character."""

    def __init__(self, name: str, mark: int = 0) -> None:
        self.name = name
        self.width = _WIDTHS.get(name, 1)
        self.mark = mark
        of_each = [_decoded(name, bytes([byte])) for byte in range(256)] if self.width == 1 else []
        self.alone = bool(of_each) and all(len(text) == 1 for text in of_each)
        # EBCDIC has its newline elsewhere
        self._newlines = b"".join(map(_of_line, of_each, range(256))) if self.alone and of_each[10] != "\n" else None

    @property
    def has_own_newline(self) -> bool:
        """Whether a newline is something else than the byte 0x0A, or that byte something else."""
        return self.width > 1 or self._newlines is not None

    def decoder(self) -> codecs.IncrementalDecoder:
        """Return what decodes bytes from the beginning, or from where a character begins."""
        return codecs.getincrementaldecoder(self.name)("replace")

    def lines(self, data: bytes) -> bytes:
        """Return as many bytes of which those are 0x0A that end a newline. `data`: whole units."""
        if self._newlines is not None:
            return data.translate(self._newlines)
        if self.width == 1:
            return data
        newline = "\n".encode(self.name)
        equal = -1  # all bits are set
        for part in range(self.width):
            same = bytes(255 if byte == newline[part] else 0 for byte in range(256))
            equal &= int.from_bytes(data[part :: self.width].translate(same), "big")
        count = len(data) // self.width
        ends = (equal & int.from_bytes(b"\x0a" * count, "big")).to_bytes(count, "big")
        of_lines = bytearray(len(data))
        of_lines[self.width - 1 :: self.width] = ends
        return bytes(of_lines)


def asked(name: str | None) -> Encoding | None:
    """Return the encoding of that name; None for UTF-8. Errors: invalid_argument (`encoding`) if
    Python knows none, or if it is none of text."""
    if name is None:
        return None
    try:
        if len(name) > _LONGEST_NAME or not name.isascii():
            raise LookupError
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        near = nearest(name.lower(), list(_USUAL))
        meant = f"did you mean {near!r}?" if near else f"known are {_COMMON} and all others of Python"
        raise invalid("encoding", f"unknown encoding {name[:_LONGEST_NAME]!r}; {meant}") from None
    try:
        if known in _WHOLE:
            raise LookupError
        b"\n\xff".decode(known, "replace")
    except (LookupError, ValueError):
        raise invalid("encoding", f"{name!r} is no encoding of text; such are {_COMMON}") from None
    return None if known in _UTF_8 else Encoding(known)


def of_head(head: bytes, wanted: Encoding | None) -> Encoding | None:
    """Return the encoding of a log that begins with `head`: what a byte order
    mark says, unless another encoding is wanted; None: UTF-8."""
    if wanted is not None and wanted.name not in ("utf-16", "utf-32"):
        return wanted
    for mark, name in _MARKS:
        if head.startswith(mark) and (wanted is None or name.startswith(wanted.name)):
            return Encoding(name, len(mark))
    # Without a mark the machine's own order, as Python has it
    return wanted and Encoding(f"{wanted.name}-{'le' if sys.byteorder == 'little' else 'be'}")


def _decoded(name: str, data: bytes) -> str:
    decoder: Any = codecs.getincrementaldecoder(name)("replace")
    return str(decoder.decode(data))


def _of_line(text: str, byte: int) -> bytes:
    if text == "\n":
        return b"\n"
    return b"\0" if byte == 0x0A else bytes([byte])
