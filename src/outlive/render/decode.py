"""Bytes to text. Output may be cut anywhere: between streams, between reads, inside a character."""

from __future__ import annotations

import codecs
import re

from outlive.render.plain_text import MAX_SEQUENCE_BYTES, UNFINISHED

_MAX_CUT_BYTES = 3  # of a UTF-8 character that is not complete
MAX_HELD_BYTES = MAX_SEQUENCE_BYTES + _MAX_CUT_BYTES
_CONTINUATION = bytes(range(0x80, 0xC0))


def decode(pieces: list[tuple[int, bytes]], *, more: bool) -> tuple[str, int]:
    """Return the text of consecutive runs (stream number, bytes) of the merged stream, and how many bytes were held
    back.

    Invalid bytes become U+FFFD. A character that another stream interrupts is shown where it is completed. With `more`,
    the text ends before an incomplete character, an incomplete escape sequence or a lone CR, and its length in bytes (0
    to MAX_HELD_BYTES) is returned: the next read starts before it. If a whole window was held back although more is
    stored, the reader has to read a larger window; more than MAX_HELD_BYTES always make progress."""
    held = _held(_last_run(pieces)) if more else 0
    shown = _without_end(pieces, held) if held else pieces
    pending: dict[int, bytes] = {}
    text: list[str] = []
    for stream, data in shown:
        whole = pending.pop(stream, b"") + data
        part, used = codecs.utf_8_decode(whole, "replace", False)
        text.append(part)
        if used < len(whole):
            pending[stream] = whole[used:]
    text.extend(begun.decode("utf-8", "replace") for begun in pending.values())
    return "".join(text), held


def hides_bytes(shown: str, pieces: list[tuple[int, bytes]], *, cut_start: bool, cut_end: bool) -> bool:
    """Return whether runs of the streams are shown with U+FFFD for bytes that are not UTF-8; a program
    may print that character itself. `cut_start`, `cut_end`: a character may be cut there."""
    if "\N{REPLACEMENT CHARACTER}" not in shown:
        return False
    for wanted in {stream for stream, _ in pieces}:
        data = b"".join(data for stream, data in pieces if stream == wanted)
        try:
            codecs.utf_8_decode(data[leading_cut(data) if cut_start else 0 :], "strict", not cut_end)
        except UnicodeDecodeError:
            return True
    return False


def leading_cut(data: bytes) -> int:
    """Return how many bytes at the start may be the rest of a character that began before them: 0 to 3."""
    first = data[: _MAX_CUT_BYTES + 1]
    count = len(first) - len(first.lstrip(_CONTINUATION))
    return count if count <= _MAX_CUT_BYTES else 0


def trailing_cut(data: bytes) -> int:
    """Return how many bytes at the end are an incomplete character: 0 to 3. (ED A0, half a
    surrogate, is one to the codec.)"""
    # Three bytes are enough: a lead byte begins a character whatever stands before it
    last = data[-_MAX_CUT_BYTES:]
    return len(last) - codecs.utf_8_decode(last, "replace", False)[1]


def _held(run: bytes) -> int:
    cut = trailing_cut(run)
    tail = run[-(MAX_SEQUENCE_BYTES + cut) :]
    if b"\x1b" in tail or b"\xc2" in tail:  # ESC, or the lead byte of the 8-bit introducers
        # surrogateescape counts every invalid byte as one, so the way back to a length in bytes is
        # exact
        unfinished = re.search(UNFINISHED, tail.decode("utf-8", "surrogateescape"))
        if unfinished:
            return len(unfinished[0].encode("utf-8", "surrogateescape"))
    return cut or int(run.endswith(b"\r"))


def _last_run(pieces: list[tuple[int, bytes]]) -> bytes:
    """Return the end of the last run of one stream without interruption, at most MAX_HELD_BYTES."""
    ends: list[bytes] = []
    size, last_stream = 0, None
    for stream, data in reversed(pieces):
        if not data:
            continue
        if size >= MAX_HELD_BYTES or last_stream not in (None, stream):
            break
        last_stream = stream
        ends.append(data[-MAX_HELD_BYTES:])
        size += len(data)
    return b"".join(reversed(ends))[-MAX_HELD_BYTES:]


def _without_end(pieces: list[tuple[int, bytes]], count: int) -> list[tuple[int, bytes]]:
    kept = list(pieces)
    while count:
        stream, data = kept.pop()
        if len(data) > count:
            kept.append((stream, data[:-count]))
        count -= min(len(data), count)
    return kept
