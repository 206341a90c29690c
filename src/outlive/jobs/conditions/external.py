"""Conditions outside the job's own files: a file, a port, a web server."""

from __future__ import annotations

import os
import threading
import time
from abc import abstractmethod

from outlive import limits
from outlive.core.units import seconds_of
from outlive.errors import invalid
from outlive.jobs import processes
from outlive.jobs.conditions.condition import Probe
from outlive.system import inotify, ports

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any
    from urllib.parse import SplitResult

    from outlive.jobs.conditions.condition import Fired
    from outlive.jobs.conditions.parse import Condition
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

_PROBE_S = (0.02, 0.25)  # how often ports are probed, and files where the kernel does not tell of changes
_FILE_CHECK_S = 2.0  # beside inotify(7), which says nothing of network file systems
_CLOCK_TICK_S = 0.01  # file times are cut to a tick of the kernel's clock: 4 ms at 250 Hz, 10 ms at 100 Hz


_PRINTABLE = "".join(map(chr, range(33, 127)))  # what a caller encoded stays as it is


class _Polled(Probe):
    """A condition outside the job without a notification from the kernel: checked at growing
    intervals."""

    def __init__(self) -> None:
        self._wait_s = _PROBE_S[0]

    def _later(self) -> None:
        self.again = time.monotonic() + self._wait_s
        self._wait_s = min(self._wait_s * 1.5, _PROBE_S[1])


class File(_Polled):
    """Fires when the file exists and was made or changed after the job's start; an older file, when
    it changes."""

    def __init__(self, condition: Condition, found: Inspection) -> None:
        super().__init__()
        self._path = os.path.normpath(os.path.join(found.definition.cwd or "/", condition.value))
        started = found.state.started_at or found.definition.created_at
        self._started = seconds_of(started) if started else time.time()
        self._first: tuple[int, ...] | None = None
        self._watch = self._make_watch()

    def _make_watch(self) -> inotify.Watch | None:
        try:
            watch = inotify.Watch(self._path)
        except OSError:  # no inotify, or no more watches for this user: the clock has to do
            return None
        self.fds = (watch.fileno(),)
        return watch

    def check(self, found: Inspection) -> Fired:
        self._drain()
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
        self._later()
        if self._watch is not None:  # inotify does not see what other machines change on a network file system
            self.again = time.monotonic() + _FILE_CHECK_S
        return None

    def _drain(self) -> None:
        if self._watch is None:
            return
        try:
            self._watch.drain()
        except OSError:  # a directory on the path may no longer be read
            self.close()
            self.fds = ()

    def _mark(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except (OSError, ValueError):
            return None
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None


class _Asked(_Polled):
    """Asks in a thread of its own, so that a slow answer does not hold up other waits in the same
    loop."""

    def __init__(self) -> None:
        super().__init__()
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._asking = self._asked = False
        self._answers: list[Any] = []

    def _ask(self) -> Any:
        """Return the answer, once; None while there is none.

        One question is under way at a time.
        """
        if self._answers:
            os.read(self._read, 64)
            self._asking, self.fds = False, ()
            self.undecided = False
            self._later()
            return self._answers.pop()
        if not self._asking and (self.again is None or time.monotonic() >= self.again):
            self._asking, self.again, self.fds = True, None, (self._read,)
            self.undecided = not self._asked
            self._asked = True
            threading.Thread(target=self._answer, args=(os.dup(self._write),), daemon=True).start()
        return None

    def _answer(self, done: int) -> None:
        self._answers.append(self._question())
        try:
            os.write(done, b".")
        except OSError:  # the wait has ended
            return
        finally:
            os.close(done)

    @abstractmethod
    def _question(self) -> Any:
        """Run in the thread, and return what `_ask` returns. Must not raise."""

    def close(self) -> None:
        if self._read >= 0:
            os.close(self._read)
            os.close(self._write)
            self._read = self._write = -1


class Port(_Asked):
    """Fires when a process listens on the port; tells whether it is a process of the job."""

    def __init__(self, condition: Condition, job: JobDir) -> None:
        super().__init__()
        self._port = condition.value
        self._host = condition.more["host"]
        self._job = job
        self._here = ports.is_local(self._host)

    def check(self, found: Inspection) -> Fired:
        told: dict[str, Any] = {"condition": "port", "port": self._port, "host": self._host}
        if has_own_network(found):
            return self._check_inside(found, told)
        if not self._here:
            answer = self._ask()
            if answer is None:
                return None
            self.last = answer and f"{self._host}:{self._port}: {answer}"
            return None if answer else told | {"owned": False, "pid": None}
        listening = self._listeners()
        if not listening:
            self.last = f"no process listens on port {self._port} of this machine"
            self._later()
            return None
        pids = [member.pid for member in processes.survivors(found, self._job)]
        for one in listening:
            pid = ports.owner(one.inode, pids)
            if pid is not None:
                return told | {"address": one.address, "owned": True, "pid": pid}
        return told | {"address": listening[0].address, "owned": False, "pid": None}

    def _check_inside(self, found: Inspection, told: dict[str, Any]) -> Fired:
        pids = [member.pid for member in processes.survivors(found, self._job)]
        for pid in pids[:1]:  # all of a sandbox are in one network
            try:
                listening = [one for one in ports.listeners_of(pid, self._port) if one.serves(self._host)]
            except OSError:  # it has just ended
                break
            if listening:
                owner = ports.owner(listening[0].inode, pids)
                return told | {"address": listening[0].address, "owned": True, "pid": owner}
        self.last = f"no process listens on port {self._port} of the job's own network"
        self._later()
        return None

    def _listeners(self) -> list[ports.Listener]:
        try:
            found = ports.listeners(self._port)
        except OSError:  # the kernel does not tell: connect instead
            self._here = False
            return []
        return [one for one in found if one.serves(self._host)]

    def _question(self) -> str:
        return ports.refusal(self._host or "localhost", self._port, limits.HTTP_S) or ""


def has_own_network(found: Inspection) -> bool:
    """Return whether the job's sandbox has a network of its own."""
    sandbox = found.definition.sandbox
    return sandbox is not None and sandbox["network"] != "open"


def require_reach(found: Inspection) -> None:
    """Errors: invalid_argument for a job whose servers can be asked from inside alone."""
    if has_own_network(found):
        raise invalid(
            "until",
            "http asks from outside, and this job has a network of its own",
            hint="Wait for its port, or for a line of its output.",
        )


class Http(_Asked):
    """Fires when a GET is answered with the status asked for; without one, with any from 200 to
    399."""

    def __init__(self, condition: Condition) -> None:
        super().__init__()
        self._url = condition.value
        self._wanted = condition.more["status"]

    def check(self, found: Inspection) -> Fired:
        answer = self._ask()
        if answer is None:
            return None
        status, self.last = answer
        if status is not None and (status == self._wanted if self._wanted else 200 <= status < 400):
            return {"condition": "http", "url": self._url, "status": status}
        return None

    def _question(self) -> tuple[int | None, str]:
        return _status_of(self._url)


def _status_of(url: str) -> tuple[int | None, str]:
    """Return the status of one GET, and a sentence about it.

    No redirect is followed, no proxy used and no certificate checked, because only the status
    counts.
    """
    import h11  # http.client has a time-out for each byte only: a server that drips would keep the thread for ever

    try:
        status = _get(url, time.monotonic() + limits.HTTP_S)
    except (OSError, h11.ProtocolError, ValueError) as error:
        return None, f"{url}: {error or type(error).__name__}"
    return status, f"{url} answered with status {status}"


def _get(url: str, until: float) -> int:
    """Return the status of the first final answer (not 1xx).

    Errors: OSError, h11.ProtocolError, ValueError.
    """
    from urllib.parse import quote, urlsplit

    import h11

    parts = urlsplit(url)
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_PRINTABLE)
    host = parts.netloc.rpartition("@")[2]
    host = host if host.isascii() else host.encode("idna").decode("ascii")
    headers = [("Host", host), ("User-Agent", "outlive"), ("Accept", "*/*"), ("Connection", "close")]
    talk = h11.Connection(our_role=h11.CLIENT)
    question = talk.send(h11.Request(method="GET", target=target, headers=headers)) or b""
    question += talk.send(h11.EndOfMessage()) or b""
    with _connected(parts, until) as sock:
        sock.sendall(question)
        while True:
            event = talk.next_event()
            if isinstance(event, h11.Response):
                return int(event.status_code)
            if event is h11.NEED_DATA:
                sock.settimeout(_left(until))
                talk.receive_data(sock.recv(65_536))
            elif not isinstance(event, h11.InformationalResponse):
                raise ConnectionError("it closed the connection without an answer")
            _left(until)


def _connected(parts: SplitResult, until: float) -> socket.socket:
    import socket

    secure = parts.scheme == "https"
    sock = socket.create_connection((parts.hostname or "", parts.port or (443 if secure else 80)), _left(until))
    if not secure:
        return sock
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        sock.settimeout(_left(until))
        return context.wrap_socket(sock, server_hostname=parts.hostname)
    except BaseException:
        sock.close()
        raise


def _left(until: float) -> float:
    """Return the seconds left. Errors: TimeoutError."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left
