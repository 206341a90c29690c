"""Requests of readers, passed on to the supervisor on the other machine, and their answers."""

from __future__ import annotations

from outlive.parts.hosts.ssh.connecting import wire, words
from outlive.parts.hosts.ssh.connecting.reconnecting import Link
from outlive.supervisor.control_requests import ControlRequest, GetUsage
from outlive.supervisor.control_server import Connection
from outlive.supervisor.event_loop import EventLoop

Request = tuple[Connection, ControlRequest, bytes]

_HELD_S = 3.0  # after this a held request is refused, before its reader gives up (control_client.py)
_HINT = "Check with poll what became of it before you repeat it."


class Relay:
    """The requests that are under way over a link to the host `name`, and those that wait for it."""

    def __init__(self, loop: EventLoop, link: Link, name: str) -> None:
        self._patience = loop.timer(self._refuse_held)
        self._link = link
        self._name = name
        self._is_open = False  # the other machine has opened the job, and takes requests
        self._why = ""
        self._count = 0
        self._asked: dict[int, tuple[Connection, str]] = {}
        self._held: list[Request] = []

    def take(self, connection: Connection, request: ControlRequest, data: bytes) -> None:
        """Pass a request on. If the machine cannot be reached, the reader is told so, and nothing
        was done."""
        if self._is_open:
            self._pass_on(connection, request, data)
            return
        if self._why and request.op == GetUsage.op:  # a look is no reason to try sooner
            _refuse(connection, f"host {self._name!r} cannot be reached: {self._why}", "Try again later.")
            return
        self._held.append((connection, request, data))
        self._patience.after(_HELD_S)
        self._link.connect()

    def _pass_on(self, connection: Connection, request: ControlRequest, data: bytes) -> None:
        self._count += 1
        self._asked[self._count] = connection, request.op
        for at in range(0, len(data), wire.CHUNK):
            self._link.send(wire.message(wire.DATA, 0, data[at : at + wire.CHUNK]))
        self._link.send(words.Ask(id=self._count, request=request.to_dict()).packed())

    def answered(self, number: int, content: dict[str, object] | None) -> None:
        """Give the answer to the reader. None: no supervisor was there to answer."""
        connection, op = self._asked.pop(number, (None, ""))
        if connection is None:
            return
        if content is not None:
            connection.answer(**content)
            return
        _refuse(connection, f"the job's supervisor on host {self._name!r} did not answer the {op}", _HINT)

    def opened(self) -> None:
        """Pass on what waited for the connection."""
        self._is_open = True
        self._patience.cancel()
        held, self._held = self._held, []
        for request in held:
            self._pass_on(*request)

    def broken(self, why: str) -> None:
        """Tell every reader that waits that its answer will not come."""
        self._is_open, self._why = False, why
        asked, self._asked = self._asked, {}
        for connection, op in asked.values():
            message = f"the connection to host {self._name!r} broke during the {op} ({why}); it may have been done"
            _refuse(connection, message, _HINT)
        self._refuse_held()

    def _refuse_held(self) -> None:
        self._patience.cancel()
        held, self._held = self._held, []
        why = self._why or f"no connection within {_HELD_S:.0f} s"
        for connection, _, _ in held:
            _refuse(connection, f"host {self._name!r} cannot be reached: {why}", "Nothing was done; try again.")


def _refuse(connection: Connection, message: str, hint: str) -> None:
    connection.answer(ok=False, code="io_error", message=message, retryable=True, hint=hint)
