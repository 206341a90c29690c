"""A job that waits for its start: its supervisor has it, and nothing of it runs yet.

It is `created`, in the phase `waiting`: callers see it, end it and delete it, whichever process made it. A process that
takes over waits anew. If supervisor and guardian are both killed, the next reader gives the job to others
(jobs/starting/new_supervisor.py).
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

from outlive.core.records import WAITING, Ending, State
from outlive.errors import OutliveError
from outlive.store import fault_report
from outlive.store.inspection import adoptions
from outlive.store.job_dir import JobDir
from outlive.supervisor.added import Added, AllAdded, Waiting
from outlive.supervisor.control_requests import ControlRequest, GetState, Kill, Reload
from outlive.supervisor.control_server import Connection, ControlServer
from outlive.supervisor.ending import outcome
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.request import Request
from outlive.system import fault_points, signals

_LOOK_S = 5.0  # how often it is seen whether the directory of the job is still there
_NOTHING_RUNS = "the job waits for its start: nothing of it runs yet"
_KILLED = "it was ended while it waited for its start; it never ran"


def begun(job: JobDir, request: Request, state: State, added: AllAdded) -> WaitForStart | None:
    """Return the wait of a job that has to wait for its start; None if it may start now. Errors: OSError; then nothing is to
    be started."""
    if not added:
        return None
    wait = WaitForStart(job, request, State.replace(state, kept=_noted(job)), added)
    return wait if wait.begin() else None


def _noted(job: JobDir) -> dict[str, Any]:
    """Return what parts noted in a process that waited and was killed."""
    try:
        before = job.read_state()
    except (OSError, OutliveError):  # damaged, or of a newer format
        return {}
    return {} if before is None or not before.waits else before.kept


class WaitForStart:
    """The wait of one job, from the first part that has it wait until the last one lets it go."""

    def __init__(self, job: JobDir, request: Request, state: State, added: AllAdded) -> None:
        self._job = job
        self._request = request
        self._loop = EventLoop()
        self._left = [*added.each]  # the first has the job wait now
        self._control: ControlServer | None = None
        self._look_later = self._loop.timer(self._look)
        self._state: State = State.replace(state, state="created", phase=WAITING)
        self.is_doomed = False  # the job is deleted, or is about to be

    def begin(self) -> bool:
        """Return whether there is something to wait for. Errors: OSError; then nothing is to be started."""
        try:
            if self._is_free():
                self.end()
                return False
            self._write(self._state)
            return True
        except OSError:
            self.end()
            raise

    def run(self, state: State, listener: socket.socket, waiter: socket.socket | None) -> State:
        """Wait. Return `state`, of a job that may start, with what parts noted, or the state of a job that never runs, which is
        written down. `waiter` hears that the job has a supervisor; it is closed. Errors: OSError; then nothing is to be started."""
        self._control = ControlServer(self._loop, listener.dup(), self._serve, self._on_fault)
        if waiter is not None:
            waiter.setblocking(False)
            self._control.add(waiter)
        self._control.state()
        fault_points.at("wait_begun")
        self._look_later.after(_LOOK_S)
        try:
            self._loop.run()
        finally:
            self.end()
        fault_points.at("wait_over")
        return self._state if self._state.finished else State.replace(state, kept=self._state.kept)

    def end(self) -> None:
        while self._left:
            self._left.pop().end_wait()
        if self._control is not None:
            self._control.close()  # a client that waits connects again
        self._loop.close()

    def _is_free(self) -> bool:
        """Have the next part begin that has the job wait; return whether there is none. Errors: OSError."""
        while self._left and not self._left[0].wait(self._waiting(self._left[0])):
            self._left.pop(0).end_wait()
        return not self._left

    def _waiting(self, added: Added) -> Waiting:
        def go() -> None:
            if self._left and self._left[0] is added:
                self._go()

        def fail(reason: str, message: str) -> None:
            if self._left and self._left[0] is added:
                self._never(message, reason)

        return Waiting(self._loop, self._request, lambda: self._state, self._note, go, fail)

    def _note(self, member: str, value: object) -> None:
        """Errors: OSError, before the wait has begun. From then on a full disk is no reason to give the job up: what is noted
        stays in memory, and a process that takes over looks anew."""
        self._state = State.replace(self._state, kept={**self._state.kept, member: value})
        try:
            self._write(self._state)
        except OSError:
            if self._control is None:
                raise

    def _write(self, state: State) -> None:
        """Errors: OSError."""
        self._state = self._job.write_state(state)
        if self._control is not None:
            self._control.state()

    def _go(self) -> None:
        """Go on with the next part that has the job wait, or have it started."""
        self._left.pop(0).end_wait()
        try:
            if self._is_free():
                self._loop.stop()
        except OSError as error:
            self._never(error.strerror or str(error), "launch")

    def _never(self, message: str, reason: str) -> None:
        """End the wait of a job that never runs."""
        # As of every job that never ran
        never = State.replace(self._state, started_at=self._request.definition.created_at)
        self._state = outcome.unstarted(never, message, None, reason)
        with suppress(OSError):  # its directory is gone, or the disk full, and the space that was kept for this too
            self._state = self._job.write_state(self._state)
        self._loop.stop()

    def _look(self) -> None:
        adoptions.survived(self._job)
        if not self._job.is_in_place():
            self.is_doomed = True
            self._never("its directory was deleted", "kill")
        else:
            self._look_later.after(_LOOK_S)

    # --- requests of clients ---

    def _serve(self, connection: Connection, request: ControlRequest, files_sent: list[int]) -> None:
        if isinstance(request, Kill) and signals.ends(request.signal):
            self.is_doomed = request.removing
            self._state = State.replace(self._state, ending=Ending(cause=request.cause, by=request.by))
            self._never(_KILLED, "kill")
            connection.answer(ok=True)  # not before: a process that takes over would wait on, and start the job
        elif isinstance(request, GetState):
            connection.answer(ok=True, state=self._state.to_dict(), why=None)
        elif isinstance(request, Reload):  # the definition is read again when the wait is over
            connection.answer(ok=True)
        else:
            connection.answer(ok=False, code="invalid_state", message=_NOTHING_RUNS)

    def _on_fault(self, error: Exception) -> None:
        fault_report.write(self._job, "supervisor", error)
