"""The loop of a supervisor."""

from __future__ import annotations

import os

from outlive.supervisor.event_loop import EventLoop


def test_a_timer_fires_once_each_time_it_is_set_and_one_that_was_taken_away_never() -> None:
    loop = EventLoop()
    fired: list[str] = []
    end, never, stop = loop.timer(fired.append, "end"), loop.timer(fired.append, "never"), loop.timer(loop.stop)
    try:
        end.after(3_600)
        end.after(0)
        never.after(0)
        never.cancel()
        stop.after(0.01)
        loop.run()
        assert (fired, end.is_set, never.is_set) == (["end"], False, False)
    finally:
        loop.close()


def test_a_timer_that_is_years_away_does_not_keep_the_loop_from_waiting() -> None:
    """epoll_wait(2) takes an int of milliseconds, which is 24.8 days."""
    loop, (read_end, write_end) = EventLoop(), os.pipe()
    fired: list[str] = []
    end = loop.timer(fired.append, "end")
    end.after(10 * 366 * 86_400)
    loop.read(read_end, loop.stop)
    os.write(write_end, b"x")
    try:
        loop.run()
        assert (fired, end.is_set) == ([], True)
    finally:
        loop.close()
        os.close(read_end)
        os.close(write_end)


def test_what_is_forgotten_calls_no_more_though_it_stays_open() -> None:
    loop, (read_end, write_end) = EventLoop(), os.pipe()
    called: list[str] = []
    loop.read(read_end, lambda: called.append("read"))
    os.write(write_end, b"x")
    loop.forget(read_end)
    loop.timer(loop.stop).after(0.01)
    try:
        loop.run()
        assert called == []
        loop.read(read_end, loop.stop)  # and it can be watched again
        loop.run()
    finally:
        loop.close()
        os.close(read_end)
        os.close(write_end)
