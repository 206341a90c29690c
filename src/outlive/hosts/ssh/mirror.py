"""The mirror: the process that holds the lock of a job that runs on another machine.

It stands where the supervisor of a local job stands: it writes the job's directory, serves the
control socket and tells the sinks. But the command is somewhere else, and all that the mirror knows
of it comes over a connection, which may break at any moment. A mirror that is killed is started
again by the next reader.
"""

from __future__ import annotations

import os
import sys
import time

from outlive import fastjson, limits
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.hosts.ssh import origin, wire
from outlive.hosts.ssh.bundle import Bundle
from outlive.hosts.ssh.connection import is_crowded, unreachable
from outlive.hosts.ssh.link import Link
from outlive.hosts.ssh.relay import Relay
from outlive.hosts.ssh.replica import Replica
from outlive.hosts.ssh.turns import Turns
from outlive.store import engine_record, history
from outlive.store.inspect import LOST
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.supervisor.control_server import STATE, ControlServer, listen
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.recorder import EventRecorder
from outlive.supervisor.request import Request, report_fault
from outlive.supervisor.supervisor import SURVIVED
from outlive.system import daemonize, fds, prctl, signals, tree
from outlive.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from outlive.supervisor.control_server import Connection

AGENT = "SSH_AUTH_SOCK"
_UNREACHABLE_S = 3.0  # a connection that is back within this was never away
_SUBMIT_S = limits.LAUNCH_S - 5  # a start that is not known to have happened by then is reported all the same
_WAITS_S = 5.0  # a start that still waits for a connection is reported as waiting
_GIVE_UP_S = 600.0  # and is given up after this
_CONNECTING = "CONNECTING"  # the state in `queue`
_TURN = "other connections to this host are made first"
_FORGET_AGAIN_S = 2.0
_GRACE_S = 0.2  # after everything is done, for an answer that is under way
# What means something on its own machine alone
_OF_ITS_MACHINE = ("identity", "init", "group", "job_group", "supervisor", "started_ns", "boot_id")
# Those of the other machine that this one tells itself, from the state
_OWN_EVENTS = frozenset({history.FINISHED, history.LEFT_OUT})


class Mirror:
    """The mirror of one job. `start`: what our end is to start, None for a job that was started.
    `waiter`: where the start is reported."""

    def __init__(
        self,
        job: JobDir,
        request: Request,
        start: dict[str, Any] | None,
        waiter: socket.socket | None,
    ) -> None:
        self._job = job
        self._request = request
        self._definition: Definition = Definition.of(request.definition)
        self._start, self._waiter = start, waiter
        self._record = engine_record.read(job) or {}
        self._state = job.read_state()
        self._loop = EventLoop()
        self._replica = Replica(job, self._definition.quota_bytes)
        self._control = ControlServer(self._loop, listen(job), self._serve, self._on_fault)
        self._recorder = EventRecorder(
            job,
            self._loop,
            request,
            self._definition,
            end=lambda: self._replica.end,
            on_event=self._control.state,
            on_idle=self._check_done,
        )
        self._link = Link(
            self._loop,
            self._record["settings"],
            _environment(request.environment, self._record),
            Bundle(),
            Turns(request.root, self._record["settings"], lambda: self._wait(_TURN) if self._is_unsent else None),
            on_up=self._up,
            on_message=self._take,
            on_down=self._down,
        )
        self._relay = Relay(self._loop, self._link, str(self._definition.host))
        self._seen_events: dict[tuple[str, int, str], int] | None = None
        self._last_event = 0  # `n` of the newest one there that is here
        self._why = ""
        self._began = time.monotonic()
        self._sent_start = False
        self._over = self._forgotten = self._ended = False

    # --- life ---

    def run(self) -> None:
        """Follow the job until all of it is here, and nothing is left there."""
        wakeup = signals.wakeup_pipe((signal.SIGCHLD, *SURVIVED))
        self._loop.read(wakeup, lambda: self._woken(wakeup))
        if self._waiter is not None:
            self._loop.after("submit", _SUBMIT_S, lambda: self._report() if self._sent_start else None)
            self._loop.after("waits", _WAITS_S, self._report_wait)
        if self._state is not None and self._state.finished:
            self._goes_on_after_end()
        self._recorder.look_for(self._definition_now())
        self._link.connect()
        self._loop.run()
        self._finish()

    def _woken(self, wakeup: int) -> None:
        try:
            os.read(wakeup, 4096)
        except BlockingIOError:
            return
        for pid in self._recorder.sinks.pids:
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
            if done:
                self._recorder.sinks.reaped(done, status)

    def _goes_on_after_end(self) -> None:
        """Tell what a killed mirror had not told of the end."""
        assert self._state is not None
        self._ended = True
        self._recorder.look_for(self._definition_now())
        self._recorder.last_hits()
        if not history.has(self._job, history.FINISHED):
            self._recorder.ended(self._state)
        self._tell_end()

    # --- the connection ---

    def _up(self) -> None:
        own = origin.name_of(self._request.root)
        self._link.send(wire.word(do="open", root=self._record["settings"].get("root"), origin=own))
        if self._start is not None:
            if not self._job.is_in_place():  # the launcher gave up waiting, and reported that nothing ran
                os._exit(0)
            self._sent_start = True
            if self._record.get("queue"):
                self._note(queue=None)
            self._link.send(wire.message(wire.DATA, 0, fastjson.dumps(self._start).encode()) + wire.word(do="start"))
        else:
            self._follow()

    def _follow(self) -> None:
        self._over = False
        self._link.send(wire.word(do="follow", job=self._job.job_id, has=self._replica.has()))

    def _down(self, why: str) -> None:
        self._why = why
        self._relay.broken(why)
        if not self._job.is_in_place():  # it was deleted by hand
            os._exit(0)
        if self._is_unsent:
            if self._waiter is None or is_crowded(why):
                self._wait(why)
                return
            # Nothing was asked for, so nothing will run: the caller hears it and takes the job back
            self._give_up(unreachable(str(self._definition.host), why))
            return
        if not self._loop.is_set("unreachable"):
            self._loop.after("unreachable", _UNREACHABLE_S, self._unreachable)

    # --- a start that waits for a connection ---

    @property
    def _is_unsent(self) -> bool:
        """Whether the job is to be started, and the other machine was not asked for it."""
        return self._start is not None and not self._sent_start

    def _wait(self, why: str) -> None:
        """Note why the job waits. After a while nothing is tried any more."""
        if time.monotonic() - self._began > _GIVE_UP_S:
            message = f"{unreachable(str(self._definition.host), why).message}; it never ran"
            self._never_started(state="failed", reason="launch", message=message)
            return
        before = self._record.get("queue") or {"since": timestamp()}
        if before.get("reason") != why:
            self._note(queue={"state": _CONNECTING, "reason": why, "since": before["since"]})
            self._control.state()

    def _report_wait(self) -> None:
        """Tell the caller that the job waits, so that it need not wait too."""
        if self._is_unsent and self._record.get("queue") and self._waiter is not None:
            self._recorder.tell(history.QUEUED, state=_CONNECTING, reason=self._record["queue"]["reason"])
            self._report()
        elif self._is_unsent and self._waiter is not None:  # the first connection takes long
            self._loop.after("waits", _WAITS_S, self._report_wait)

    def _cancel(self, connection: Connection, request: dict[str, Any]) -> None:
        """End a job that waits."""
        name = signals.name_of(request["signal"])
        ending = {"cause": "kill", "by": request["by"], "signal": name, "at": timestamp(), "kill_at_ns": None}
        message = "it was cancelled before it started; it never ran"
        self._never_started(state="killed", reason="kill", ending=ending, message=message)
        connection.answer(ok=True)

    def _never_started(self, **end: Any) -> None:
        self._link.close()
        self._start = None
        self._over = self._forgotten = True
        base: State = State(job_id=self._job.job_id, started_at=self._definition.created_at)
        self._take_state(base.replace(phase="finished", finished_at=timestamp(), **end))

    # --- a connection that is lost ---

    def _unreachable(self) -> None:
        if self._record.get("unreachable_since") is None:
            self._recorder.tell(history.UNREACHABLE, message=self._why)
            self._note(unreachable_since=timestamp(), unreachable_why=self._why)
            self._control.state()

    def _reached(self) -> None:
        self._loop.cancel("unreachable")
        self._link.works()
        self._relay.opened()
        if self._record.get("unreachable_since") is not None:
            self._recorder.tell(history.REACHABLE)
            self._note(unreachable_since=None, unreachable_why=None)
            self._control.state()

    def _note(self, **facts: Any) -> None:
        self._record = {name: value for name, value in {**self._record, **facts}.items() if value is not None}
        try:
            engine_record.write(self._job, self._record)
        except OSError:  # a full disk: it stays in memory
            return

    # --- what comes ---

    def _take(self, kind: int, at: int, data: wire.Content) -> None:
        if kind == wire.WORD:
            assert isinstance(data, bytes)
            self._hear(fastjson.loads(data))
            return
        self._replica.take(kind, at, data)
        if kind in (wire.STDOUT, wire.STDERR, wire.MASK0, wire.MASK1):
            self._control.output()
            self._recorder.output()

    def _hear(self, said: dict[str, Any]) -> None:
        if "events" in said:
            self._take_events(said["events"])
        elif "state" in said:
            self._take_state(State.of(said["state"]))
        elif "answer" in said:
            self._relay.answered(said["answer"], said.get("content"))
        elif "followed" in said:
            self._reached()
            self._take_directory(said["cwd"])
        elif "started" in said:
            self._start = None
            self._follow()
        elif "over" in said:
            self._over = True
            self._check_done()
        elif "gone" in said:
            self._take_absence()
        elif "forgotten" in said:
            self._forgotten = True
            self._check_done()
        elif "kept" in said:
            self._link.send(wire.word(do="drop", jobs=origin.gone(self._request.root, said["kept"])))
        elif "refused" in said:
            self._refused(said["refused"], said["error"])

    def _take_directory(self, cwd: str) -> None:
        if cwd != self._definition.cwd:
            try:
                self._definition = self._job.change_meta(lambda known: known.replace(cwd=cwd))
            except (OSError, OutliveError):  # it says what was asked for
                return

    def _take_events(self, events: list[dict[str, Any]]) -> None:
        """Add the events of the other machine that are not here yet."""
        if self._seen_events is None:  # a mirror before this one may have added some
            self._seen_events = {}
            for event in history.read(self._job)[0]:
                key = (event["type"], event["seq"], event["at"])
                self._seen_events[key] = self._seen_events.get(key, 0) + 1
        for event in events:
            key = (event["type"], event["seq"], event["at"])
            number = event.pop("n")
            if number <= self._last_event or event["type"] in _OWN_EVENTS:
                continue
            self._last_event = number
            if self._seen_events.get(key):
                self._seen_events[key] -= 1
                continue
            self._recorder.tell(event.pop("type"), **event)

    def _take_state(self, there: State) -> None:
        """Take over the state, without what means something on its own machine alone."""
        if self._ended and self._state is not None:
            sizes = {"dropped_bytes": there.dropped_bytes, "log_bytes": there.log_bytes, "usage": there.usage}
            self._write(State.of(self._state.to_dict() | sizes))
            return
        nothing: dict[str, Any] = dict.fromkeys(_OF_ITS_MACHINE)
        state: State = there.replace(job_id=self._job.job_id, **nothing)
        if not state.finished:
            self._write(state)
            self._report()
            return
        self._recorder.last_hits()
        self._state = self._job.write_state(state)  # OSError: the connection ends, and the next one brings it again
        self._recorder.ended(state)
        self._control.state()
        self._report()
        self._ended = True
        self._tell_end()

    def _write(self, state: State) -> None:
        if self._state is not None and state.replace(updated_at=self._state.updated_at) == self._state:
            return
        self._state = self._job.write_state(state)
        self._control.state()

    def _take_absence(self) -> None:
        """The job's directory is not there. It was deleted there, or the job was never started."""
        if self._ended:  # it was forgotten, and the mirror killed before it heard of it
            self._over = self._forgotten = True
            self._check_done()
            return
        host = self._definition.host
        if self._state is None or self._state.pid is None:
            message = f"the connection to host {host!r} broke before the job was started there; it never ran"
            reason = "launch"
        else:
            message, reason = f"its directory on host {host!r} was deleted{LOST}", "lost"
        base = self._state or State(job_id=self._job.job_id, started_at=self._definition.created_at)
        lost: State = base.replace(
            state="failed", phase="finished", reason=reason, message=message, finished_at=timestamp()
        )
        self._over = self._forgotten = True
        self._take_state(lost)
        self._check_done()

    def _refused(self, what: str, error: dict[str, Any]) -> None:
        if what == "forget":
            self._loop.after("forget", _FORGET_AGAIN_S, self._check_done)
            return
        if what in ("start", "open") and self._start is not None:
            retryable, hint = bool(error.get("retryable")), error.get("hint")
            message = f"on host {self._definition.host!r}: {error['message']}"
            known = OutliveError(error["code"], message, retryable=retryable, hint=hint)
            known.details = error.get("details")
            self._give_up(known)
            return
        self._link.drop(str(error.get("message")))

    # --- the caller that waits for the start ---

    def _report(self) -> None:
        if self._waiter is None:
            return
        waiter, self._waiter = self._waiter, None
        try:
            fds.send(waiter, STATE)
        except OSError:  # it was killed
            waiter.close()
            return
        self._control.add(waiter, wants_output=False)

    def _give_up(self, error: OutliveError) -> None:
        """Report that nothing was started, and leave the job to the caller that waits."""
        self._link.close()
        try:
            os.unlink(engine_record.ENGINE, dir_fd=self._job.fd)
        except OSError:  # the launcher was killed, and the job deleted
            pass
        if self._waiter is not None:
            try:
                fds.send(self._waiter, fastjson.dumps({"error": error.to_dict()}).encode())
            except OSError:
                pass
            self._waiter.close()
        os._exit(0)

    # --- requests of readers ---

    def _serve(self, connection: Connection, request: dict[str, Any], files: list[int]) -> None:
        if request["op"] == "reload":
            self._recorder.look_for(self._definition_now())
            connection.answer(ok=True)
            return
        if request["op"] == "kill" and request["removing"]:
            self._recorder.silence()
        if self._ended and self._over:
            connection.answer(ok=True, written=0, closed=True, eof=False, usage=None, descendants=0)
            return
        if self._is_unsent and request["op"] == "kill":
            self._cancel(connection, request)
            return
        data = fds.read_all(files[0]) if files else b""
        self._relay.take(connection, request, data)

    def _on_fault(self, error: Exception) -> None:
        self._recorder.fault(error)

    # --- the end ---

    def _tell_end(self) -> None:
        assert self._state is not None
        self._recorder.audit(self._state)
        self._recorder.sinks.finished(self._definition_now(), self._state)
        self._check_done()

    def _check_done(self) -> None:
        if not (self._ended and self._over):
            return
        if self._recorder.busy:  # it calls when it is done; the timer costs little
            self._loop.after("forget", _FORGET_AGAIN_S, self._check_done)
            return
        if not self._forgotten:
            try:
                self._replica.sync()
            except OSError:  # a full disk
                self._loop.after("forget", _FORGET_AGAIN_S, self._check_done)
                return
            self._link.send(wire.word(do="forget"))
            return
        self._loop.after("done", 0, self._loop.stop)

    def _finish(self) -> None:
        self._link.close()
        self._loop.cancel("unreachable")
        self._note(unreachable_since=None, unreachable_why=None)
        try:
            store = Store.existing(self._request.root)
            store.unmark_live(self._job.job_id)
            store.close()
        except (OSError, OutliveError):
            pass
        self._job.release_reserve()
        self._control.state()
        self._job.remove_io()
        self._recorder.close()
        self._control.close()
        self._replica.close()

    def _definition_now(self) -> Definition:
        try:
            return self._job.read_meta()
        except (OSError, OutliveError):
            return self._definition


def _environment(known: dict[str, str], record: dict[str, Any]) -> dict[str, str]:
    """Return the environment of ssh: a reader that started the mirror again may know no agent."""
    agent = record.get("agent")
    return {AGENT: str(agent), **known} if agent else known


def main() -> int:
    """Detach, and be the mirror of the job whose request is on stdin. The arguments are the numbers
    of the fds of its lock and of the socket on which the start is reported (-1: none)."""
    lock, waiter = map(int, sys.argv[1:3])
    request = fds.memory_file("request", fds.read_all(0))
    keep = {fd for fd in (request, lock, waiter) if fd >= 0}
    daemonize.fork_away(lambda: _run(request, waiter), keep, tree.MIRROR)
    return 0


def _run(request_fd: int, waiter_fd: int) -> int:
    content = fastjson.loads(fds.read_all(request_fd))
    os.close(request_fd)
    request = Request.of(content["request"])
    prctl.rename(f"{tree.MIRROR} {request.job_id}")
    path = os.path.join(request.root, request.job_id)
    job = JobDir(request.root, request.job_id, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    waiter = fds.socket_of(waiter_fd) if waiter_fd >= 0 else None
    if waiter is not None:
        waiter.setblocking(True)
    try:
        Mirror(job, request, content["start"], waiter).run()
    except Exception as error:
        report_fault(request, "mirror", error)
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
