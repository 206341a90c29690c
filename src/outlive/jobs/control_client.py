"""Talk to a job's supervisor over its control socket."""

from __future__ import annotations

import json
import socket
import time
from contextlib import closing
from typing import Any

from outlive import limits
from outlive.core.members import object_of, parse_json, text_of
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.jobs.processes import stopped
from outlive.launch import engines
from outlive.store.inspection import handed_over
from outlive.store.inspection.inspection import is_elsewhere
from outlive.store.job_dir import JobDir
from outlive.system import fds, machine, process, tree
from outlive.system.waiting import pause

_RETRY_S = 0.25  # at the longest, between two looks for a supervisor
_ELSEWHERE_S = 0.5
_FAR_S = 25.0
_CHECK = "Check with poll what arrived before you repeat it."


class Awaited(Value):
    """Wait until one of `fds` is readable, or until `deadline` (time.monotonic seconds; None: no limit)."""

    fds: tuple[int, ...]
    deadline: float | None

    def left_s(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


class ControlClient:
    """A connection to a job's supervisor, which sends hints that something changed and answers
    requests.

    While no supervisor listens, because one is being started or was just killed, `pause` returns at
    growing intervals, and the caller inspects the job's files again.
    """

    def __init__(self, job: JobDir, *, output: bool, sock: socket.socket | None = None) -> None:
        self._job = job
        self._output = output
        self._sock = sock
        self._retry_s = 0.005
        self._answers: list[dict[str, object]] = []
        if sock is not None:
            sock.setblocking(False)
        else:
            self._connect()

    def _connect(self) -> bool:
        record = handed_over.read(self._job)
        if record is not None and machine.is_other(record.machine):  # no Unix socket reaches another machine
            return False
        try:
            sock = self._job.connect(wait=False)
        except OSError:
            return False
        try:
            fds.send(sock, _watch(output=self._output))
        except OSError:
            sock.close()
            return False
        self._sock = sock
        self._retry_s = 0.005
        return True

    def is_to_supervisor(self) -> bool:
        """Return False if the socket in the job's directory is another program's: the job may have put
        it there. (A supervisor that was killed has left its socket to its guardian.)"""
        if self._sock is None:
            return True
        listening = fds.peer_pid(self._sock)
        return not listening or not process.is_alive(listening) or tree.is_ours(listening)

    @property
    def patience_s(self) -> float:
        """How long an answer may take: longer if the request has to get to another machine."""
        return limits.CONTROL_S + (_FAR_S if self._sock is None and _is_elsewhere(self._job) else 0.0)

    @property
    def connected(self) -> bool:
        return self._sock is not None

    def request(self, content: dict[str, object], files: tuple[int, ...] = ()) -> bool:
        """Send the supervisor a request. Return False if no supervisor listens now. Errors:
        not_supported, io_error for a supervisor on another machine."""
        is_new = self._sock is None and not self._connect()
        if is_new:
            self._sock = _connected_elsewhere(self._job)
        if self._sock is None:
            return False
        try:
            if is_new and self._output:  # else its caller would look twice a second
                fds.send(self._sock, _watch(output=True))
            fds.send(self._sock, json.dumps(content).encode(), files)
        except OSError:
            self.close()
            return False
        return True

    def pause(self, deadline: float | None) -> None:
        """Wait until something may have changed, or until `deadline` (time.monotonic seconds)."""
        awaited = self.awaited(deadline)
        if awaited is not None:
            pause(awaited.fds, awaited.deadline)
            self.drain()

    def awaited(self, deadline: float | None) -> Awaited | None:
        """Return what `pause` waits for; None if it would not wait: no hint was sent of what happened
        before this connection was made."""
        if self._sock is not None:
            return Awaited((self._sock.fileno(),), deadline)
        if self._connect():
            return None
        # Each look at a file system that machines share costs all of them
        longest_s = _ELSEWHERE_S if self._retry_s >= _RETRY_S and _is_elsewhere(self._job) else _RETRY_S
        self._retry_s = min(self._retry_s * 2, longest_s)
        again = time.monotonic() + self._retry_s
        return Awaited((), again if deadline is None else min(deadline, again))

    def answer(self, deadline: float) -> dict[str, Any] | None:
        """Return the answer to the last request; None if the supervisor went away or `deadline`
        passed."""
        while not self._answers and self._sock is not None and time.monotonic() < deadline:
            pause((self._sock.fileno(),), deadline)
            self.drain()
        return self._answers.pop(0) if self._answers else None

    def take_answers(self) -> list[dict[str, Any]]:
        """Return the answers that came, for a caller that sends requests without waiting."""
        taken, self._answers = self._answers, []
        return taken

    def drain(self) -> None:
        """Take what has arrived: hints are dropped, answers are kept."""
        while self._sock is not None:
            message = received(self._sock)
            if message is None:
                return
            if not message:
                self.close()
            elif message[:1] == b"{":
                answer = _read(message)
                if answer is None:  # a program of the job stands in the place of its supervisor
                    self.close()
                else:
                    self._answers.append(answer)

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


def received(sock: socket.socket) -> bytes | None:
    """Return the message that has come over a connection that does not block: b"" at its end, None if there is none yet."""
    try:
        return sock.recv(limits.CONTROL_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def ask(
    job: JobDir, request: dict[str, object], files: tuple[int, ...] = (), *, wait_s: float = 0.0, changes: str = ""
) -> dict[str, Any]:
    """Send a request with open `files` to a job's supervisor, and return its answer.

    Wait `wait_s` seconds longer than the supervisor itself may take. `changes` says what may have
    happened without an answer. Errors: io_error, and those that the supervisor answers.
    """
    _running_again(job)
    with closing(ControlClient(job, output=False)) as control:
        deadline = time.monotonic() + wait_s + control.patience_s
        asked = control.request(request, files)
        answer = control.answer(deadline) if asked else None
        if answer is None and asked and not control.connected and changes:
            raise OutliveError(
                "io_error",
                f"the job's supervisor was killed during the {request['op']}; {changes}",
                hint=_CHECK,
            )
    if answer is None:
        raise unanswered(job, changes if asked else "")
    if not answer["ok"]:
        raise refused(answer)
    return answer


def _running_again(job: JobDir) -> None:
    """Wait until the job's supervisor is not stopped. Errors: io_error after CONTROL_S. It was not
    sent the request then, which it would carry out whenever it goes on."""
    deadline = time.monotonic() + limits.CONTROL_S
    while _stopped(job):
        if time.monotonic() >= deadline:
            raise unanswered(job)
        pause((), min(deadline, time.monotonic() + _RETRY_S))


def _stopped(job: JobDir) -> int | None:
    """Return the pid of the job's supervisor if it is stopped, and on this machine."""
    try:
        state = job.read_state()
    except (OSError, OutliveError):
        return None
    return None if state is None or machine.is_other(state.machine) else stopped(state)


def _read(message: bytes) -> dict[str, object] | None:
    """Return an answer; None for what no supervisor says."""
    try:
        answer: dict[str, object] = parse_json(message)
    except ValueError:
        return None
    is_error = answer.get("ok") is False and all(type(answer.get(name)) is str for name in ("code", "message"))
    return answer if is_error or answer.get("ok") is True else None


def _watch(*, output: bool) -> bytes:
    return json.dumps({"op": "watch", "output": output}).encode()


def _is_elsewhere(job: JobDir) -> bool:
    try:
        return is_elsewhere(job.read_meta(), job.read_state())
    except (OSError, OutliveError):
        return False


def _connected_elsewhere(job: JobDir) -> socket.socket | None:
    """Return a connection to a supervisor on another machine; None if it should be on this one.
    Errors: not_supported, io_error."""
    if not _is_elsewhere(job):
        return None
    definition, state = job.read_meta(), job.read_state()
    if state is not None and state.finished:
        return None
    engine = engines.of_job(job, definition)
    if engine is not None:
        sock: socket.socket = engine.connect(job)
        sock.setblocking(False)
        return sock
    machine_there = (state and state.machine) or definition.machine
    name = None if machine_there is None else machine_there.name
    raise OutliveError(
        "not_supported",
        f"the processes of job {job.job_id} are on {name}, and its supervisor is reached only there",
        hint=f"Repeat the call on {name}.",
    )


def refused(answer: dict[str, Any]) -> OutliveError:
    """Return the error that a supervisor, or the mirror of a job on another host, answered."""
    retryable, hint, details = bool(answer.get("retryable")), text_of(answer, "hint"), object_of(answer, "details")
    return OutliveError(
        answer["code"], answer["message"], retryable=retryable, hint=hint or None, details=details or None
    )


def unanswered(job: JobDir, changes: str = "") -> OutliveError:
    """Return the error of a request that the job's supervisor did not answer in time.

    `changes`: what may have happened, or happen later, so that the request must not be repeated
    unseen.
    """
    waited_s = limits.CONTROL_S + (_FAR_S if _is_elsewhere(job) else 0.0)
    message = f"the supervisor of job {job.job_id} did not answer within {waited_s:.0f} s"
    if changes:
        return OutliveError("io_error", f"{message}; {changes}, or come later", hint=f"{_why(job)} {_CHECK}")
    return OutliveError("io_error", message, retryable=True, hint=f"{_why(job)} Then try again.")


def _why(job: JobDir) -> str:
    pid = _stopped(job)
    if pid is not None:
        return f"It is stopped: `kill -CONT {pid}` continues it."
    return "It may be stopped, or the machine is very busy."
