"""Shorten long output to its head and tail, in whole lines, and one line between them that says
what is left out."""

from __future__ import annotations

from outlive.render.decode import leading_cut, trailing_cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def split_budget(total: int, budget: int) -> tuple[int, int] | None:
    """Return how many bytes of `total` are shown as (head, tail), or None if all of it is shown.
    The tail gets two thirds, because errors and results stand at the end."""
    if total <= budget:
        return None
    head = budget // 3
    return head, budget - head


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
    """Return the offset of the first whole line; if there is none, of the first whole character.

    A newline that is the last byte does not count: of one endless line the end is shown, not an
    empty tail.
    """
    newline = data.find(b"\n", 0, len(data) - 1) if data else -1
    return newline + 1 if newline >= 0 else leading_cut(data)


def omitted(from_seq: int, count: int, lines: int | None, job: str) -> str:
    """Return the line that stands for `count` bytes from `from_seq` on: how many they are, and the
    call that shows them."""
    return f"[... {_size(count, lines)} not shown: log job_id={job} since_seq={from_seq} shows them ...]"


def gone(count: int, lines: int | None) -> str:
    """Return the line that stands for bytes that no call can show any more."""
    return f"[... {_size(count, lines)} are gone: the output passed the job's quota, and only its head and tail are kept ...]"


def _size(count: int, lines: int | None) -> str:
    return _count(count, "byte") + (f" ({_count(lines, 'line')})" if lines is not None else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
