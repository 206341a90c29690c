"""Shorten long output to its head and tail, in whole lines, and one line between them that says what is left out."""

from __future__ import annotations

from collections.abc import Iterable

from outlive.core.units import counted
from outlive.render.decode import leading_cut, trailing_cut

_PAGES_BYTES = 32_768  # of more output a line is better searched for than read


def fitting(sizes: Iterable[int], budget: int | None) -> int:
    """Return how many of the first items fit into `budget`, one at least; all if it is None."""
    count = used = 0
    for size in sizes:
        used += size
        if budget is not None and used > budget and count:
            break
        count += 1
    return count


def cut_head(data: bytes) -> int:
    """Return the length of `data` up to and including its last newline; without a newline, up to
    the last whole character."""
    newline = data.rfind(b"\n")
    return newline + 1 if newline >= 0 else len(data) - trailing_cut(data)


def cut_tail(data: bytes) -> int:
    """Return the offset of the first whole line, or within a line that is overwritten (progress that moves by CR) of
    the first whole state; if there is none, of the first whole character.

    A newline that is the last byte does not count: of one endless line the end is shown, not an empty tail."""
    newline = data.find(b"\n", 0, len(data) - 1) if data else -1
    back = data.find(b"\r", 0, newline if newline >= 0 else len(data))
    if 0 <= back < len(data) - 1 and data[back + 1] != ord("\n"):
        return back + 1
    return newline + 1 if newline >= 0 else leading_cut(data)


def omitted(from_seq: int, count: int, lines: int | None, job: str, why: str = "", *, of: int = 0) -> str:
    """Return the line that stands for `count` bytes from `from_seq` on: how many they are, the call that shows them,
    of much output (`of` bytes) also the one that searches it, and why others are shown."""
    finds = ", log search=… finds any line" if max(count, of) > _PAGES_BYTES else ""
    why = f". {why}" if why else ""
    return f"[... {_size(count, lines)} not shown: log job_id={job} since_seq={from_seq} shows them{finds}{why} ...]"


def omitted_too(from_seq: int, count: int, lines: int | None) -> str:
    """Return the line that stands for a further gap."""
    return f"[... {counted(count, 'byte') if lines is None else counted(lines, 'line')}: log since_seq={from_seq} ...]"


def gone(count: int, lines: int | None) -> str:
    """Return the line that stands for bytes that no call can show any more."""
    return f"[... {_size(count, lines)} are gone: the output passed the job's quota, and only its head and tail are kept ...]"


def less_room(room: int, text: str, max_bytes: int) -> int | None:
    """Return how many raw bytes to try next if the text of `room` raw bytes exceeds `max_bytes`;
    None if it fits, or cannot get smaller. Text may be longer than its raw bytes: an invalid byte
    is shown as three, and a gap as a line."""
    size = len(text.encode("utf-8", "replace"))
    if size <= max_bytes or room <= 1:
        return None
    return max(1, min(room * max_bytes // size, room - (size - max_bytes)))


def joined(*texts: str) -> str:
    """Return the texts one below the other."""
    joined = ""
    for text in texts:
        separator = "\n" if joined and text and not joined.endswith("\n") else ""
        joined += separator + text
    return joined


def _size(count: int, lines: int | None) -> str:
    return counted(count, "byte") + (f" ({counted(lines, 'line')})" if lines is not None else "")
