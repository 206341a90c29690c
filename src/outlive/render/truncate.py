"""How much of a long output is shown: its head and its tail, whole lines, and one line that says what is missing."""

from __future__ import annotations

from outlive.render.decode import leading_cut, trailing_cut


def split_budget(total: int, budget: int) -> tuple[int, int] | None:
    """Bytes of (head, tail) that are shown of `total`, or None if all of it is. The tail gets two thirds: errors and
    results stand at the end.
    """
    if total <= budget:
        return None
    head = budget // 3
    return head, budget - head


def cut_head(data: bytes) -> int:
    """Length in bytes up to and with the last newline; without one, of what does not split a character."""
    newline = data.rfind(b"\n")
    return newline + 1 if newline >= 0 else len(data) - trailing_cut(data)


def cut_tail(data: bytes) -> int:
    """Offset in bytes of the first whole line; where there is none, of the first whole character.

    A newline that is the last byte counts for nothing: of one endless line its end is shown, not an empty tail.
    """
    newline = data.find(b"\n", 0, len(data) - 1) if data else -1
    return newline + 1 if newline >= 0 else leading_cut(data)


def omitted(from_seq: int, count: int, lines: int | None, job: str) -> str:
    """The one-line marker that stands for `count` bytes from `from_seq` on: how many, and the call that shows them."""
    return f"[... {_size(count, lines)} not shown: log job_id={job} since_seq={from_seq} shows them ...]"


def gone(count: int, lines: int | None) -> str:
    """The one-line marker that stands for bytes that no call can show any more."""
    return f"[... {_size(count, lines)} are gone: the output passed the job's quota, and only its head and tail are kept ...]"


def _size(count: int, lines: int | None) -> str:
    return _count(count, "byte") + (f" ({_count(lines, 'line')})" if lines is not None else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
