"""Notification sinks: a command with the event on its stdin, a line in a file. Best effort, and
recorded.

Two lanes, so that a slow command for a watch never holds up the word that the job ended. Each event
is on disk before its first delivery, and with the results after the last: in
`completion_event.json` for the end of the job, in `notification_events.ndjson`
(`notification_log.py`) for the hits of watches. A supervisor that takes over sees what is left to
do: delivery is at least once.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from outlive import fastjson, limits
from outlive.core.units import timestamp
from outlive.store import atomic_file, history
from outlive.store.job_dir import COMPLETION, NOTIFICATIONS
from outlive.system import fault_points, fds, process, spawn, tree
from outlive.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from outlive.core.records import Definition, State
    from outlive.store.job_dir import JobDir
    from outlive.supervisor.event_loop import EventLoop
    from outlive.supervisor.request import Request

    Event = dict[str, Any]
    Result = dict[str, Any]

_MINUTE_S = 60.0
_NO_COMMAND = 127  # sh(1)
_NOT_FOUND = ": a command was not found on the PATH of the notification's shell; write its absolute path"
_TOO_OFTEN = "not run: it was killed for taking too long several times in a row"
_IN_ROOT = "refused: the file is inside the job root, whose files are outlive's own"
_REMOVED = "not run: its watch was removed"
_GIVEN_UP = f"given up: it was begun {limits.DELIVERIES} times, and the supervisor ended each time before it was done"
FINISHED, MATCHED = "job.finished", "job.output.matched"
_WRITING_S = 0.001  # longer than the write of one line takes
# Without O_NONBLOCK, opening a FIFO without a reader would block the supervisor for ever (open(2),
# fifo(7))
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC


def event_of(definition: Definition, state: State, job: JobDir) -> Event:
    """Return the job.finished event."""
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


def matched_event(definition: Definition, job: JobDir, found: dict[str, Any]) -> Event:
    """Return the job.output.matched event of a hit {seq, watch, pattern, match_type, stream, line,
    match, snippet}.
    """
    return {
        "schema_version": limits.SCHEMA_VERSION,
        "event_type": MATCHED,
        "job_id": definition.job_id,
        **found,
        "name": definition.name,
        "at": timestamp(),
        "stdout_log_path": job.log_path(0),
        "stderr_log_path": job.log_path(1),
    }


class Sinks:
    """Delivers one job's events. `tell(type, **content)` puts what became of it into the job's
    history.
    """

    def __init__(
        self, job: JobDir, loop: EventLoop, request: Request, on_done: Callable[[], None], tell: Callable[..., None]
    ) -> None:
        self._job = job
        self._request = request
        self._on_done = on_done
        self._tell = tell
        self._sandbox: dict[str, Any] | None = request.definition.get("sandbox")
        self._lanes = [_Lane(job, loop, request, kind, self._refused) for kind in (FINISHED, MATCHED)]
        self._told: dict[tuple[str, str], tuple[float, int]] = {}  # watch and sink → since when, and how often
        self._dropped: set[str] = set()  # watches that were removed
        self._strikes: dict[str, int] = {}  # watch → how often in a row its command ran into the time limit

    @property
    def busy(self) -> bool:
        return any(lane.pid is not None or lane.queue for lane in self._lanes)

    @property
    def pids(self) -> list[int]:
        return [lane.pid for lane in self._lanes if lane.pid is not None]

    @property
    def started(self) -> bool:
        """Return whether any command was run."""
        return any(lane.started for lane in self._lanes)

    # --- the end of the job ---

    def finished(self, definition: Definition, state: State) -> None:
        """Deliver job.finished, unless that was done before."""
        sinks = [(kind, definition.notification.get(f"notify_{kind}")) for kind in ("file", "command")]
        if not any(target for _, target in sinks):
            return
        delivered, results, tries = self._begun()
        if delivered:
            return
        if tries:
            self.end_predecessors()
        event = event_of(definition, state, self._job)
        told = {result.get("sink_type") for result in results}
        left = {kind: target for kind, target in sinks if target and kind not in told}
        if tries >= limits.DELIVERIES:
            given_up = [self._said(event, _not_run(target, _GIVEN_UP, kind)) for kind, target in left.items()]
            self._finished_told(event, [*results, *given_up])
            return
        self._write_completion(event, results, done=False, tries=tries + 1)
        fault_points.at("end_owing")
        if "file" in left:
            results = [*results, self._said(event, append(event, left["file"], self._request.root, self._sandbox))]
        if "command" not in left:
            self._finished_told(event, results)
            return
        if "file" in left:  # a successor does not repeat it
            self._write_completion(event, results, done=False, tries=tries + 1)
        self._run(self._lanes[0], event, definition.cwd, left["command"], results, self._finished_told)

    def _finished_told(self, event: Event, results: list[Result]) -> None:
        fault_points.at("end_told")
        self._write_completion(event, results, done=True)
        fault_points.at("end_done")

    def _begun(self) -> tuple[bool, list[Result], int]:
        """Return whether the end was delivered, what became of each sink so far, and how often the
        delivery was begun."""
        try:
            found = fastjson.loads(atomic_file.read(self._job.fd, COMPLETION))
            results = [result for result in found.get("delivery_results", []) if isinstance(result, dict)]
            return bool(found.get("delivered")), results, int(found.get("tries", 1))
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):  # missing, cut off, or edited
            return False, [], 0

    def end_predecessors(self) -> None:
        """Kill the command that a killed supervisor had started: it will run once more, and nothing
        else would end this one.
        """
        for member in tree.with_cookie(self._job.job_id, sinks=True):
            process.send_signal(member.pid, member.start, signal.SIGKILL)

    def _write_completion(self, event: Event, results: list[Result], *, done: bool, tries: int = 1) -> None:
        content = {**event, "delivery_results": results, "delivered": done, **({"tries": tries} if tries > 1 else {})}
        try:
            atomic_file.write_atomic(
                self._job.fd, COMPLETION, fastjson.dumps(content, ensure_ascii=True).encode() + b"\n"
            )
        except OSError:
            return  # full or removed: the deliveries themselves still count

    # --- hits of watches ---

    @property
    def room(self) -> int:
        """How many more commands for hits may wait for their turn."""
        return limits.SINK_QUEUE - len(self._lanes[1].queue)

    def matched(
        self,
        event: Event,
        cwd: str,
        command: str | None,
        path: str | None,
        results: list[Result],
        done: Callable[[Event, list[Result]], None],
    ) -> None:
        """Deliver one hit of a watch. `done` gets `results` and what became of it, after each sink."""
        if path:
            results = [*results, self._said(event, append(event, path, self._request.root, self._sandbox))]
            done(event, results)
        if command and (why := self._refused(event)):
            done(event, [*results, self._said(event, _not_run(command, why))])
        elif command:
            self._run(self._lanes[1], event, cwd, command, results, done)

    # --- delivery ---

    def _run(
        self,
        lane: _Lane,
        event: Event,
        cwd: str,
        command: str,
        results: list[Result],
        done: Callable[[Event, list[Result]], None],
    ) -> None:
        def ended(result: Result) -> None:
            watch = event.get("watch", "")
            too_long = result.pop("too_long", None)
            if too_long is not None:  # the command was run
                self._strikes[watch] = self._strikes.get(watch, 0) + 1 if too_long else 0
            done(event, [*results, self._said(event, result)])
            self._on_done()

        lane.run(event, command, cwd, ended)

    def _said(self, event: Event, result: Result) -> Result:
        """Put into the history what became of a delivery: of the hits of a watch, so many a minute
        as the history has hits."""
        if not self._may_tell(event, result):
            return result
        content = {name: result.get(name) for name in ("sink_type", "target")} | {"event_type": event["event_type"]}
        if "watch" in event:
            content["watch"] = event["watch"]
        if result["success"]:
            self._tell(history.NOTIFIED, **content)
        else:
            self._tell(history.NOT_NOTIFIED, **content, error=result.get("error"))
        return result

    def _may_tell(self, event: Event, result: Result) -> bool:
        if "watch" not in event:
            return True
        key, now = (event["watch"], result["sink_type"]), time.monotonic()
        began, count = self._told.get(key, (now, 0))
        if now - began >= _MINUTE_S:
            began, count = now, 0
        self._told[key] = began, count + 1
        return count < limits.HITS_A_MINUTE

    def drop(self, watch: str) -> None:
        """Run no command for this watch any more. The commands that wait for their turn are dropped
        too."""
        self._dropped.add(watch)

    def _refused(self, event: Event) -> str | None:
        """Return why the command of this event is not run, None if it is."""
        watch = event.get("watch", "")
        if watch in self._dropped:
            return _REMOVED
        return _TOO_OFTEN if self._strikes.get(watch, 0) >= limits.SINK_STRIKES else None

    def reaped(self, pid: int, status: int) -> None:
        """Take note of a child that ended. If it was the command of a sink, the next one may run."""
        for lane in self._lanes:
            if lane.pid == pid:
                lane.reaped(status)

    def kill(self) -> None:
        """End all notification commands: their job is being removed."""
        for lane in self._lanes:
            lane.queue.clear()
            lane.kill()


class _Lane:
    """Runs commands one after the other, each beside the loop and killed after its own time limit."""

    def __init__(
        self, job: JobDir, loop: EventLoop, request: Request, kind: str, refused: Callable[[Event], str | None]
    ) -> None:
        self._job = job
        self._refused = refused
        self._loop = loop
        self._request = request
        self._kind = kind
        self._too_long = False
        self._result: Result = {}
        self._done: Callable[[Result], None] | None = None
        self.queue: list[tuple[Event, str, str, Callable[[Result], None]]] = []
        self.pid: int | None = None
        self.started = False

    def run(self, event: Event, command: str, cwd: str, done: Callable[[Result], None]) -> None:
        """Run a command now, or when those before it have ended."""
        self.queue.append((event, command, cwd, done))
        self._next()

    def _next(self) -> None:
        while self.pid is None and self.queue:
            event, command, cwd, done = self.queue.pop(0)
            if why := self._refused(event):  # since it waits, for example those before it took too long
                done(_not_run(command, why))
                continue
            self._result, self._done, self._too_long = _result("command", command), done, False
            try:
                self.pid = self._spawn(event, command, cwd)
            except OSError as error:
                done({**self._result, "error": f"could not start: {error.strerror}"})
                continue
            self.started = True
            self._loop.after(f"sink-{self._kind}", limits.SINK_TIMEOUT_S, self._overdue)

    def _spawn(self, event: Event, command: str, cwd: str) -> int:
        env = {
            **self._request.environment,
            tree.COOKIE: self._request.job_id,
            "OUTLIVE_ROOT": self._request.root,
            "OUTLIVE_EVENT_PATH": os.path.join(self._job.path, COMPLETION if self._kind == FINISHED else NOTIFICATIONS),
            tree.SINK_MARK: self._kind,
        }
        data = fds.memory_file("event", fastjson.dumps(event, ensure_ascii=True).encode() + b"\n")
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            words = [*self._request.sink_shell, command]
            stdio = {0: data, 1: null, 2: null}
            cwd = cwd if os.path.isdir(cwd) else "/"
            sandbox = self._request.definition.get("sandbox")
            if sandbox is not None:
                from outlive.sandbox import session

                return session.start_sink(sandbox, words, env, stdio, cwd=cwd, umask=self._request.umask)
            return spawn.spawn(words, env, stdio, cwd=cwd, umask=self._request.umask)
        finally:
            os.close(data)
            os.close(null)

    def reaped(self, status: int) -> None:
        self._loop.cancel(f"sink-{self._kind}")
        self.pid = None
        code = os.waitstatus_to_exitcode(status)
        result = {**self._result, "exit_code": code if code >= 0 else None, "success": code == 0, "too_long": False}
        if code < 0:
            result["error"] = f"ended by signal {-code}"
        elif code:
            result["error"] = f"exited with code {code}" + (_NOT_FOUND if code == _NO_COMMAND else "")
        if self._too_long:
            result |= {"error": f"killed after {limits.SINK_TIMEOUT_S:.0f} s", "success": False, "too_long": True}
        done, self._done = self._done, None
        if done is not None:  # before the next command: this result may be the one that stops them
            done(result)
        self._next()

    def _overdue(self) -> None:
        self._too_long = True
        self.kill()

    def kill(self) -> None:
        if self.pid is None:
            return
        for member in [*tree.below(self.pid), tree.Member(self.pid, process.start_time(self.pid) or 0)]:
            process.send_signal(member.pid, member.start, signal.SIGKILL)


def append(event: Event, path: str, root: str, sandbox: dict[str, Any] | None = None) -> Result:
    """Add one line by one write to a file opened for appending, so that lines of several jobs do
    not mix. A file inside the job root is refused.
    """
    from outlive.store.root import is_inside  # late: few jobs have such a file

    result = _result("file", path)
    line = fastjson.dumps(event, ensure_ascii=True).encode() + b"\n"
    try:
        if is_inside(path, root):
            return {**result, "error": _IN_ROOT}
        fd = _opened(path, sandbox)
        try:
            if is_inside(f"/proc/self/fd/{fd}", root):  # by a link that was made in between
                return {**result, "error": _IN_ROOT}
            fds.write_all(fd, b"\n" + line if _is_cut(fd) else line)
        finally:
            os.close(fd)
    except OSError as error:
        return {**result, "error": f"{errno.errorcode.get(error.errno or 0)}: {error.strerror}"}
    except (ValueError, TypeError) as error:  # a NUL or half a character in the path, or no text at all
        return {**result, "error": f"not a path: {error}"}
    return {**result, "success": True}


def _is_cut(fd: int) -> bool:
    """Return whether the last line of a file has no end: its writer was killed in the middle of it,
    or the disk was full. The next line would become part of it.
    """
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return False
    try:
        reader = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it may only be written
        return False
    try:
        if _has_end(reader):
            return False
        time.sleep(_WRITING_S)  # another job may be in the middle of its line
        return not _has_end(reader)
    finally:
        os.close(reader)


def _has_end(fd: int) -> bool:
    """Return whether the last line of a file has its newline, or the file is empty."""
    return os.pread(fd, 1, max(0, os.fstat(fd).st_size - 1)) in (b"", b"\n")


def _opened(path: str, sandbox: dict[str, Any] | None) -> int:
    if sandbox is not None:
        from outlive.sandbox import sink_file

        return sink_file.open_writable(sandbox, path, _APPEND, 0o600)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return os.open(path, _APPEND, 0o600)


def _not_run(target: str, why: str, kind: str = "command") -> Result:
    return {**_result(kind, target), "error": why}


def _result(kind: str, target: str) -> Result:
    return {"sink_type": kind, "target": target, "success": False, "attempted_at": timestamp()}
