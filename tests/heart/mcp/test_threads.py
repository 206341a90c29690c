"""Calls that block, each in a thread of its own."""

from __future__ import annotations

import _thread
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from outlive.errors import OutliveError
from outlive.mcp import threads
from outlive.system.waiting import Call, Cancelled, checkpoint, pause
from support.wait import until, until_async

BOUND_S = 10


class Action:
    """A function that waits once, and says how it ended."""

    def __init__(self, fds: tuple[int, ...] = (), seconds: float | None = None) -> None:
        self.fds = fds
        self.seconds = seconds
        self.begun = False
        self.ended = ""

    def __call__(self) -> str:
        self.begun = True
        try:
            pause(self.fds, None if self.seconds is None else time.monotonic() + self.seconds)
            self.ended = "resumed"
            return "result"
        except Cancelled:
            self.ended = "cancelled"
            raise


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


def in_thread(work: Callable[[], str]) -> str:
    async def bounded() -> str:
        with anyio.fail_after(BOUND_S):
            return await threads.run(work)

    return anyio.run(bounded)


@pytest.mark.parametrize("run", [in_thread, lambda work: work()], ids=["in-a-thread", "in-a-command-line"])
@pytest.mark.parametrize("seconds", [0.01, 0.15, -1])
def test_a_deadline_ends_a_pause(run: Callable[[Callable[[], str]], str], seconds: float) -> None:
    assert run(Action((), seconds)) == "result"


@pytest.mark.parametrize("which", [0, 1, 2])
def test_any_readable_descriptor_ends_a_pause(which: int) -> None:
    pipes = [os.pipe() for _ in range(3)]
    action = Action(tuple(read for read, _ in pipes))

    async def both() -> str:
        async with anyio.create_task_group() as group:

            async def write() -> None:
                await until_async(lambda: action.begun, what="the pause")
                os.write(pipes[which][1], b"x")

            group.start_soon(write)
            with anyio.fail_after(BOUND_S):
                result = await threads.run(action)
        return result

    try:
        assert anyio.run(both) == "result"
        assert in_thread(Action((pipes[which][0],))) == "result"
    finally:
        for fd in (fd for pair in pipes for fd in pair):
            os.close(fd)


def test_a_closed_writer_ends_a_pause() -> None:
    read, write = os.pipe()
    os.close(write)
    try:
        assert in_thread(Action((read, read))) == "result"
    finally:
        os.close(read)


def test_a_regular_file_is_readable_at_any_time(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w+") as file:
        assert in_thread(Action((file.fileno(),))) == "result"


def test_a_cancelled_call_has_given_back_what_it_held_before_the_cancellation_goes_on(pipe: tuple[int, int]) -> None:
    action = Action(pipe[:1])
    seen: list[str] = []

    async def call() -> None:
        try:
            await threads.run(action)
        finally:
            seen.append(action.ended)

    async def cancelled() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await until_async(lambda: action.begun, what="the pause")
            group.cancel_scope.cancel()

    anyio.run(cancelled)
    assert seen == ["cancelled"]


def test_a_cancelled_call_that_does_not_look_up_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_CANCELLED_S", 0.01)
    begun, let_go, ended = threading.Event(), threading.Event(), threading.Event()

    def deaf() -> None:
        begun.set()
        assert let_go.wait(BOUND_S)
        ended.set()

    async def cancelled() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, deaf)
            await until_async(begun.is_set, what="its start")
            group.cancel_scope.cancel()

    anyio.run(cancelled)
    assert not ended.is_set()
    let_go.set()
    until(ended.is_set, what="its end, which no loop waits for")


def test_an_error_comes_through() -> None:
    def broken() -> str:
        pause((), time.monotonic())
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        in_thread(broken)


def test_where_no_thread_can_be_had_the_call_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    before = sorted(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(OutliveError) as caught:
        in_thread(Action())
    assert caught.value.code == "io_error"
    assert caught.value.retryable
    assert "ulimit -u" in str(caught.value.hint)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_many_calls_wait_at_the_same_time(pipe: tuple[int, int]) -> None:
    actions = [Action(pipe[:1]) for _ in range(128)]
    results: list[str] = []

    async def call(action: Action) -> None:
        results.append(await threads.run(action))

    async def all_of_them() -> None:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                for action in actions:
                    group.start_soon(call, action)
                await until_async(lambda: all(one.begun for one in actions), what="all of them")
                assert not results
                os.write(pipe[1], b"x")

    anyio.run(all_of_them)
    assert results == ["result"] * 128


class Working:
    """Long work of several callers, each of which goes on until it is let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.let_go = threading.Event()

    async def call(self, caller: str, *, then_waits: bool = False) -> None:
        await threads.run(partial(self._work, caller, then_waits=then_waits), caller=caller)

    def _work(self, caller: str, *, then_waits: bool) -> None:
        checkpoint()
        self.begun.append(caller)
        while not self.let_go.is_set():
            (pause if then_waits else time.sleep)(*((), time.monotonic() + 0.01) if then_waits else (0.001,))
            if not then_waits:
                checkpoint()
        self.ended.append(caller)


def working(what: Callable[[Working, Any], Any]) -> Working:
    """Run `what(work, group)` in a group of tasks that has an end, and let all work go after it."""
    found = Working()

    async def everything() -> None:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                try:
                    await what(found, group)
                finally:
                    found.let_go.set()

    anyio.run(everything)
    return found


def test_one_callers_long_work_has_two_turns_and_anothers_has_its_own() -> None:
    async def calls(work: Working, group: Any) -> None:
        for _ in range(8):
            group.start_soon(work.call, "greedy")
        await until_async(lambda: len(work.begun) == 2, what="the turns of the first")
        group.start_soon(work.call, "other")
        await until_async(lambda: "other" in work.begun, what="a turn of the second")
        assert work.begun.count("greedy") == 2

    found = working(calls)
    assert sorted(found.ended) == ["greedy"] * 8 + ["other"], "and all of them end"


def test_work_that_waits_gives_its_turn_back() -> None:
    async def calls(work: Working, group: Any) -> None:
        for _ in range(8):
            group.start_soon(partial(work.call, "one", then_waits=True))
        await until_async(lambda: len(work.begun) == 8, what="all of them")

    assert working(calls).ended == ["one"] * 8


def test_a_call_that_waits_for_its_turn_can_be_cancelled() -> None:
    async def calls(work: Working, group: Any) -> None:
        for _ in range(2):
            group.start_soon(work.call, "one")
        await until_async(lambda: len(work.begun) == 2, what="two at work")
        async with anyio.create_task_group() as gone:
            gone.start_soon(work.call, "one")
            await until_async(lambda: len(threads._running) == 3, what="a third")
            gone.cancel_scope.cancel()
        assert len(work.begun) == 2

    assert working(calls).ended == ["one", "one"]


def test_work_ends_at_a_checkpoint_when_its_call_is_cancelled() -> None:
    ended = threading.Event()
    steps = 0

    def endless() -> None:
        nonlocal steps
        try:
            while True:
                steps += 1
                checkpoint()
        finally:
            ended.set()

    async def cancelled() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, endless)
            await until_async(lambda: steps > 1_000, what="work")
            group.cancel_scope.cancel()
        assert ended.is_set()

    anyio.run(cancelled)


def test_a_call_that_is_over_can_still_be_cancelled() -> None:
    call = Call(threading.Lock())
    with call:
        pause((), time.monotonic())
    call.cancel()  # writes to no descriptor: its number may be another file's by now


def test_what_goes_on_after_its_call_says_its_error_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise ValueError("broken")

    anyio.run(threads.logged, threads.run, broken)
    assert "ValueError: broken" in capfd.readouterr().err


@pytest.mark.slow
def test_ten_thousand_calls_128_at_a_time_that_are_cancelled_at_random_leave_nothing(pipe: tuple[int, int]) -> None:
    chance = random.Random(7)
    before = sorted(os.listdir("/proc/self/fd"))
    ends: dict[str, int] = {"result": 0, "cancelled": 0}

    def work() -> str:
        for _ in range(3):
            checkpoint()
            pause(pipe[:1], time.monotonic() + chance.random() * 0.004)
        return "result"

    async def one(room: anyio.Semaphore) -> None:
        async with room:
            with anyio.move_on_after(chance.choice([chance.random() * 0.02, chance.random() * 0.2, BOUND_S])) as scope:
                await threads.run(work, caller=chance.choice("abc"))
            ends["cancelled" if scope.cancelled_caught else "result"] += 1

    async def all_of_them() -> None:
        room = anyio.Semaphore(128)
        async with anyio.create_task_group() as group:
            for _ in range(10_000):
                group.start_soon(one, room)

    anyio.run(all_of_them)
    assert sum(ends.values()) == 10_000
    assert min(ends.values()) > 100, ends
    assert not threads._running
    assert sorted(os.listdir("/proc/self/fd")) == before
