"""The wait of a job for other jobs: first until all of its chain is there, then a process that looks at the others
(waiter.py) says what holds."""

from __future__ import annotations

import json
import os
import signal

import outlive
from outlive import parts
from outlive.core.ids import short_id
from outlive.core.members import parse_json
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.parts.after import AFTER, LAST, asked
from outlive.store.inspection import handed_over
from outlive.supervisor.added import Added, Waiting
from outlive.supervisor.event_loop import Timer
from outlive.supervisor.request import Request
from outlive.system import fault_points, fds
from outlive.system.interpreter import without_site

_AGAIN_S, _LONGEST_S = 0.5, 60.0  # before the next process is started, when the last one ended without an answer
_LOOK_S = 0.02  # between two looks for the last job of the chain
_MOST = 10  # of those in a row; then it is not known whether the job may start


class AfterOthers(Added):
    """The wait of one job."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self._waiting: Waiting | None = None
        self._again: Timer | None = None
        self._look: Timer | None = None  # for the last job of its chain
        self._pause_s, self._failures = _AGAIN_S, 0
        self._pid = 0  # of the process that looks; 0: there is none
        self._lines = -1  # the file from which its lines are read
        self._read = b""

    def wait(self, waiting: Waiting) -> bool:
        left, last = self._left(waiting), asked.last_of_chain(self.definition, waiting.state())
        if not left and last is None:
            return False
        self._waiting = waiting
        self._again = waiting.loop.timer(self._start)
        waiting.note(AFTER, left)
        if last is None:
            self._start()
        else:
            self._look = waiting.loop.timer(self._look_for, last)
            self._look.after(0)
        return True

    def end_wait(self) -> None:
        for timer in (self._again, self._look):
            if timer is not None:
                timer.cancel()
        self._end_process()

    def _look_for(self, last: str) -> None:
        assert self._look is not None
        assert self._waiting is not None
        is_there = _is_there(self._waiting.request, last)
        if is_there is None:
            job = short_id(last)
            self._waiting.fail(
                "dependency", f"the call that made its chain was killed before it started the last one, job {job}"
            )
        elif not is_there:
            self._look.after(_LOOK_S)
        else:
            self._waiting.note(LAST, [])
            self._start() if self._left(self._waiting) else self._waiting.go()

    def _left(self, waiting: Waiting) -> list[int]:
        """Return the numbers of the edges that are waited for. Errors: OSError."""
        try:
            return asked.left(waiting.state(), len(asked.of_job(self.definition)))
        except ValueError as error:
            raise OSError(0, str(error)) from error

    # --- the process that looks ---

    def _start(self) -> None:
        assert self._waiting is not None
        try:
            self._pid = self._spawned(self._waiting)
        except OSError:  # for want of processes, files or memory
            self._end_process()
            self._later()
            return
        self._waiting.loop.read(self._lines, self._hear)

    def _spawned(self, waiting: Waiting) -> int:
        """Return the pid of a new process. Errors: OSError."""
        content = {
            "supervisor": os.getpid(),
            "root": waiting.request.root,
            "job_id": waiting.request.job_id,
            "environment": waiting.request.environment,
            "config": waiting.request.config,
            "known": waiting.request.known.to_dict(),
            "edges": self.definition.kept[AFTER],
            "left": self._left(waiting),
        }
        argv = without_site("outlive.parts.after.waiter", "main", os.path.dirname(outlive.DIRECTORY))
        self._lines, out = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        with fds.Closing(out), fds.Closing(fds.memory_file(AFTER, json.dumps(content).encode())) as memory:
            os.set_blocking(out, True)
            with fds.Closing(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) as null:
                moves = [(os.POSIX_SPAWN_DUP2, old, new) for new, old in enumerate((memory, out, null))]
                return os.posix_spawn(argv[0], argv, fault_points.carried(), file_actions=moves)

    def _hear(self) -> None:
        data = os.read(self._lines, 65_536)
        if not data:
            self._end_process()
            self._later()
            return
        *lines, self._read = (self._read + data).split(b"\n")
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        assert self._waiting is not None
        told = parse_json(line)
        if told.get("failed"):
            self._waiting.fail("dependency", told["failed"])
            return
        fault_points.at("after_seen")
        self._pause_s, self._failures = _AGAIN_S, 0
        self._waiting.note(AFTER, told["left"])
        if not told["left"]:
            self._waiting.go()

    def _later(self) -> None:
        assert self._again is not None
        assert self._waiting is not None
        self._failures += 1
        if self._failures > _MOST:
            self._waiting.fail(
                "launch", f"{_MOST} processes in a row that look at what it waits for ended without an answer"
            )
            return
        self._again.after(self._pause_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_S)

    def _end_process(self) -> None:
        if self._lines >= 0:
            assert self._waiting is not None
            self._waiting.loop.forget(self._lines)
            os.close(self._lines)
            self._lines, self._read = -1, b""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0


def _is_there(request: Request, job_id: str) -> bool | None:
    """Return whether a job was given to a supervisor, or to a person; None if it never will be, since who made it was killed."""
    try:
        with Request.replace(request, job_id=job_id).open_job() as job:
            is_held = job.is_supervised()  # first: a process lets go of it after it wrote the state
            state = job.read_state()
            has_begun = state is not None and (state.phase != "created" or LAST in state.kept)
            # Its caller may take all back, and it first; and a reader ends what was given to no supervisor
            if state is not None and state.finished and state.pid is None:
                has_begun = not is_held and state.supervisor is not None
            # The turn of a job of a host begins here too
            if has_begun or parts.is_held(job.read_meta().kept) or not handed_over.is_missing(job):
                return True
            return False if is_held else None
    except (OSError, OutliveError):  # it was deleted
        return None


ADDED = AfterOthers
