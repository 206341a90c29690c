"""A supervisor syncs a job that has ended when its clients have hung up: a sync of the directory
keeps the lookups of an answer waiting."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from outlive.answers.starting import Started
from outlive.core.records import Definition, State
from outlive.jobs import adoption, control_client
from outlive.jobs.starting import answer as start_answer
from outlive.jobs.starting import making
from outlive.jobs.starting.plan import Timing
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from outlive.store.inspection.inspection import Inspection
from outlive.supervisor import control_server, fork_protocol, supervisor
from outlive.supervisor.control_server import ControlServer
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.starting import start
from outlive.system import fds, waiting
from support.calls import ask

CALLER = Caller("tests", "tests", "tests")


def test_the_last_client_that_hangs_up_is_told_of() -> None:
    loop, calls = EventLoop(), []

    def quiet() -> None:
        calls.append("quiet")
        loop.stop()

    clients = [fds.pair() for _ in range(2)]
    listener, other = fds.pair()
    server = ControlServer(loop, listener, lambda *_: None, lambda error: pytest.fail(str(error)), quiet)
    try:
        for here, there in clients:
            server.add(there)
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
    made = Started.__new__(Started)

    def answer(*_: Any, **__: Any) -> Started:
        seen.append(_is_connected(there))
        return made

    job: Any = SimpleNamespace(job_id="job")
    ended = Inspection(Definition(host="there"), State(phase="finished"))
    monkeypatch.setattr(adoption, "inspect_and_adopt", lambda *_: ended)
    monkeypatch.setattr(start_answer, "made", answer)
    try:
        found = StartCall(Timing(yield_ms=0)).answer(job, job, here)
        assert (found is made, seen, _is_connected(there)) == (True, [True], False)
    finally:
        there.close()


def test_a_caller_with_a_condition_or_without_time_does_not_wait_for_the_end() -> None:
    rows: list[tuple[dict[str, Any], bool]] = [
        ({"yield_ms": 0}, False),
        ({"yield_ms": 10_000}, True),
        ({"yield_ms": 10_000, "background": True}, True),
        ({"yield_ms": 0, "wait": True}, True),
        ({"yield_ms": 10_000, "until": ["exit"]}, False),
    ]
    for args, waits in rows:
        assert StartCall(Timing(**args)).waits_for_end is waits


def test_a_caller_that_waits_for_no_end_has_the_cores_until_it_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ended_by = []
    monkeypatch.setattr(start, "_ANSWER_S", 60)
    monkeypatch.setattr(start, "ready", lambda *args: ended_by.append(fork_protocol.ready(*args)))
    here, there = fds.pair()
    try:
        here.shutdown(socket.SHUT_WR)
        assert start._tell_started(there)
        assert ended_by == [[there.fileno()]]
    finally:
        here.close()
        there.close()


def test_a_supervisor_goes_on_though_its_caller_does_not_hang_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_ANSWER_S", 0.001)
    here, there = fds.pair()
    try:
        assert start._tell_started(there)
        assert fds.receive(here, 64)[0] == control_server.STATE
    finally:
        here.close()
        there.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the calls of this process have waited for."""
    found: list[object] = []
    before = waiting.pause

    def noted(*given: Any) -> None:
        found.append(given)
        before(*given)

    for module in (making, control_client):
        monkeypatch.setattr(module, "pause", noted)
    return found


def test_an_end_that_comes_at_once_is_told_together_with_the_start(
    monkeypatch: pytest.MonkeyPatch, calls: Calls, pauses: list[object]
) -> None:
    monkeypatch.setattr(supervisor, "_STARTED_S", 60)
    assert ask(calls, CALLER, "exec", command="true")["state"] == "exited"
    assert len(pauses) <= 1, "none if the supervisor was faster than the first look"


def test_a_caller_that_waits_for_the_end_is_told_that_the_command_runs(
    monkeypatch: pytest.MonkeyPatch, calls: Calls
) -> None:
    monkeypatch.setattr(supervisor, "_STARTED_S", 0.001)
    answer = ask(calls, CALLER, "exec", command="sleep 60", yield_ms=1)
    assert answer["state"] == "running"
    assert ask(calls, CALLER, "process", action="kill", job_id=answer["job_id"], grace_ms=0)["state"] == "killed"


@pytest.mark.parametrize("given", [{"yield_ms": 0}, {"until": [{"regex": "never"}], "yield_ms": 1}])
def test_a_caller_that_waits_for_no_end_is_told_of_the_start_at_once(
    monkeypatch: pytest.MonkeyPatch, calls: Calls, given: dict[str, Any]
) -> None:
    monkeypatch.setattr(supervisor, "_STARTED_S", 60)
    answer = ask(calls, CALLER, "exec", command="sleep 60", **given)
    assert answer["state"] == "running"
    assert ask(calls, CALLER, "process", action="kill", job_id=answer["job_id"], grace_ms=0)["state"] == "killed"


def test_a_command_that_cannot_run_is_told_at_once(monkeypatch: pytest.MonkeyPatch, calls: Calls) -> None:
    monkeypatch.setattr(supervisor, "_STARTED_S", 60)
    answer = ask(calls, CALLER, "exec", command=["/no/such/command"])
    assert (answer["state"], answer["reason"]) == ("failed", "launch")


def _is_connected(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return bool(sock.recv(1))
    except BlockingIOError:
        return True
