"""Notification sinks: a command with the event on its stdin, a line in a file. Best effort, and
recorded.

The end of the job and the hits of watches run their commands beside each other, so that a slow
command for a watch never holds up the word that the job ended. Each event is on disk before its
first delivery, and with its results after each sink: in `completion_event.json` for the end of the
job, in `notification_events.ndjson` (`notification_log.py`) for the hits of watches. A supervisor
that takes over goes on with the sinks that have no result: delivery is at least once.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.real_path import followed
from outlive.core.records import Definition, Sandbox, State
from outlive.core.units import timestamp
from outlive.store import atomic_file, history, own_files
from outlive.store.job_dir import COMPLETION, NOTIFICATIONS, JobDir
from outlive.supervisor import confinement
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.request import Request
from outlive.system import fault_points, fds, mounts, process, spawn, tree, workspaces
from outlive.system.fds import Closing
from outlive.system.paths import is_in, make_folders, opened

Event = dict[str, Any]  # as it is sent


class Result(TypedDict):
    """What became of an event at one sink."""

    sink_type: str
    target: str
    success: bool
    attempted_at: str
    exit_code: NotRequired[int | None]
    error: NotRequired[str]


_MINUTE_S = 60.0
_NO_COMMAND = 127  # sh(1)
_NOT_FOUND = ": a command was not found on the PATH of the notification's shell; write its absolute path"
_TOO_OFTEN = "not run: it was killed for taking too long several times in a row"
_REMOVED = "not run: its watch was removed"
_DENIED = "not run: the start of its job was denied, and its notification commands with it"
_GIVEN_UP = f"given up: it was begun {limits.DELIVERIES} times, and the supervisor ended each time before it was done"
FINISHED, MATCHED = "job.finished", "job.output.matched"
FILE, COMMAND = "file", "command"  # in the order in which they are told
_OUTCOME = ("started_at", "finished_at", "duration_ms", "exit_code", "signal", "reason")  # of a state
_WRITING_S = 0.001  # longer than the write of one line takes
# Without O_NONBLOCK, opening a FIFO without a reader would block the supervisor for ever (open(2),
# fifo(7))
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC


def event_of(definition: Definition, state: State, job: JobDir) -> Event:
    """Return the job.finished event."""
    outcome = {name: getattr(state, name) for name in _OUTCOME}
    command: dict[str, object] = {"command": definition.command}
    if definition.script is not None:
        command["command_bytes"] = definition.command_bytes
    about = {"state": state.state, **command, "cwd": definition.cwd, **outcome}
    return _event(FINISHED, job, {**about, "name": definition.name, "tags": definition.tags})


def matched_event(definition: Definition, job: JobDir, hit: dict[str, object]) -> Event:
    """Return the job.output.matched event of a hit {seq, watch, pattern, match_type, stream, line, match, snippet}."""
    return _event(MATCHED, job, {**hit, "name": definition.name, "at": timestamp()})


def _event(kind: str, job: JobDir, content: dict[str, object]) -> Event:
    head = {"schema_version": limits.SCHEMA_VERSION, "event_type": kind, "job_id": job.job_id}
    return {**head, **content, "stdout_log_path": job.log_path(0), "stderr_log_path": job.log_path(1)}


class Delivery:
    """One event on its way to its sinks: first the file, then the command.

    `targets` is {sink type: target}; `results` are of those sinks that were told, also by a killed
    supervisor. `record(delivery)` is called after each.
    """

    def __init__(
        self, event: Event, targets: dict[str, str], results: list[Result], record: Callable[[Delivery], None]
    ) -> None:
        self.event = event
        self.watch: str = event.get("watch", "")  # its id; empty for the end of the job
        self.targets = targets
        self.results = results
        self._record = record

    @property
    def left(self) -> dict[str, str]:
        """The sinks that are still to be told."""
        told = [result.get("sink_type") for result in self.results]
        return {kind: target for kind, target in self.targets.items() if kind not in told}

    @property
    def is_delivered(self) -> bool:
        """Whether each sink took the event."""
        return not self.left and all(result.get("success") for result in self.results)

    def add(self, result: Result) -> None:
        self.results.append(result)
        self._record(self)


class Sinks:
    """Delivers one job's events. `tell(type, **content)` puts what became of it into the job's history."""

    def __init__(
        self, job: JobDir, loop: EventLoop, request: Request, on_done: Callable[[], None], tell: Callable[..., None]
    ) -> None:
        self._job = job
        self._request = request
        self._on_done = on_done
        self._tell = tell
        self._ends, self._hits = (_Command(job, loop, request, kind, self._ended) for kind in (FINISHED, MATCHED))
        self._minute_began = -_MINUTE_S
        self._recorded = Counter[tuple[str, str]]()  # deliveries of this minute, by watch and sink
        self.dropped: set[str] = set()  # watches that were removed: their commands are run no more
        self._strikes: dict[str, int] = {}  # watch → how often in a row its command ran into the time limit
        self.has_started = False  # whether any command was run

    @property
    def busy(self) -> bool:
        return bool(self.pids)

    @property
    def pids(self) -> list[int]:
        return [command.pid for command in (self._ends, self._hits) if command.pid is not None]

    @property
    def is_free(self) -> bool:
        """Whether the command of a hit can be run now."""
        return self._hits.pid is None

    # --- delivery ---

    def finished(self, definition: Definition, state: State) -> None:
        """Deliver job.finished, unless that was done before."""
        targets = definition.notification.targets
        if not targets:
            return
        is_over, results, tries = self._begun()
        if is_over:
            return
        if tries:
            self.end_predecessors()
        event = event_of(definition, state, self._job)
        delivery = Delivery(event, targets, results, lambda delivery: self._record_end(delivery, tries + 1))
        self._record_end(delivery, tries + 1)
        if tries >= limits.DELIVERIES:
            for kind, target in delivery.left.items():
                self._add(delivery, _not_run(target, _GIVEN_UP, kind))
            return
        fault_points.at("end_owing")
        self.deliver(delivery)

    def to_file(self, delivery: Delivery) -> None:
        """Append the event to the file that is left."""
        left = delivery.left
        if FILE in left:
            own = [self._request.root, *self._request.own]
            self._add(delivery, append(delivery.event, left[FILE], own, self._request.definition.sandbox))

    def deliver(self, delivery: Delivery) -> None:
        """Notify the sinks that are left. The command of a hit is run when `is_free`."""
        self.to_file(delivery)
        command = delivery.left.get(COMMAND)
        if command is None:
            return
        why = self._refused(delivery)
        runner = self._hits if delivery.watch else self._ends
        failed = _not_run(command, why) if why else runner.run(delivery, command)
        if failed:
            self._add(delivery, failed)
        else:
            self.has_started = True

    def _ended(self, delivery: Delivery, result: Result, *, too_long: bool) -> None:
        """Take note of a command that has ended."""
        self._strikes[delivery.watch] = self._strikes.get(delivery.watch, 0) + 1 if too_long else 0
        self._add(delivery, result)
        self._on_done()

    def _add(self, delivery: Delivery, result: Result) -> None:
        """Record what became of a delivery, and put it into the history: of the hits of a watch, so
        many a minute as the history has hits."""
        if self._is_for_history(delivery, result):
            content = {"sink_type": result["sink_type"], "target": result["target"]}
            content |= {"event_type": MATCHED, "watch": delivery.watch} if delivery.watch else {"event_type": FINISHED}
            failure = {} if result["success"] else {"error": result.get("error")}
            self._tell(history.NOT_NOTIFIED if failure else history.NOTIFIED, **content, **failure)
        delivery.add(result)

    def _is_for_history(self, delivery: Delivery, result: Result) -> bool:
        if not delivery.watch:
            return True
        if time.monotonic() - self._minute_began >= _MINUTE_S:
            self._minute_began = time.monotonic()
            self._recorded.clear()
        self._recorded[delivery.watch, result["sink_type"]] += 1
        return self._recorded[delivery.watch, result["sink_type"]] <= limits.HITS_A_MINUTE

    def end_predecessors(self) -> None:
        """Kill the command that a killed supervisor had started: it will run once more, and nothing
        else would end this one."""
        for member in tree.with_cookie(self._job.job_id, sinks=True):
            for one in (*tree.below(member.pid), member):  # below bwrap, which would die alone
                process.send_signal(one.pid, one.start, signal.SIGKILL)

    # --- completion_event.json ---

    def _begun(self) -> tuple[bool, list[Result], int]:
        """Return whether no sink is left, what became of each so far, and how often the delivery was begun."""
        try:
            record = parse_json(atomic_file.read(self._job.fd, COMPLETION))
            results: list[Any] = [result for result in record.get("delivery_results", []) if isinstance(result, dict)]
            return not record.get("pending"), results, int(record.get("tries", 1))
        except (OSError, ValueError, AttributeError, TypeError):  # missing, cut off, or edited
            return False, [], 0

    def _record_end(self, delivery: Delivery, tries: int) -> None:
        pending = bool(delivery.left)
        content = {
            **delivery.event,
            "delivery_results": delivery.results,
            "delivered": delivery.is_delivered,
            "pending": pending,
            **({"tries": tries} if pending and tries > 1 else {}),
        }
        if not pending:
            fault_points.at("end_told")
        try:
            atomic_file.write_atomic(self._job.fd, COMPLETION, json.dumps(content, ensure_ascii=True).encode() + b"\n")
        except OSError:
            return  # full or removed: the deliveries themselves still count
        if not pending:
            fault_points.at("end_done")

    # --- commands ---

    def _refused(self, delivery: Delivery) -> str | None:
        """Return why the command of this delivery is not run, None if it is."""
        if delivery.watch in self.dropped:
            return _REMOVED
        if delivery.event.get("reason") == "denied":
            return _DENIED
        return _TOO_OFTEN if self._strikes.get(delivery.watch, 0) >= limits.SINK_STRIKES else None

    def reaped(self, pid: int, status: int) -> None:
        """Take note of a child that ended."""
        for command in (self._ends, self._hits):
            if command.pid == pid:
                command.reaped(status)

    def kill(self) -> None:
        """End all notification commands: their job is being removed."""
        for command in (self._ends, self._hits):
            command.kill()


class _Command:
    """Runs one command at a time, beside the loop and killed after its own time limit. `ended(delivery, result,
    too_long)` is called then."""

    def __init__(self, job: JobDir, loop: EventLoop, request: Request, kind: str, ended: Callable[..., None]) -> None:
        self._job = job
        self._ended = ended
        self._time_limit = loop.timer(self._overdue)
        self._request = request
        self._kind = kind
        self._too_long = False
        self._running: tuple[Delivery, Result] | None = None
        self.pid: int | None = None

    def run(self, delivery: Delivery, command: str) -> Result | None:
        """Start the command. Return what to record if it cannot be started."""
        result = _result(COMMAND, command)
        try:
            self.pid = self._spawn(delivery.event, command)
        except OSError as error:
            return {**result, "error": f"could not start: {error.strerror}"}
        self._running, self._too_long = (delivery, result), False
        self._time_limit.after(limits.SINK_TIMEOUT_S)
        return None

    def _spawn(self, event: Event, command: str) -> int:
        inherited = self._request.inherited()
        own = {
            tree.COOKIE: self._request.job_id,
            "OUTLIVE_ROOT": self._request.root,
            "OUTLIVE_EVENT_PATH": os.path.join(self._job.path, COMPLETION if self._kind == FINISHED else NOTIFICATIONS),
            tree.SINK_MARK: self._kind,
        }
        words = [*self._request.sink_shell, command]
        definition = self._request.definition
        cwd, cwd_id = (definition.cwd, definition.cwd_id) if os.path.isdir(definition.cwd) else ("/", None)
        event_file = fds.memory_file("event", json.dumps(event, ensure_ascii=True).encode() + b"\n")
        with Closing(event_file), Closing(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) as null:
            stdio = {0: event_file, 1: null, 2: null}
            how = spawn.How(cwd, cwd_id, self._request.umask)
            if definition.sandbox is None:
                return spawn.spawn(words, inherited | own, stdio, how)
            confines = confinement.installed()
            # Of a job on another machine nothing has limited them yet
            limited = confines.inherited(definition.sandbox, inherited)
            return confines.start_sink(definition.sandbox, words, limited | own, stdio, how, self._job.fd)

    def reaped(self, status: int) -> None:
        self._time_limit.cancel()
        self.pid = None
        if self._running is not None:
            (delivery, result), self._running = self._running, None
            self._ended(delivery, self._outcome(result, status), too_long=self._too_long)

    def _outcome(self, result: Result, status: int) -> Result:
        """Return what became of a command with this wait status."""
        code = os.waitstatus_to_exitcode(status)
        result["exit_code"], result["success"] = (code if code >= 0 else None), code == 0
        if self._too_long:
            result["success"], result["error"] = False, f"killed after {limits.SINK_TIMEOUT_S:.0f} s"
        elif code:
            because = f"ended by signal {-code}" if code < 0 else f"exited with code {code}"
            result["error"] = because + (_NOT_FOUND if code == _NO_COMMAND else "")
        return result

    def _overdue(self) -> None:
        self._too_long = True
        self.kill()

    def kill(self) -> None:
        if self.pid is None:
            return
        for member in [*tree.below(self.pid), tree.Member(self.pid, process.start_time(self.pid) or 0)]:
            process.send_signal(member.pid, member.start, signal.SIGKILL)


def append(event: Event, path: str, own: list[str], sandbox: Sandbox | None = None) -> Result:
    """Add one line by one write to a file opened for appending, so that lines of several jobs do
    not mix. A file that is `own` of outlive, or in such a directory, is refused."""
    result = _result(FILE, path)
    line = json.dumps(event, ensure_ascii=True).encode() + b"\n"
    try:
        owner = own_files.owner_of(path, own)
        if owner is not None:
            return {**result, "error": own_files.refusal(owner)}
        with Closing(_opened(path, sandbox, own)) as fd:
            if why := own_files.why_refused(fd, own):  # by a link that was made in between, too
                return {**result, "error": why}
            fds.write_all(fd, b"\n" + line if _is_cut(fd) else line)
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0)
        return {**result, "error": f"{name}: {error.strerror}" if name else error.strerror or str(error)}
    except (ValueError, TypeError) as error:  # a NUL or half a character in the path, or no text at all
        return {**result, "error": f"not a path: {error}"}
    return {**result, "success": True}


def _is_cut(fd: int) -> bool:
    """Return whether the last line of a file has no end: its writer was killed in the middle of it,
    or the disk was full. The next line would become part of it."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return False
    try:
        with Closing(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)) as reader:
            if _has_end(reader):
                return False
            time.sleep(_WRITING_S)  # another job may be in the middle of its line
            return not _has_end(reader)
    except OSError:  # it may only be written
        return False


def _has_end(fd: int) -> bool:
    """Return whether the last line of a file has its newline, or the file is empty."""
    return os.pread(fd, 1, max(0, os.fstat(fd).st_size - 1)) in (b"", b"\n")


def _opened(path: str, sandbox: Sandbox | None, own: list[str]) -> int:
    if sandbox is not None:
        return confinement.installed().open_writable(sandbox, path, _APPEND, 0o600)
    place, links = followed(path)
    jobs = workspaces.noted_in(own)  # a link there says what a job wants
    jobs += mounts.other_names(jobs)
    made = next((link for link in links if is_in(link, jobs)), None)
    if made is not None:
        raise OSError(0, f"{made} is a link that a job in a sandbox could have made; name the file itself")
    if place is not None and is_in(place, jobs):  # a job may make a link on the way at any time: none is followed
        folder, name = os.path.split(place)
        make_folders(folder)
        with Closing(opened(folder)) as there:
            return os.open(name, _APPEND | os.O_NOFOLLOW, 0o600, dir_fd=there)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return os.open(path, _APPEND, 0o600)


def _not_run(target: str, why: str, kind: str = COMMAND) -> Result:
    return {**_result(kind, target), "error": why}


def _result(kind: str, target: str) -> Result:
    return {"sink_type": kind, "target": target, "success": False, "attempted_at": timestamp()}
