"""Many jobs that gc works on at once."""

from __future__ import annotations

import threading

from outlive.parts.cleanup import gc


def test_items_come_in_their_order_with_what_was_returned_or_raised() -> None:
    for count in (3, 100):
        found = list(gc.each(lambda number: 1 // number, range(count)))
        assert [item for item, _ in found] == list(range(count))
        assert isinstance(found[0][1], ZeroDivisionError)
        assert [result for _, result in found[1:3]] == [1, 0]


def test_many_items_are_worked_on_at_once() -> None:
    together = threading.Barrier(gc.THREADS, timeout=30)
    found = dict(gc.each(lambda _: together.wait(), range(2 * gc.THREADS)))
    assert not [result for result in found.values() if isinstance(result, Exception)]


def test_what_has_not_begun_is_left_when_the_caller_stops() -> None:
    begun: list[int] = []
    go_on = threading.Event()

    def work(item: int) -> None:
        begun.append(item)
        if item:
            go_on.wait(60)

    found = gc.each(work, range(1000))
    next(found)
    threading.Timer(0.05, go_on.set).start()
    found.close()
    assert len(begun) < 1000
    assert threading.active_count() < gc.THREADS
