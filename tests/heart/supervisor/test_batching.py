"""When a turn of the pump waits for more: in a flood of small writes, and never else. How large its pipes are."""

from __future__ import annotations

import fcntl
import os
import select

import pytest

from outlive import limits
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.job_fds import FifoSource
from outlive.supervisor.output import pump
from outlive.supervisor.output.pump import Batching, Pump


class Clock:
    """Turns of one flow, each some seconds after the one before and its pause, which moved some bytes."""

    def __init__(self) -> None:
        self.flow = Batching()
        self.now = 100.0

    def turns(self, count: int, seconds: float, moved: int, stream: int = 0) -> list[float]:
        """The pauses."""
        found = []
        for _ in range(count):
            found.append(self.flow.pause(stream, self.now))
            self.now += seconds + found[-1]
            self.flow.moved(moved)
        return found


def test_lines_that_come_now_and_then_are_taken_at_once() -> None:
    assert set(Clock().turns(200, 0.001, 80)) == {0.0}


def test_the_first_lines_of_a_flood_are_taken_at_once_and_later_ones_together() -> None:
    pauses = Clock().turns(200, 0.00001, 1000)
    assert set(pauses[: pump.FLOOD_TURNS]) == {0.0}
    assert set(pauses[pump.FLOOD_TURNS :]) == {pump.FLOOD_PAUSE_S}


def test_a_flood_goes_on_while_its_turns_wait() -> None:
    """The pauses are no quiet."""
    clock = Clock()
    clock.turns(100, 0.00001, 300)
    assert set(clock.turns(500, 0.00001, 12_000)) == {pump.FLOOD_PAUSE_S}


def test_large_writes_are_taken_at_once() -> None:
    assert set(Clock().turns(200, 0.00003, 32_768)) == {0.0}


def test_a_flood_that_ends_is_waited_for_no_more() -> None:
    clock = Clock()
    assert clock.turns(100, 0.00001, 1000)[-1] > 0
    assert clock.turns(3 * pump.FLOOD_TURNS, 0.002, 80)[-1] == 0.0


def test_a_pipe_that_filled_meanwhile_is_emptied_without_waiting() -> None:
    clock = Clock()
    clock.turns(100, 0.00001, 1000)
    assert clock.turns(1, 0.00001, limits.PIPE_BYTES)[0] > 0
    assert set(clock.turns(pump.FLOOD_TURNS, 0.00001, limits.PIPE_BYTES)) == {0.0}


def test_two_streams_that_take_turns_are_taken_at_once() -> None:
    clock = Clock()
    assert {pause for _ in range(200) for stream in (0, 1) for pause in clock.turns(1, 0.00001, 80, stream)} == {0.0}


def test_a_word_of_the_other_stream_ends_the_flood() -> None:
    clock = Clock()
    assert clock.turns(100, 0.00001, 1000)[-1] > 0
    assert clock.turns(1, 0.00001, 80, stream=1) == [0.0]
    assert clock.turns(1, 0.00001, 1000) == [0.0]


def test_a_turn_that_waits_is_woken_by_the_other_stream_and_not_by_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait is asked of the kernel, but with no time to wait: what it is for, and what is there."""
    out, into_out = os.pipe()
    errors, into_errors = os.pipe()
    asked: list[tuple[float, list[int]]] = []
    ask = select.select

    def at_once(read: list[int], write: list[int], others: list[int], seconds: float) -> None:
        asked.append((seconds, ask(read, write, others, 0)[0]))

    monkeypatch.setattr(select, "select", at_once)
    try:
        pump = object.__new__(Pump)
        pump._sources, pump._open = [FifoSource(out), FifoSource(errors)], [True, True]
        os.write(into_out, b"more of what it waits for")
        pump._wait_for_more(0, 3600.0)
        os.write(into_errors, b"!")
        pump._wait_for_more(0, 3600.0)
        assert asked == [(3600.0, []), (3600.0, [errors])]
        assert os.read(errors, 2) == b"!", "the wait takes nothing"
    finally:
        for fd in (out, into_out, errors, into_errors):
            os.close(fd)


def test_a_pipe_is_large_from_when_it_was_full_until_it_is_quiet() -> None:
    """Large pipes are few for each user."""
    read_end, write_end = os.pipe()
    try:
        pump = object.__new__(Pump)
        pump._sources, pump._capacity = [FifoSource(read_end)], [limits.PIPE_BYTES]
        pump._shrinks = [EventLoop().timer(pump._shrink, 0)]
        os.write(write_end, bytes(limits.PIPE_BYTES))
        pump._enlarge_if_full(0)
        assert fcntl.fcntl(read_end, fcntl.F_GETPIPE_SZ) == limits.PIPE_FULL_BYTES
        os.read(read_end, limits.PIPE_BYTES)
        for last_output, size in ((float("inf"), limits.PIPE_FULL_BYTES), (float("-inf"), limits.PIPE_BYTES)):
            assert pump._shrinks[0].is_set
            pump.last_output = last_output
            pump._shrinks[0].fire()
            assert fcntl.fcntl(read_end, fcntl.F_GETPIPE_SZ) == size
        assert not pump._shrinks[0].is_set
    finally:
        os.close(read_end)
        os.close(write_end)
