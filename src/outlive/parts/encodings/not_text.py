"""Output that is no text in any encoding: an archive, a program, random bytes."""

from __future__ import annotations

import re

_LEAST_BYTES = 64
SAMPLE_BYTES = 16_384  # of output, its beginning, which is looked at
_SHARE = 20  # at least every 20th byte is a control character, and every 20th no UTF-8
_CONTROLS = bytes([*range(8), *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])
_ROWS, _ROW_BYTES = 4, 16


def is_no_text(data: bytes) -> bool:
    """Return whether the beginning of output is no text. Text in an encoding of its own has no control characters, and
    UTF-16 is UTF-8 too as far as it is of ASCII."""
    if len(data) < _LEAST_BYTES:
        return False
    controls = len(data) - len(data.translate(None, _CONTROLS))
    invalid = len(re.findall("[\udc80-\udcff]", data.decode("utf-8", "surrogateescape")))
    return min(controls, invalid) * _SHARE >= len(data)


def in_place_of(data: bytes, count: int) -> str | None:
    """Return what is shown in place of `count` bytes that begin with `data`; None if they are text."""
    return dump(data, count) if is_no_text(data) else None


def dump(data: bytes, count: int) -> str:
    """Return in place of `count` bytes, which begin with `data`, how many they are and a dump of the first."""
    rows = [data[at : at + _ROW_BYTES] for at in range(0, min(len(data), _ROWS * _ROW_BYTES), _ROW_BYTES)]
    shown = [f"{number * _ROW_BYTES:08x}  {row.hex(' '):<47}  {_ascii(row)}\n" for number, row in enumerate(rows)]
    return f"[{count:,} bytes, not text; it begins with:]\n{''.join(shown)}"


def _ascii(row: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
