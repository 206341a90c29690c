"""The mirror: the process that holds the lock of a job that runs on another machine.

It stands where the supervisor of a local job stands: it writes the job's directory, serves the
control socket and tells the sinks. But the command is somewhere else, and all that the mirror knows
of it comes over a connection, which may break at any moment. A mirror that is killed is started
again by the next reader.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from outlive import limits
from outlive.core.quoted import cut
from outlive.core.records import Definition, Ending, HostQueue, State
from outlive.core.units import timestamp
from outlive.errors import OutliveError, from_os
from outlive.parts.hosts import ends
from outlive.parts.hosts.ssh import origin
from outlive.parts.hosts.ssh.connecting import wire, words
from outlive.parts.hosts.ssh.connecting.bundle import Bundle
from outlive.parts.hosts.ssh.connecting.connection import is_crowded, unreachable
from outlive.parts.hosts.ssh.connecting.reconnecting import Link, Turns
from outlive.parts.hosts.ssh.connecting.relay import Relay
from outlive.parts.hosts.ssh.local_copy import FarEvents, LocalCopy
from outlive.parts.hosts.ssh.record import AGENT, SshRecord
from outlive.parts.sandbox import BEFORE
from outlive.store import history
from outlive.store.inspection import handed_over, unseen_end
from outlive.store.job_dir import JobDir
from outlive.supervisor.control_requests import ControlRequest, Kill, Reload
from outlive.supervisor.control_server import STATE, Connection, ControlServer, listen
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.recorder import EventRecorder
from outlive.supervisor.request import Request
from outlive.supervisor.supervisor import SURVIVED
from outlive.system import fault_points, fds, signals

_UNREACHABLE_S = 3.0  # a connection that is back within this was never away
_SUBMIT_S = limits.LAUNCH_S - 5  # a start that is not known to have happened by then is reported all the same
_WAITS_S = 5.0  # a start that still waits for a connection is reported as waiting
_GIVE_UP_S = 600.0  # and is given up after this
_CONNECTING = "CONNECTING"  # the state in `queue`
_TURN = "other connections to this host are made first"
_FORGET_AGAIN_S = 2.0
# What means something on its own machine alone
_OF_ITS_MACHINE = ("identity", "init", "group", "job_group", "supervisor", "started_ns", "boot_id")
_OURS = {"format": limits.JOB_FORMAT, "schema_version": limits.SCHEMA_VERSION}  # it is written here
_AFTER_THE_END = ("dropped_bytes", "log_bytes", "log_cuts", "usage")  # what changes then


class Mirror:
    """The mirror of one job. `start`: what our end is to start, None for a job that was started.
    `waiter`: where the start is reported."""

    def __init__(
        self, job: JobDir, request: Request, start: dict[str, object] | None, waiter: socket.socket | None
    ) -> None:
        self._job = job
        self._request = request
        self._definition = request.definition
        self._start, self._waiter = start, waiter
        self._record = handed_over.read_as(SshRecord, job) or SshRecord()
        self._state = job.read_state()
        self._loop = EventLoop()
        self._copy = LocalCopy(job, self._definition.quota_bytes)
        self._control = ControlServer(self._loop, listen(job), self._serve, self._on_fault)
        self._recorder = EventRecorder(
            job,
            self._loop,
            # Commands that notify run here, where its directory is none: what stands at that path may change at any time
            Request.replace(request, definition=Definition.replace(request.definition, cwd="/")),
            end=lambda: self._copy.end,
            on_event=self._control.state,
            on_idle=self._check_done,
        )
        self._link = Link(
            self._loop,
            self._record.settings,
            # A reader that started the mirror again may know no agent
            {AGENT: self._record.agent, **request.environment} if self._record.agent else request.environment,
            Bundle(),
            Turns(request.root, self._record.settings, lambda: self._wait(_TURN) if self._is_unsent else None),
            self,
        )
        self._relay = Relay(self._loop, self._link, str(self._definition.host))
        self._events = FarEvents(job)
        # What our end says → what is done about it. Opened and Beat say nothing new
        self._actions: dict[type[words.Word], Callable[[Any], None]] = {
            words.Started: self._take_start,
            words.Followed: self._take_followed,
            words.Events: self._take_events,
            words.Status: lambda word: self._take_state(word.state),
            words.Answer: lambda word: self._relay.answered(word.id, word.content),
            words.Over: self._take_over,
            words.Forgotten: self._take_forgotten,
            words.Gone: self._take_absence,
            words.Kept: lambda word: self._say(words.Drop(jobs=origin.gone(request.root, word.jobs))),
            words.Refused: self._refused,
        }
        self._next_report_of_wait = self._loop.timer(self._report_wait)
        self._report_loss = self._loop.timer(self._unreachable)
        self._next_check = self._loop.timer(self._check_done)
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
            self._loop.timer(lambda: self._report() if self._sent_start else None).after(_SUBMIT_S)
            self._next_report_of_wait.after(_WAITS_S)
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
        if not history.recorded(self._job, history.FINISHED):
            self._recorder.ended(self._state)
        self._tell_end()

    # --- the connection ---

    def up(self) -> None:
        settings, written = self._record.settings, self._record.written
        self._say(words.opening(settings, written, origin.name_of(self._request.root)))
        if self._start is not None:
            if not self._job.is_in_place():  # the launcher gave up waiting, and reported that nothing ran
                os._exit(0)
            if not self._note_asked():
                return
            self._sent_start = True
            self._link.send(wire.message(wire.DATA, 0, json.dumps(self._start).encode()) + words.Start().packed())
            fault_points.at("mirror_sent")
        else:
            self._follow()

    def _say(self, word: words.Word) -> None:
        self._link.send(word.packed())

    def _note_asked(self) -> bool:
        """Note on the disk that the other machine is asked for the start: from here on it may run.
        Return False if that cannot be written; nothing is asked then."""
        record = SshRecord.replace(self._record, queue=None, asked=True)
        try:
            handed_over.write_synced(self._job, record)
        except OSError as error:
            self._give_up(from_os(f"writing {self._job.path}/{handed_over.ENGINE}", error, on="store"))
            return False
        self._record = record
        fault_points.at("mirror_asked")
        return True

    def _follow(self) -> None:
        self._over = False
        self._say(self._copy.follow())

    def down(self, why: str) -> None:
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
        if not self._report_loss.is_set:
            self._report_loss.after(_UNREACHABLE_S)

    # --- a start that waits for a connection ---

    @property
    def _is_unsent(self) -> bool:
        """Whether the job is to be started, and the other machine was not asked for it."""
        return self._start is not None and not self._sent_start

    def _wait(self, why: str) -> None:
        """Note why the job waits. After a while nothing is tried any more."""
        if time.monotonic() - self._began > _GIVE_UP_S:
            message = f"{unreachable(str(self._definition.host), why).message}; it never ran"
            self._never_started("launch", message)
            return
        before = self._record.queue or HostQueue(since=timestamp())
        if before.reason != why:
            self._note(SshRecord.replace(self._record, queue=HostQueue.replace(before, state=_CONNECTING, reason=why)))
            self._control.state()

    def _report_wait(self) -> None:
        """Tell the caller that the job waits, so that it need not wait too."""
        if self._is_unsent and self._record.queue is not None and self._waiter is not None:
            self._recorder.tell(history.QUEUED, state=_CONNECTING, reason=self._record.queue.reason)
            self._report()
        elif self._is_unsent and self._waiter is not None:  # the first connection takes long
            self._next_report_of_wait.after(_WAITS_S)

    def _never_started(self, reason: str, message: str, ending: Ending | None = None) -> None:
        self._link.close()
        self._start = None
        self._over = self._forgotten = True
        self._take_state(unseen_end.failed(self._definition, State(), reason, message, ending))

    # --- a connection that is lost ---

    def _unreachable(self) -> None:
        if self._record.unreachable_since is None:
            self._recorder.tell(history.UNREACHABLE, message=self._why)
            self._note(SshRecord.replace(self._record, unreachable_since=timestamp()))
            self._control.state()

    def _reached(self) -> None:
        self._report_loss.cancel()
        self._link.works()
        self._relay.opened()
        if self._record.unreachable_since is not None:
            self._recorder.tell(history.REACHABLE)
            self._note_reached()
            self._control.state()

    def _note_reached(self) -> None:
        self._note(SshRecord.replace(self._record, unreachable_since=None))

    def _note(self, record: SshRecord) -> None:
        self._record = record
        try:
            handed_over.write(self._job, record)
        except OSError:  # a full disk: it stays in memory
            return

    # --- what comes ---

    def take(self, kind: int, at: int, data: wire.Content) -> None:
        if kind == wire.WORD:
            assert isinstance(data, bytes)
            word = words.unpacked(data)
            if (action := self._actions.get(type(word))) is not None:
                action(word)
            return
        self._copy.take(kind, at, data)
        if kind in (wire.STDOUT, wire.STDERR, wire.MASK0, wire.MASK1):
            self._control.output()
            self._recorder.output()

    def _take_events(self, word: words.Events) -> None:
        for event in self._events.new(word.events):
            self._recorder.tell(event.pop("type"), **event)

    def _take_start(self, _word: words.Started) -> None:
        self._start = None
        self._follow()

    def _take_over(self, _word: words.Over) -> None:
        self._over = True
        self._check_done()

    def _take_forgotten(self, _word: words.Forgotten) -> None:
        self._forgotten = True
        self._check_done()

    def _take_followed(self, word: words.Followed) -> None:
        self._reached()
        if word.cwd != self._definition.cwd:
            try:
                self._definition = self._job.change_meta(lambda known: Definition.replace(known, cwd=word.cwd))
            except (OSError, OutliveError):  # it says what was asked for
                return

    def _take_state(self, there: State) -> None:
        """Take over the state, without what means something on its own machine alone."""
        there = self._copy.cut(there)
        if self._ended and self._state is not None:
            self._write(State.replace(self._state, **{name: getattr(there, name) for name in _AFTER_THE_END}))
            return
        ours: dict[str, Any] = {**dict.fromkeys(_OF_ITS_MACHINE), **_OURS}
        # Another machine does not say how long answers are
        message = there.message and cut(there.message, limits.SHOWN_BYTES)
        state: State = State.replace(there, job_id=self._job.job_id, message=message, **ours)
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
        if self._state is not None and State.replace(state, updated_at=self._state.updated_at) == self._state:
            return
        self._state = self._job.write_state(state)
        self._control.state()

    def _take_absence(self, _word: words.Gone) -> None:
        """The job's directory is not there. It was deleted there, or the job was never started."""
        self._over = self._forgotten = True
        if not self._ended:  # else it was forgotten, and the mirror killed before it heard of it
            self._take_state(ends.absent(self._definition, self._state))
        self._check_done()

    def _refused(self, word: words.Refused) -> None:
        if word.refused == words.Forget.__name__:
            self._next_check.after(_FORGET_AGAIN_S)
            return
        error = word.error
        if word.refused in (words.Start.__name__, words.Open.__name__) and self._start is not None:
            self._give_up(error.of_host(str(self._definition.host)))
            return
        self._link.drop(error.message)

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
        self._control.add(waiter)

    def _give_up(self, error: OutliveError) -> None:
        """Report that nothing was started, and leave the job to the caller that waits. Without one
        the job ends here."""
        self._link.close()
        if self._waiter is not None:
            handed_over.delete(self._job)
            try:
                fds.send(self._waiter, json.dumps({"error": error.to_dict()}).encode())
                os._exit(0)
            except OSError:  # it was killed
                self._waiter.close()
                self._waiter = None
        self._never_started("launch", f"{error.message}; it never ran")

    # --- requests of readers ---

    def _serve(self, connection: Connection, request: ControlRequest, files: list[int]) -> None:
        if isinstance(request, Reload):
            self._recorder.look_for(self._definition_now())
            connection.answer(ok=True)
            return
        if isinstance(request, Kill) and request.removing:
            self._recorder.silence()
        if self._ended and self._over:
            connection.answer(ok=True, written=0, closed=True, eof=False, usage=None, descendants=0)
            return
        if self._is_unsent and isinstance(request, Kill):
            ending = Ending(cause="kill", by=request.by, at=timestamp())
            self._never_started("kill", "it was cancelled before it started; it never ran", ending)
            connection.answer(ok=True)
            return
        data = fds.read_all(files[0]) if files else b""
        self._relay.take(connection, request, data)

    # --- the end ---

    def _tell_end(self) -> None:
        assert self._state is not None
        self._recorder.note_end(self._state)
        self._recorder.sinks.finished(self._definition_now(), self._state)
        self._check_done()

    def _check_done(self) -> None:
        if not (self._ended and self._over):
            return
        if self._recorder.busy:  # it calls when it is done; the timer costs little
            self._next_check.after(_FORGET_AGAIN_S)
            return
        if not self._forgotten:
            try:
                self._copy.sync()
            except OSError:  # a full disk
                self._next_check.after(_FORGET_AGAIN_S)
                return
            self._say(words.Forget())
            return
        self._loop.timer(self._loop.stop).after(0)

    def _finish(self) -> None:
        self._link.close()
        self._report_loss.cancel()
        self._note_reached()
        if self._state is not None and self._job.has(BEFORE):  # commands that notify ran here
            with suppress(OSError):  # on a full disk the message is lost, and nothing else: what was armed is renamed
                self._write(self._recorder.workspace(self._definition, self._state))
        self._job.unmark_live()
        self._job.release_reserve()
        self._control.state()
        self._job.remove_io()
        self._recorder.close()
        self._control.close()
        self._copy.close()

    def _on_fault(self, error: Exception) -> None:
        self._recorder.fault(error)

    def _definition_now(self) -> Definition:
        try:
            return self._job.read_meta()
        except (OSError, OutliveError):
            return self._definition
