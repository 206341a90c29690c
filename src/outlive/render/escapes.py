"""Patterns of terminal control sequences in text (ECMA-48; xterm's ctlseqs), in 7-bit and 8-bit forms.

Every pattern takes linear time: what may follow an introducer never contains another introducer, and quantifiers are
possessive, so no character is examined more than a few times whatever a job prints. The patterns are strings, compiled
(and cached by `re`) at their first use: that takes milliseconds, and most output has no escape sequence."""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_SEQUENCE_BYTES = 4_096  # a longer unfinished sequence is garbage, not a sequence

CSI = r"(?:\x1b\[|\x9b)"
_STRING = r"(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])"  # DCS SOS OSC PM APC
# A newline ends a string although ECMA-48 allows it in some: one stray introducer must not swallow
# the lines after it.
_BODY = r"[^\x07\n\x18\x1a\x1b\x80-\x9f]"
_STRING_END = r"(?:\x07|\x1b\\|\x9c)"
_MOTION = r"[0-9;]*+[CDGK`a]"

# Moves the cursor within its line or erases there. Groups: parameters, final character.
MOTION = CSI + r"([0-9;]*+)([CDGK`a])"

# Every other sequence. A sequence that was broken off matches too, but of an overlong string only
# its introducer does.
NOISE = "|".join(
    (
        rf"{CSI}(?!{_MOTION})[0-?]*+[ -/]*+[@-~]?",
        rf"{_STRING}(?:{_BODY}*+{_STRING_END}|{_BODY}{{0,{MAX_SEQUENCE_BYTES}}}+(?!{_BODY}))?",
        r"\x1b(?!\[)[ -/]*+[0-~]?",
    )
)

# What a cut leaves of a string: its end at the beginning of a text, or all of that; its beginning at the end of one
_REST_OF_STRING = rf"{_BODY}*+(?:{_STRING_END}|\x1b?\Z)"
_BEGUN_STRING = rf"{_STRING}{_BODY}*+\x1b?\Z"

# A sequence that has begun and has not ended yet.
UNFINISHED = rf"(?:{CSI}[0-?]*+[ -/]*+|{_STRING}{_BODY}*+\x1b?|\x1b[ -/]*+)\Z"

_BLOCK_BYTES = 65_536
_MOST_BYTES = 8 << 20  # in which its beginning is looked for
# What begins a string, in UTF-8, and what ends one or cannot be in one
_BEGINS = rb"\x1b[PX\]^_]|\xc2[\x90\x98\x9d-\x9f]"
_EDGES = _BEGINS + rb"|[\x07\n\x18\x1a\x1b]|\xc2[\x80-\x9f]"


def without_rest(text: str, start: int, read: Callable[[int, int], bytes]) -> str:
    """Return a text without the rest of a string that begins before it. The text begins at `start` of what `read` reads."""
    if not start or read(start - 1, start) == b"\n":
        return text
    rest = re.match(_REST_OF_STRING, text)
    return text[rest.end() :] if rest and _is_within(start, read) else text


def without_begun(text: str) -> str:
    """Return a text that was cut without the string that has begun at its end."""
    begun = re.search(_BEGUN_STRING, text) if "\x1b" in text or not text.isascii() else None
    return text[: begun.start()] if begun else text


def _is_within(start: int, read: Callable[[int, int], bytes]) -> bool:
    at = start
    while at > max(0, start - _MOST_BYTES):
        low = max(0, at - _BLOCK_BYTES)
        edges = re.findall(_EDGES, read(low, at + 1))  # one byte more: an introducer has two
        if edges:
            return re.match(_BEGINS, edges[-1]) is not None
        at = low
    return False
