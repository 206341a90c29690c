"""The control socket of a supervisor."""

from __future__ import annotations

import errno
import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from outlive.supervisor import control_server
from outlive.supervisor.event_loop import EventLoop
from outlive.system import fds


def test_a_caller_that_came_while_no_file_could_be_opened_is_heard_a_little_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept, failures = fds.accept, [errno.EMFILE, errno.ENFILE]

    def try_accept(listener: socket.socket) -> socket.socket:
        if failures:
            raise OSError(failures.pop(0), "no file can be opened")
        return accept(listener)

    monkeypatch.setattr(fds, "accept", try_accept)
    monkeypatch.setattr(control_server, "_ACCEPT_AGAIN_S", 0.0)
    loop = EventLoop()
    faults: list[Exception] = []
    with closing(fds.new_socket()) as listener, closing(fds.new_socket()) as caller:
        listener.bind(str(tmp_path / "control"))
        listener.listen()
        server = control_server.ControlServer(loop, listener, lambda *_: None, faults.append, on_quiet=loop.stop)
        caller.connect(str(tmp_path / "control"))
        caller.send(b'{"op": "ping"}')
        caller.shutdown(socket.SHUT_WR)
        loop.run()
        assert json.loads(caller.recv(1_000))["ok"]
        server.close()
    loop.close()
    assert (failures, faults) == ([], [])


def test_an_answer_of_another_machine_may_have_any_members() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    members: dict[str, Any] = {"ok": True, "self": "x"}
    with here, there:
        control_server.Connection(here).answer(**members)
        assert json.loads(there.recv(1_000)) == members


def test_files_that_come_without_a_request_are_closed(tmp_path: Path) -> None:
    loop = EventLoop()
    with closing(fds.new_socket()) as listener, closing(fds.new_socket()) as caller:
        listener.bind(str(tmp_path / "control"))
        listener.listen()
        server = control_server.ControlServer(loop, listener, lambda *_: None, lambda _: None, on_quiet=loop.stop)
        caller.connect(str(tmp_path / "control"))
        before = fds.open_fds()
        fds.send(caller, b"", (0, 1))
        loop.run()
        assert fds.open_fds() == before
        server.close()
    loop.close()
