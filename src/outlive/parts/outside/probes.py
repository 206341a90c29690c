"""The probes of a file, of a port of one of the job's processes, and of a web server."""

from __future__ import annotations

import os
import threading
import time
from abc import abstractmethod
from typing import Any
from urllib.parse import urlsplit

from outlive import parts
from outlive.core.units import seconds_or
from outlive.errors import invalid
from outlive.jobs import processes
from outlive.jobs.conditions.condition import Fired, Probe, held_by
from outlive.jobs.conditions.kind import Asked
from outlive.parts import port_owner, tcp
from outlive.parts.outside.http_answer import HTTP_S, HttpAnswer
from outlive.parts.port_owner import Owner
from outlive.store.inspection.inspection import Inspection
from outlive.system.fds import Closing
from outlive.system.waiting import Looks

_CLOCK_TICK_S = 0.01  # file times are cut to a tick of the kernel's clock: 4 ms at 250 Hz, 10 ms at 100 Hz


class File(Probe):
    """Fires when the file exists and was made or changed after the job's start; an older file, when
    it changes."""

    def __init__(self, asked: Asked) -> None:
        definition = asked.inspection.definition
        self._reach = asked.reach
        self._path = os.path.normpath(os.path.join(definition.cwd or "/", asked.condition.value))
        started = asked.inspection.state.started_at or definition.created_at
        self._started = seconds_or(started, time.time())
        self._first: tuple[int, ...] | None = None
        self._looks = Looks()

    def check(self, inspection: Inspection) -> Fired:
        now = self._mark()
        if now is not None and (self._first is None or now != self._first):
            # A time stamp is up to a tick of the kernel's clock old (4 ms): it may lie before the
            # start it follows
            if self._first is not None or max(now[2], now[3]) / 1e9 >= self._started - _CLOCK_TICK_S:
                return {"condition": "file", "path": self._path}
            self._first = now
        self.last = f"{self._path} has not changed" if now else f"there is no {self._path}"
        if now is None:
            self._first = (0,)  # it is gone: whatever comes now is new
        self.again = self._looks.next()
        return None

    def _mark(self) -> tuple[int, ...] | None:
        try:
            fd = os.open(self._path, os.O_PATH | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        with Closing(fd):  # what is open is looked at: a job may make its name a link at any time
            if self._reach is not None and not self._reach.sees(os.readlink(f"/proc/self/fd/{fd}")):
                return None
            status = os.fstat(fd)
        return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class _Asked(Probe):
    """Asks at growing intervals, in a thread of its own, so that a slow answer does not hold up other
    waits in the same loop."""

    def __init__(self) -> None:
        self._looks = Looks()
        self._read = -1  # at its end when the question that is under way has its answer
        self._asked = False
        self._answers: list[object] = []

    @property
    def _asking(self) -> bool:
        return self._read >= 0

    def _ask(self) -> Any:
        """Return the answer, once; None while there is none.

        One question is under way at a time.
        """
        if self._answers:
            self.close()
            self.fds, self.undecided = (), False
            self.again = self._looks.next()
            return self._answers.pop()
        if not self._asking and (self.again is None or time.monotonic() >= self.again):
            self._read, done = os.pipe()
            self.again, self.fds = None, (self._read,)
            self.undecided = not self._asked
            self._asked = True
            threading.Thread(target=self._answer, args=(done,), daemon=True).start()
        return None

    def _answer(self, done: int) -> None:
        with Closing(done):
            self._answers.append(self._question())

    @abstractmethod
    def _question(self) -> object:
        """Run in the thread, and return what `_ask` returns. Must not raise."""

    def close(self) -> None:
        if self._read >= 0:
            os.close(self._read)
            self._read = -1


class _OnPort(_Asked):
    """A condition about a port. It holds for a listener of the job; with `any` for anybody's."""

    def __init__(self, asked: Asked, port: int) -> None:
        super().__init__()
        self._anybody = bool(asked.condition.more["any"])
        self._port = port
        self._wait = asked
        self._owner = port_owner.PortOwner(asked.ctx, asked.job, port)

    def _owner_at(self, inspection: Inspection, host: str | None) -> Owner | None:
        """Return whose the listener is that answers connections to a host of this machine; None if
        no process listens. Errors: OSError where the kernel does not say."""
        listening = [one for one in tcp.listeners(self._port) if one.serves(host)]
        if not listening:
            self._owner.not_listening()
            self.held = self.taken = None
            return None
        return self._owner.of(inspection, listening)

    def _owner_of_peer(self, inspection: Inspection, address: str | None) -> Owner:
        """Return whose the server is that answered at this address."""
        if not tcp.is_local(address):  # no process of this machine has it
            return Owner(owned=None, why=port_owner.ELSEWHERE) if inspection.elsewhere else Owner(owned=False)
        try:
            owner = self._owner_at(inspection, address)
        except OSError as error:
            return Owner(owned=None, why=f"the kernel does not say who listens ({error.strerror})")
        return owner or Owner(owned=None, why="it answers, and no process of this machine listens")

    def _is_taken(self, owner: Owner) -> bool:
        """Return whether another program has the port, and note that."""
        self.note = f"Whose port {self._port} is, is not known: {owner.why}." if owner.why else None
        self.held, self.taken = self._owner.held, owner.holder
        if owner.holder is None:
            return False
        self.last = held_by(owner.holder).removesuffix(".")
        return True

    def _is_early(self, inspection: Inspection) -> bool:
        """Return whether the job has not started, so that no listener is its own."""
        if self._anybody or inspection.state.state != "created":
            return False
        self.last = "the job has not started"
        self.again = self._looks.next()
        return True


class Port(_OnPort):
    """Fires when a process of the job listens on the port, which has a number, or a name that a part gave it."""

    def __init__(self, asked: Asked) -> None:
        value = asked.condition.value
        self._name = value if isinstance(value, str) else None
        super().__init__(asked, 0 if self._name else value)
        self._host = asked.condition.more["host"]
        self._here = tcp.is_local(self._host)

    def check(self, inspection: Inspection) -> Fired:
        if self._is_early(inspection) or not self._has_number(inspection):
            return None
        facts: dict[str, object] = {"condition": "port", "port": self._port, "host": self._host}
        if port_owner.has_own_network(inspection):
            return self._check_inside(inspection, facts)
        if not self._here:
            return self._check_there(inspection, facts)
        try:
            owner = self._owner_at(inspection, self._host)
        except OSError:  # the kernel does not tell: connect instead
            self._here = False
            return self._check_there(inspection, facts)
        if owner is None:
            self.last = f"no process listens on port {self._port} of this machine"
        fired = None if owner is None else self._fired(facts, owner)
        if fired is None:
            self.again = self._looks.next()
        return fired

    def _has_number(self, inspection: Inspection) -> bool:
        if self._name is None:
            return True
        port = parts.ports_of(inspection.definition, inspection.state).get(self._name)
        if port is None:
            self.last = f"the job has no port {self._name} yet"
            self.again = self._looks.next()
            return False
        self._name, self._port = None, port
        self._owner = port_owner.PortOwner(self._wait.ctx, self._wait.job, port)
        return True

    def _fired(self, facts: dict[str, object], owner: Owner) -> Fired:
        if not self._anybody and self._is_taken(owner):
            return None
        return facts | owner.members()

    def _check_there(self, inspection: Inspection, facts: dict[str, object]) -> Fired:
        """Connect, for a host that is not known to be this machine."""
        reached = self._ask()
        if reached is None:
            return None
        if reached.refusal is not None:
            self.last = f"{self._host}:{self._port}: {reached.refusal}"
            return None
        owner = self._owner_of_peer(inspection, reached.address)
        return self._fired(facts, owner)

    def _check_inside(self, inspection: Inspection, facts: dict[str, object]) -> Fired:
        members = [member.pid for member in processes.survivors(inspection, self._wait.job)]
        for pid in members[:1]:  # all of a sandbox are in one network
            try:
                listening = [one for one in tcp.listeners(self._port, f"/proc/{pid}/net") if one.serves(self._host)]
            except OSError:  # it has just ended
                break
            if listening:
                owner = tcp.owner(listening[0].inode, members)
                return facts | {"address": listening[0].address, "owned": True, "pid": owner}
        self.last = f"no process listens on port {self._port} of the job's own network"
        self.again = self._looks.next()
        return None

    def _question(self) -> tcp.Reached:
        return tcp.reached(self._host or "localhost", self._port, HTTP_S)


class Http(_OnPort):
    """Fires when a server of the job answers a GET with the status asked for; without one, with any
    from 200 to 399."""

    def __init__(self, asked: Asked) -> None:
        """Errors: invalid_argument for a job whose servers can be asked from inside alone."""
        if port_owner.has_own_network(asked.inspection):
            raise invalid(
                "until",
                "http asks from outside, and this job has a network of its own",
                hint="Wait for its port, or for a line of its output.",
            )
        self._url = asked.condition.value
        url = urlsplit(self._url)
        super().__init__(asked, url.port or (443 if url.scheme == "https" else 80))
        self._host = url.hostname or ""
        self._wanted = asked.condition.more["status"]
        self._looks_first = not self._anybody and tcp.is_local(self._host)

    def check(self, inspection: Inspection) -> Fired:
        if self._is_early(inspection):
            return None
        if self._looks_first and not self._asking and self._is_another_program(inspection):
            self.again = self._looks.next()
            return None
        answer = self._ask()
        if answer is None:
            return None
        self.last = answer.sentence
        if answer.status is None or not answer.fits:
            if answer.status is not None and 400 <= answer.status < 500 and not self._wanted:
                self.last += f'; "status": {answer.status} in the condition takes that answer'
            return None
        facts: dict[str, object] = {"condition": "http", "url": self._url, "status": answer.status}
        if self._anybody:
            return facts
        owner = self._owner_of_peer(inspection, answer.address)
        return None if self._is_taken(owner) else facts | owner.members()

    def _is_another_program(self, inspection: Inspection) -> bool:
        """Return whether the server cannot be the job's, before it is asked: it may never answer."""
        try:
            owner = self._owner_at(inspection, self._host)
        except OSError:
            return False
        return owner is not None and self._is_taken(owner)

    def _question(self) -> HttpAnswer:
        from outlive.parts.outside import http_get  # late: 40 ms, h11's

        return http_get.status_of(self._url, self._wanted)
