"""How much of a long output is shown: its head and its tail, whole lines, and one line that says what is missing."""

from __future__ import annotations

from outlive.view.decode import leading_cut, trailing_cut


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


def omitted(from_seq: int, to_seq: int, lines: int | None, job: str) -> str:
    """The one-line marker that stands for the bytes [from_seq, to_seq): how many, and the call that shows them."""
    size = _count(to_seq - from_seq, "byte")
    if lines is not None:
        size += f" ({_count(lines, 'line')})"
    return f"[... {size} not shown: log job_id={job} since_seq={from_seq} shows them ...]"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
