"""Waiting actions in an event loop."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from outlive import verbs
from outlive.jobs import lookup
from outlive.jobs.waiting import Pause
from outlive.mcp import async_driver
from outlive.store.inspection import engine_record
from outlive.store.root import Store
from outlive.verbs.spec import Verb, always
from support.wait import until, until_async

BOUND_S = 10
NO_HOSTS = SimpleNamespace(hosts=dict)


class Action:
    """A generator that waits once, and says how it ended."""

    def __init__(self, fds: tuple[int, ...], seconds: float | None = None) -> None:
        self.fds = fds
        self.seconds = seconds
        self.ended = ""

    def __call__(self, ctx: Any = None, **args: Any) -> Generator[Pause, None, str]:
        try:
            yield Pause(self.fds, None if self.seconds is None else time.monotonic() + self.seconds)
            self.ended = "resumed"
            return "result"
        finally:
            self.ended = self.ended or "closed"


def driven(action: Action, meanwhile: Any = None) -> str:
    async def both() -> str:
        async with anyio.create_task_group() as group:
            if meanwhile:
                group.start_soon(meanwhile)
            with anyio.fail_after(BOUND_S):
                found: str = await async_driver.drive(action())
        return found

    return anyio.run(both)


def test_a_deadline_ends_a_pause() -> None:
    assert driven(Action((), 0.01)) == "result"
    assert driven(Action((), -1)) == "result"


@pytest.mark.parametrize("which", [0, 1, 2])
def test_any_readable_descriptor_ends_a_pause(which: int) -> None:
    pipes = [os.pipe() for _ in range(3)]

    async def write() -> None:
        await anyio.wait_all_tasks_blocked()
        os.write(pipes[which][1], b"x")

    try:
        assert driven(Action(tuple(read for read, _ in pipes)), write) == "result"
        assert driven(Action((pipes[which][0],))) == "result"
    finally:
        for fd in (fd for pair in pipes for fd in pair):
            os.close(fd)


def test_a_closed_writer_ends_a_pause() -> None:
    read, write = os.pipe()
    os.close(write)
    try:
        assert driven(Action((read, read))) == "result"
    finally:
        os.close(read)


def test_a_regular_file_is_readable_at_any_time(tmp_path: Any) -> None:
    with open(tmp_path / "file", "w+") as file:
        assert driven(Action((file.fileno(),))) == "result"


def test_cancelling_closes_the_action_and_lets_go_of_its_descriptors() -> None:
    read, write = os.pipe()
    action = Action((read,))

    async def cancelled() -> None:
        for _ in range(2):  # the second wait on the same descriptor works only if the first one let go of it
            async with anyio.create_task_group() as group:
                group.start_soon(async_driver.drive, action())
                await anyio.wait_all_tasks_blocked()
                group.cancel_scope.cancel()

    try:
        anyio.run(cancelled)
    finally:
        os.close(read)
        os.close(write)
    assert action.ended == "closed"


def test_an_error_of_the_action_comes_through_and_others_go_on() -> None:
    def broken() -> Generator[Pause, None, None]:
        yield Pause((), time.monotonic())
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        anyio.run(async_driver.drive, broken())


def test_many_calls_wait_at_the_same_time() -> None:
    read, write = os.pipe()
    fds = [os.dup(read) for _ in range(20)]
    results: list[str] = []

    async def call(fd: int) -> None:
        results.append(await async_driver.drive(Action((fd,))()))

    async def all_of_them() -> None:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                for fd in fds:
                    group.start_soon(call, fd)
                await anyio.wait_all_tasks_blocked()
                assert not results
                os.write(write, b"x")

    try:
        anyio.run(all_of_them)
    finally:
        for fd in (*fds, read, write):
            os.close(fd)
    assert results == ["result"] * 20


def test_slow_verbs_run_in_a_thread_whether_they_wait_or_not() -> None:
    threads: list[str] = []

    def plain(ctx: Any) -> str:
        threads.append(threading.current_thread().name)
        return "plain"

    def waiting(ctx: Any) -> Generator[Pause, None, str]:
        threads.append(threading.current_thread().name)
        yield Pause((), time.monotonic())
        return "waited"

    async def both() -> list[str]:
        ctx: Any = SimpleNamespace(owner="a client", config=NO_HOSTS)
        return [
            await async_driver.run(Verb("plain", "", plain, slow=always), ctx, {}),
            await async_driver.run(Verb("waiting", "", waiting, slow=always), ctx, {}),
            await async_driver.run(Verb("quick", "", plain), ctx, {}),
        ]

    assert anyio.run(both) == ["plain", "waited", "plain"]
    main = threading.main_thread().name
    assert [name == main for name in threads] == [False, False, True]


@pytest.mark.parametrize(("jobs", "hosts", "at_once"), [(3, {}, True), (300, {}, False), (3, {"far": {}}, False)])
def test_a_list_of_few_jobs_takes_no_thread(jobs: int, hosts: dict[str, Any], at_once: bool, tmp_path: Path) -> None:
    threads: list[str] = []

    def listed(ctx: Any) -> Generator[None, None, str]:
        threads.append(threading.current_thread().name)
        yield None
        threads.append(threading.current_thread().name)
        return "listed"

    for number in range(jobs):
        (tmp_path / str(number)).mkdir()
    with contextlib.closing(Store.existing(str(tmp_path))) as store:
        ctx: Any = SimpleNamespace(owner="a client", config=SimpleNamespace(hosts=lambda: hosts), store=store)
        assert anyio.run(async_driver.run, Verb("list", "", listed, slow=verbs.load("list").slow), ctx, {}) == "listed"
    main = threading.main_thread().name
    assert [name == main for name in threads] == [at_once, False], "what takes longer goes on in a thread"


class Held:
    """Slow actions of several callers, each of which works until it is let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.let_go = threading.Event()

    def verb(self, caller: str) -> Verb:
        def work(ctx: Any) -> str:
            self.begun.append(caller)
            assert self.let_go.wait(BOUND_S)
            self.ended.append(caller)
            return caller

        return Verb("work", "", work, slow=always)

    async def call(self, caller: str) -> str:
        ctx: Any = SimpleNamespace(owner=caller, config=NO_HOSTS)
        found: str = await async_driver.run(self.verb(caller), ctx, {})
        return found


def held(what: Callable[[Held, Any], Any]) -> Held:
    """Run `what(actions, group)` in a group of tasks that has an end, and let all actions go after it."""
    found = Held()

    async def everything() -> None:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                try:
                    await what(found, group)
                finally:
                    found.let_go.set()

    anyio.run(everything)
    return found


def test_one_caller_s_slow_calls_leave_threads_to_another() -> None:
    async def calls(actions: Held, group: Any) -> None:
        for _ in range(8):
            group.start_soon(actions.call, "greedy")
        await until_async(lambda: len(actions.begun) == 2, what="the share of the first")
        group.start_soon(actions.call, "other")
        await until_async(lambda: "other" in actions.begun, what="the turn of the second")
        assert actions.begun.count("greedy") == 2

    found = held(calls)
    assert sorted(found.ended) == ["greedy"] * 8 + ["other"], "and all of them end"


def test_a_cancelled_call_ends_at_once_and_its_thread_counts_until_it_has_ended() -> None:
    async def calls(actions: Held, group: Any) -> None:
        async with anyio.create_task_group() as gone:
            for _ in range(6):
                gone.start_soon(actions.call, "gone")
            await until_async(lambda: len(actions.begun) == 2, what="two at work")
            gone.cancel_scope.cancel()
        assert not actions.ended
        group.start_soon(actions.call, "gone")
        group.start_soon(actions.call, "other")
        await until_async(lambda: "other" in actions.begun, what="another caller's turn")
        assert actions.begun.count("gone") == 2

    found = held(calls)
    until(lambda: len(found.ended) == 4, what="the end of what no call waits for any more")
    assert sorted(found.ended) == ["gone"] * 3 + ["other"], "those that had not begun never do"


def test_work_in_turns_is_closed_when_its_call_is_cancelled() -> None:
    ended = threading.Event()
    steps = 0

    def endless(ctx: Any) -> Generator[None, None, None]:
        nonlocal steps
        try:
            while True:
                steps += 1
                yield None
        finally:
            ended.set()

    async def cancelled() -> None:
        ctx: Any = SimpleNamespace(owner="a client", config=NO_HOSTS)
        async with anyio.create_task_group() as group:
            group.start_soon(async_driver.run, Verb("endless", "", endless, slow=always), ctx, {})
            await until_async(lambda: steps > 1_000, what="work")
            group.cancel_scope.cancel()
        await until_async(ended.is_set, what="the end of the work")

    anyio.run(cancelled)


def test_an_action_that_yields_none_goes_on_in_a_thread_until_it_waits() -> None:
    threads: list[bool] = []

    def note() -> None:
        threads.append(threading.current_thread() is threading.main_thread())

    def action() -> Generator[Pause | None, None, str]:
        note()
        yield None
        note()
        yield Pause((), time.monotonic())
        note()
        return "result"

    assert anyio.run(async_driver.drive, action()) == "result"
    assert threads == [True, False, True]


@pytest.mark.parametrize("there", [True, False])
def test_a_call_about_a_job_on_another_host_runs_apart_from_the_event_loop(
    there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "open_job", lambda _ctx, _name: contextlib.nullcontext())
    monkeypatch.setattr(engine_record, "read", lambda _job: {"kind": "slurm"} if there else None)
    threads: list[bool] = []

    def look(ctx: Any, *, job: str) -> str:
        threads.append(threading.current_thread() is threading.main_thread())
        return job

    async def call() -> str:
        ctx: Any = SimpleNamespace(owner="a client", config=SimpleNamespace(hosts=lambda: {"cluster": {}}))
        found: str = await async_driver.run(Verb("status", "", look), ctx, {"job": "it"})
        return found

    assert anyio.run(call) == "it"
    assert threads == [not there]


def test_an_action_that_stays_apart_waits_and_goes_on_there() -> None:
    threads: list[bool] = []

    def steps() -> Generator[Pause | None, None, None]:
        for pause in (Pause((), -1), None, Pause((), -1)):
            threads.append(threading.current_thread() is threading.main_thread())
            yield pause
        threads.append(threading.current_thread() is threading.main_thread())

    anyio.run(partial(async_driver.drive, steps(), stays=True))
    assert threads == [True, True, False, False]
