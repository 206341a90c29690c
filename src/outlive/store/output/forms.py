"""In which forms a value may stand in bytes: in several encodings, and with control characters and escape sequences in it,
which who reads the output does not see."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, cached_property

# In which a value may stand in a log, whatever that is decoded with
WIDE = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
# In which those of masked variables are looked for, by the names that Python's codecs have. In the others an ASCII character
# is its own byte and no other bytes
SEARCHED = (*WIDE, *"iso8859-1 cp1252 cp437 cp850 gbk big5 shift_jis euc_jp euc_kr koi8-r mac-roman".split())
MOST_BYTES = 4_096  # of a sequence, and of all that is dropped within a value, besides the NULs of UTF-16 and UTF-32
AROUND_BYTES = 2 * MOST_BYTES  # no sequence that begins so long before has an end to be found

_CONTROLS = bytes([*range(9), *range(0x0B, 0x20), 0x7F])  # without tab and newline


def forms(value: str, encodings: Iterable[str]) -> set[bytes]:
    """Return a value in these encodings, without those that it cannot have."""
    found = set()
    for name in encodings:
        with suppress(UnicodeError, LookupError):
            found.add(value.encode(name, "surrogateescape"))
    return found


@cache
def _patterns() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return what readers do not see: the sequences of render/plain_text.py and single characters, in UTF-8; and what may be
    the beginning of one at the end. Between the bytes of a sequence may be the NULs of UTF-16 and UTF-32. All takes linear
    time, for the same reasons as there."""
    nul, single = r"\x00{0,3}+", r"\x00-\x08\x0b-\x1a\x1c-\x1f\x7f"
    # One of these is looked for, which is much faster than to try all of the pattern at each byte
    first = rf"[{single}\x1b\xc2\xe2\xef\xfe\xff]"
    csi = rf"(?:(?<=\x1b){nul}\[|(?<=\xc2)\x9b)(?>(?:{nul}[0-?]){{0,256}})(?>(?:{nul}[ -/]){{0,16}})"
    body = r"(?:[^\x07\n\x18\x1a\x1b\xc2]|\xc2(?![\x80-\x9f]))"
    string = rf"(?:(?<=\x1b){nul}[PX\]^_]|(?<=\xc2)[\x90\x98\x9d-\x9f])"
    many = rf"(?>{body}{{0,{MOST_BYTES}}})"
    end = rf"(?:\x07|\x1b{nul}\\|\xc2\x9c)"
    escape = rf"(?<=\x1b)(?>(?:{nul}[ -/]){{0,16}})"
    sequence = rf"{csi}(?:{nul}[@-~])?|{string}(?:{many}(?:{end}|(?!{body})))?|{escape}(?:{nul}[0-~])?"
    c1 = r"(?<=\xc2)[\x80-\x9a\x9c-\x9f]"
    mark = r"(?<=\xef)\xbb\xbf|(?<=\xe2)(?:\x80[\xaa-\xae]|\x81[\xa6-\xa9])|(?<=\xff)\xfe|(?<=\xfe)\xff"
    begun = rf"{csi}{nul}|{string}{many}(?:\x1b{nul})?|{escape}{nul}|(?<=\xef)\xbb|(?<=\xe2)[\x80\x81]|(?<=[\xc2\xe2\xef\xfe\xff])"
    return (
        _compiled(rf"{first}(?:(?<=[{single}])[{single}]*+|{sequence}|{c1}|{mark})"),
        _compiled(rf"{first}(?:{begun})\Z"),
    )


def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode("latin-1"))


class View:
    """Bytes without their control characters. `plain`: what is left of them. `decided`: up to where what follows the data
    changes nothing: a sequence may go on."""

    def __init__(self, data: bytes, *, sequences: bool) -> None:
        """`sequences`: without escape sequences too."""
        begun = _patterns()[1].search(data, max(0, len(data) - AROUND_BYTES)) if sequences else None
        self._sequences = sequences
        self.decided = begun.start() if begun else len(data)
        self._data = data[: self.decided]
        self.plain = self.without(self._data)

    def without(self, data: bytes) -> bytes:
        """Return other bytes without the same."""
        return _patterns()[0].sub(b"", data) if self._sequences else data.translate(None, _CONTROLS)

    def place(self, at: int) -> int:
        """Return where a byte of `plain` stands in the data."""
        starts, shifts = self._runs
        return at + shifts[bisect_right(starts, at) - 1]

    @cached_property
    def _runs(self) -> tuple[list[int], list[int]]:
        """Where in `plain` each run of kept bytes begins, and how many were left out before."""
        starts, shifts = [0], [0]
        for match in re.finditer(_patterns()[0] if self._sequences else rb"[\x00-\x08\x0b-\x1f\x7f]+", self._data):
            shifts.append(shifts[-1] + match.end() - match.start())
            starts.append(match.end() - shifts[-1])
        return starts, shifts


def views(data: bytes) -> list[View]:
    """Return the bytes as readers may see them, besides as they are: without control characters, and without sequences."""
    found = View(data, sequences=False)
    has_sequences = b"\x1b" in data or not data.isascii()
    return ([found] if len(found.plain) < len(data) else []) + ([View(data, sequences=True)] if has_sequences else [])
