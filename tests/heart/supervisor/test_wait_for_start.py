"""A supervisor that waits with the start of its job: what a full disk, and a kill at that very moment, may cost."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from outlive.core.records import Definition, State
from outlive.store.job_dir import JobDir
from outlive.supervisor.added import Added, AllAdded, Waiting
from outlive.supervisor.control_requests import Kill
from outlive.supervisor.control_server import Connection
from outlive.supervisor.request import Request
from outlive.supervisor.starting.waiting import WaitForStart, begun


class Disk:
    """The directory of a job, as far as a wait has to do with it."""

    def __init__(self) -> None:
        self.written: list[State] = []
        self.is_full = False

    def read_state(self) -> State | None:
        return self.written[-1] if self.written else None

    def write_state(self, state: State) -> State:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.written.append(state)
        return state


class Steps(Added):
    """Waits until `step` was called in the loop."""

    def __init__(self, step: Callable[[Waiting], None]) -> None:
        super().__init__(Definition())
        self._step = step

    def wait(self, waiting: Waiting) -> bool:
        waiting.loop.timer(self._step, waiting).after(0)
        return True


@pytest.fixture
def listener(tmp_path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.bind(str(tmp_path / "control"))
    sock.listen()
    sock.setblocking(False)
    return sock


def waits(disk: Disk, step: Callable[[Waiting], None]) -> WaitForStart | None:
    added = AllAdded([Steps(step)])
    return begun(cast("JobDir", disk), Request(), State(), added)


def test_what_the_disk_does_not_take_while_a_job_waits_is_kept_in_memory(listener: socket.socket) -> None:
    disk = Disk()

    def step(waiting: Waiting) -> None:
        disk.is_full = True
        waiting.note("seen", [1])
        waiting.go()

    wait = waits(disk, step)
    assert wait is not None and disk.written[-1].waits
    with listener:
        state = wait.run(State(), listener, None)
    assert (state.finished, state.kept) == (False, {"seen": [1]})


def test_a_job_whose_wait_cannot_be_written_down_is_not_begun() -> None:
    disk = Disk()
    disk.is_full = True
    with pytest.raises(OSError, match="No space"):
        waits(disk, lambda _waiting: None)


def test_the_end_is_on_disk_before_a_caller_who_asked_for_it_is_answered(listener: socket.socket) -> None:
    disk = Disk()
    answered: list[bool] = []

    class Caller:
        def answer(self, **content: Any) -> None:
            answered.append(content["ok"] and disk.written[-1].finished)

    def step(_waiting: Waiting) -> None:
        assert wait is not None
        wait._serve(cast("Connection", Caller()), Kill(signal=signal.SIGTERM, by="agent"), [])

    wait = waits(disk, step)
    assert wait is not None
    with listener:
        state = wait.run(State(), listener, None)
    assert answered == [True]
    assert (state.state, state.reason, disk.written[-1]) == ("failed", "kill", state)
