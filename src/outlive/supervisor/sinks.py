"""Telling others that a job ended: a command with the event on its stdin, a line in a file. Best effort, recorded.

`completion_event.json` is written before the first delivery and again after the last, so a supervisor that takes over
sees whether anything is left to do: delivery is at least once.
"""

from __future__ import annotations

import errno
import json
import os
import signal

from outlive import limits
from outlive.job import timestamp
from outlive.store import files
from outlive.store.jobdir import COMPLETION
from outlive.system import fds, process, spawn, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from outlive.job import Definition, State
    from outlive.store.jobdir import JobDir
    from outlive.supervisor.loop import Loop
    from outlive.supervisor.request import Request

FINISHED = "job.finished"
# Without O_NONBLOCK a FIFO that nobody reads would hold up the supervisor for ever (open(2), fifo(7))
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC


def event_of(definition: Definition, state: State, job: JobDir) -> dict[str, Any]:
    """The job.finished event."""
    return {
        "schema_version": limits.SCHEMA_VERSION,
        "event_type": FINISHED,
        "job_id": definition.job_id,
        "state": state.state,
        "command": definition.command,
        "cwd": definition.cwd,
        "started_at": state.started_at,
        "finished_at": state.finished_at,
        "duration_ms": state.duration_ms,
        "exit_code": state.exit_code,
        "signal": state.signal,
        "reason": state.reason,
        "name": definition.name,
        "tags": definition.tags,
        "stdout_log_path": job.log_path(0),
        "stderr_log_path": job.log_path(1),
    }


class Sinks:
    """Delivers one job's events. Command sinks run beside the loop and are killed after their own time limit."""

    def __init__(self, job: JobDir, loop: Loop, request: Request, on_done: Callable[[], None]) -> None:
        self._job = job
        self._loop = loop
        self._request = request
        self._on_done = on_done
        self._event: dict[str, Any] = {}
        self._results: list[dict[str, Any]] = []
        self._command: dict[str, Any] | None = None
        self.pid: int | None = None
        self.started = False

    @property
    def busy(self) -> bool:
        return self.pid is not None

    def finished(self, definition: Definition, state: State) -> None:
        """Deliver job.finished, unless that was done before."""
        command, path = (definition.notification.get(key) for key in ("notify_command", "notify_file"))
        if not (command or path) or self._was_delivered():
            return
        self._event = event_of(definition, state, self._job)
        self._record(done=False)
        if path:
            self._results.append(self._append(path))
        if command:
            self._start(definition, command)
        if not self.busy:
            self._record(done=True)

    def _was_delivered(self) -> bool:
        try:
            return bool(json.loads(files.read(self._job.fd, COMPLETION)).get("delivered"))
        except (OSError, ValueError):
            return False

    def _record(self, *, done: bool) -> None:
        content = {**self._event, "delivery_results": self._results, "delivered": done}
        try:
            files.write_atomic(self._job.fd, COMPLETION, json.dumps(content, ensure_ascii=True).encode() + b"\n")
        except OSError:
            return  # full or removed: the deliveries themselves still count

    def _append(self, path: str) -> dict[str, Any]:
        """One line, by one write to a file opened for appending: lines of several jobs do not mix."""
        result = _result("file", path)
        line = json.dumps(self._event, ensure_ascii=True).encode() + b"\n"
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            fd = os.open(path, _APPEND, 0o600)
            try:
                fds.write_all(fd, line)
            finally:
                os.close(fd)
        except OSError as error:
            return {**result, "error": f"{errno.errorcode.get(error.errno or 0)}: {error.strerror}"}
        return {**result, "success": True}

    def _start(self, definition: Definition, command: str) -> None:
        self._command = _result("command", command)
        env = {
            **self._request.environment,
            tree.COOKIE: definition.job_id,
            "OUTLIVE_ROOT": self._request.root,
            "OUTLIVE_EVENT_PATH": os.path.join(self._job.path, COMPLETION),
            tree.SINK_MARK: FINISHED,
        }
        event = fds.memory_file("event", json.dumps(self._event, ensure_ascii=True).encode() + b"\n")
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        cwd = definition.cwd if os.path.isdir(definition.cwd) else "/"
        try:
            stdio = {0: event, 1: null, 2: null}
            self.pid = spawn.spawn([*self._request.sink_shell, command], env, stdio, cwd=cwd, umask=self._request.umask)
        except OSError as error:
            self._results.append({**self._command, "error": f"could not start: {error.strerror}"})
            return
        finally:
            os.close(event)
            os.close(null)
        self.started = True
        self._loop.after("sink", limits.SINK_TIMEOUT_S, self._too_long)

    def reaped(self, status: int) -> None:
        """The command of this sink ended."""
        self._loop.cancel("sink")
        self.pid = None
        code = os.waitstatus_to_exitcode(status)
        result = {**(self._command or {}), "exit_code": code if code >= 0 else None, "success": code == 0}
        if code < 0:
            result.setdefault("error", f"ended by signal {-code}")
        elif code:
            result["error"] = f"exited with code {code}"
        self._results.append(result)
        self._record(done=True)
        self._on_done()

    def _too_long(self) -> None:
        if self._command is not None:
            self._command["error"] = f"killed after {limits.SINK_TIMEOUT_S:.0f} s"
        self.kill()

    def kill(self) -> None:
        """End a notification command that takes too long, or whose job is being removed."""
        if self.pid is None:
            return
        for member in [*tree.below(self.pid), tree.Member(self.pid, process.start_time(self.pid) or 0)]:
            process.send_signal(member.pid, member.start, signal.SIGKILL)


def _result(kind: str, target: str) -> dict[str, Any]:
    return {"sink_type": kind, "target": target, "success": False, "attempted_at": timestamp()}
