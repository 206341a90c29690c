"""A supervisor syncs a job that has ended when its clients have hung up: a sync of the directory
keeps the lookups of an answer waiting."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from outlive.core.records import State
from outlive.jobs import adoption, run_answer
from outlive.jobs.run_answer import Reply
from outlive.jobs.waiting import drive
from outlive.store.inspect import Inspection
from outlive.supervisor import control_server, fork_protocol, start
from outlive.supervisor.control_server import ControlServer
from outlive.supervisor.event_loop import EventLoop
from outlive.system import fds


def test_the_last_client_that_hangs_up_is_told_of() -> None:
    loop, calls = EventLoop(), []

    def quiet() -> None:
        calls.append("quiet")
        loop.stop()

    clients = [fds.pair() for _ in range(2)]
    listener, other = fds.pair()
    server = ControlServer(loop, listener, lambda *_: None, pytest.fail, quiet)
    try:
        for here, there in clients:
            server.add(there, wants_output=False)
            here.close()
        loop.run()
        assert (calls, server.is_heard) == (["quiet"], False)
    finally:
        server.close()
        other.close()
        loop.close()


def test_a_start_stays_connected_until_its_answer_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = fds.pair()
    seen = []

    def answer(*_: Any, **__: Any) -> Iterator[None]:
        seen.append(_is_connected(there))
        yield from ()
        return {"state": "exited"}

    ended: Any = Inspection(None, State(phase="finished"), elsewhere=True)  # type: ignore[arg-type]
    monkeypatch.setattr(adoption, "inspect_and_adopt", lambda *_: ended)
    monkeypatch.setattr(run_answer, "run_answer", answer)
    try:
        job: Any = None
        found = drive(run_answer.wait_and_answer(job, job, here, Reply(yield_ms=0), told=True))
        assert (found, seen, _is_connected(there)) == ({"state": "exited"}, [True], False)
    finally:
        there.close()


@pytest.mark.parametrize(
    ("args", "is_due"),
    [
        ({"yield_ms": 0}, True),
        ({"yield_ms": 10_000}, False),
        ({"yield_ms": 10_000, "background": True}, False),
        ({"yield_ms": 0, "wait": True}, False),
        ({"yield_ms": 0, "until": ["exit"]}, False),
    ],
)
def test_only_a_caller_that_waits_for_nothing_is_hurried(args: dict[str, Any], is_due: bool) -> None:
    assert Reply(**args).is_due is is_due


def test_a_caller_in_a_hurry_has_the_cores_until_it_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ended_by = []
    monkeypatch.setattr(start, "_ANSWER_S", 60)
    monkeypatch.setattr(start, "ready", lambda *args: ended_by.append(fork_protocol.ready(*args)))
    here, there = fds.pair()
    try:
        here.shutdown(socket.SHUT_WR)
        assert start._tell_started(there, hurried=True)
        assert ended_by == [[there.fileno()]]
    finally:
        here.close()
        there.close()


@pytest.mark.parametrize("hurried", [True, False])
def test_a_supervisor_goes_on_though_its_caller_does_not_hang_up(
    monkeypatch: pytest.MonkeyPatch, hurried: bool
) -> None:
    monkeypatch.setattr(start, "_ANSWER_S", 0.001)
    if not hurried:
        monkeypatch.setattr(start, "ready", lambda *_: pytest.fail("it waits for a caller that waits for the end"))
    here, there = fds.pair()
    try:
        assert start._tell_started(there, hurried=hurried)
        assert fds.receive(here, 64)[0] == control_server.STATE
    finally:
        here.close()
        there.close()


def _is_connected(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return bool(sock.recv(1))
    except BlockingIOError:
        return True
