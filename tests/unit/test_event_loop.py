"""The loop of a supervisor."""

from __future__ import annotations

import os

from outlive.supervisor.event_loop import EventLoop


def test_a_timer_that_is_hurried_fires_once_and_one_that_is_not_set_never() -> None:
    loop, fired = EventLoop(), []
    try:
        loop.hurry("end")
        loop.after("end", 3_600, lambda: fired.append("end"))
        loop.hurry("end")
        loop.hurry("end")
        assert (fired, loop.is_set("end")) == (["end"], False)
    finally:
        loop.close()


def test_a_timer_that_is_years_away_does_not_keep_the_loop_from_waiting() -> None:
    """epoll_wait(2) takes an int of milliseconds, which is 24.8 days."""
    loop, (read_end, write_end) = EventLoop(), os.pipe()
    loop.after("end", 10 * 366 * 86_400, lambda: None)
    loop.read(read_end, loop.stop)
    os.write(write_end, b"x")
    try:
        loop.run()
    finally:
        loop.close()
        os.close(read_end)
        os.close(write_end)
