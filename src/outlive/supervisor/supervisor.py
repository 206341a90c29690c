"""The supervisor of one job: a table of event × phase → action, and the actions. A guardian that took
over from a killed one runs this too, and an adopter started by a reader."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable

from outlive import limits
from outlive.core.records import State
from outlive.store import history
from outlive.store.job_dir import JobDir
from outlive.supervisor.added import AllAdded, Running
from outlive.supervisor.control_requests import ControlRequest, GetState, Kill, Reload
from outlive.supervisor.control_server import Connection, ControlServer
from outlive.supervisor.ending.command_end import CommandEnd
from outlive.supervisor.ending.kill import AskedEnd
from outlive.supervisor.ending.members import Members, Reaper, Sampling
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.recorder import EventRecorder
from outlive.supervisor.input.stdin import Input, NoInput
from outlive.supervisor.job_fds import JobFds
from outlive.supervisor.job_record import JobRecord
from outlive.supervisor.output.log_files import LogFiles
from outlive.supervisor.output.pump import DropCounter, Pump
from outlive.supervisor.output.quota import Quota
from outlive.supervisor.request import Request
from outlive.system import fault_points, signals

Action = Callable[[], None] | None

_AFTER_END_S = 0.02  # at most, after an end whose callers answer now, before files are synced and sinks are told
_STARTED_S = 0.003  # an end that comes sooner is told to a caller that waits for it together with the start
_LINGER_CHECK_S = 1.0  # how often a lingering supervisor looks for descendants that are not its own children
_REOPENED_CHECK_S = 10.0  # how often pipes without a writer are checked for a new one
_DROPPED_EVERY_S = 1.0  # how often lost output is written down while the disk is full
_USED_AFTER_S = 1.0  # what reaped orphans have used is written down at most so often
_WRITE_AGAIN_S = 0.5  # after the disk did not take the outcome
_SYNC_AFTER_S = 0.05  # a job that still runs after this has its start synced to disk
# What must not end a supervisor: a terminal's end, a shutdown (it ends the job first), a broken pipe
SURVIVED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGALRM,
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGXFSZ)  # fmt: skip


class Phase:
    """How far the job is. A number is the column of the table. (The import of `enum` takes 3.4 ms.)"""

    RUNNING = 0  # the command runs, or its outcome is not known yet
    UNWRITTEN = 1  # the outcome is known, and the disk does not take it
    ENDED = 2  # the outcome is visible: callers are answered before anything is synced and sinks are notified
    LINGERING = 3  # something that it left behind lives, its pipes are open, or a sink is being notified


class Event:
    """What happens to a supervisor. Requests of clients are not events: they have answers."""

    COMMAND_ENDED = "command ended"  # a file says so
    SIGNAL = "signal"  # SIGCHLD among them
    SETTLE = "settle"  # the outcome may be known by now, or taken by the disk
    TIMEOUT = "timeout"
    IDLE = "idle"  # no output for so long, unless there was some
    PROGRESS = "progress"  # the state is to be written again
    UNHEARD = "unheard"  # no client is connected any more, or all had their time
    LOOK = "look"  # something that kept the job may be over


class Supervisor:
    """`parent`: the command is a child of this process, which it is not after an adoption."""

    def __init__(
        self, job: JobDir, request: Request, state: State, job_fds: JobFds, added: AllAdded, *, parent: bool
    ) -> None:
        self._job = job
        self._added = added
        self._request = request
        self._parent = parent
        self._phase = Phase.RUNNING
        self._loop = loop = EventLoop()
        self._control = ControlServer(
            loop,
            job_fds.listener,
            self._serve,
            self._on_fault,
            lambda: self.event(Event.UNHEARD),
        )
        self._record = record = JobRecord(job, request, state, self._control.state)
        self._recorder = EventRecorder(
            job,
            loop,
            request,
            end=lambda: self._pump.end,
            on_event=self._control.state,
            on_idle=lambda: self.event(Event.LOOK),
        )
        self._quota = Quota(job, record.definition.quota_bytes, self._recorder.tell)
        self._pump = Pump(
            loop,
            job_fds.sources,
            LogFiles(job, self._recorder.tell, record.write),
            DropCounter(job_fds, state.dropped_bytes, self._on_drop),
            self._quota,
            self._on_output,
            lambda: self.event(Event.LOOK),
        )
        self._pump.file_limit = state.file_limit
        if request.masked:
            self._pump.mask_lines(request.masked)
        self._members = Members(record, self._recorder.sinks, parent=parent)
        self._reaper = Reaper(state, parent=parent)
        self._command = CommandEnd(
            loop, job_fds, self._reaper, added, parent=parent, on_end=lambda: self.event(Event.COMMAND_ENDED)
        )
        self._asked = AskedEnd(
            loop,
            self._members,
            record,
            self._recorder.tell,
            on_gone=lambda: self.event(Event.LOOK),
            # A process in a sandbox is the child of another one: its end sends no SIGCHLD
            gets_sigchld=parent and job_fds.report is None,
        )
        self._sampling = Sampling(loop, job, self._members.pids, self._reaper, lambda: self._pump.end)
        self._is_looked_at = False  # whether its workspace was, since something of it ran
        self._input = NoInput()
        if job_fds.master is not None or job_fds.stdin is not None:
            self._input = Input(job, loop, job_fds, self._pump, self._members, record, self._recorder.tell)
        self._set_table()

    def _set_table(self) -> None:
        settle = self._settle
        self._table: dict[str, tuple[Action, Action, Action, Action]] = {
            # Event               RUNNING           UNWRITTEN         ENDED             LINGERING; None: nothing is done
            Event.COMMAND_ENDED: (settle,           settle,           None,             None),
            Event.SIGNAL:        (self._child_died, self._child_died, None,             self._check_done),
            Event.SETTLE:        (settle,           settle,           None,             None),
            Event.TIMEOUT:       (self._time_out,   None,             None,             None),
            Event.IDLE:          (self._idle,       None,             None,             None),
            Event.PROGRESS:      (self._progress,   None,             None,             None),
            Event.UNHEARD:       (None,             None,             self._after_end,  None),
            Event.LOOK:          (None,             None,             None,             self._check_done),
        }  # fmt: skip
        self._timers = {name: self._loop.timer(self.event, name) for name in self._table}
        self._started = self._loop.timer(self._control.state)
        self._sync = self._loop.timer(self._record.sync_start)
        self._record_drop = self._loop.timer(self._record_dropped)
        self._record_use = self._loop.timer(lambda: self._record.write_if_running(usage=self._reaper.usage()))

    def event(self, name: str) -> None:
        action = self._table[name][self._phase]
        if action is not None:
            action()

    # --- life ---

    def run(self, waiter: socket.socket | None, *, is_reported: bool = False) -> None:
        """See the job to its end, and return when nothing of it is left. `is_reported`: the waiter
        knows already that it runs."""
        wakeup = signals.wakeup_pipe((signal.SIGCHLD,))  # the others have a handler already (guardian.py)
        self._loop.read(wakeup, lambda: self._woken(wakeup))
        if waiter is not None:
            self._control.add(waiter)
        state = self._record.state
        self._recorder.begin(state)  # first: a reader that sees output of a successor finds it in the history
        self._pump.start(late=state.adopted > 0)
        if state.finished:
            self._control.state()
            self._phase = Phase.ENDED
            self._command.reap(state)
            self._asked.resume()
            self._recorder.look_for(self._record.current_definition())
            self._recorder.last_hits()
            self._quota.finish()
            self._recorder.ended(state)
            self._after_end()
        else:
            if not is_reported:
                self._started.after(_STARTED_S if self._parent else 0)
            self._recorder.look_for(self._record.current_definition() if state.adopted else self._record.definition)
            self._command.begin(state)
            self._set_timers()
            self._input.start()
        self._loop.run()
        self._finish()

    def _set_timers(self) -> None:
        definition, state = self._record.definition, self._record.state
        if definition.timeout_ms and state.started_ns is not None:
            self._timers[Event.TIMEOUT].at(state.started_ns / 1e9 + definition.timeout_ms / 1000)
        if definition.idle_timeout_ms:
            self._timers[Event.IDLE].after(definition.idle_timeout_ms / 1000)
        if definition.progress_every_ms:
            self._timers[Event.PROGRESS].after(definition.progress_every_ms / 1000)
        self._added.running(Running(self._loop, state, self._members.pids, self._reaper, self._asked.end_for))
        self._asked.resume()
        self._sampling.begin(state)
        self._sync.after(_SYNC_AFTER_S)

    def _woken(self, wakeup: int) -> None:
        try:
            os.read(wakeup, 4096)
        except BlockingIOError:
            return
        self._reap_orphans()
        self._asked.check()
        self.event(Event.SIGNAL)

    def _reap_orphans(self) -> None:
        unreaped = self._command.unreaped_pid(self._record.state)
        if self._reaper.orphans(unreaped, self._recorder.sinks) and not self._record_use.is_set:
            self._record_use.after(_USED_AFTER_S)

    # --- the end of the command ---

    def _child_died(self) -> None:
        if not self._command.is_watched:
            self._settle()

    def _settle(self) -> None:
        """Record the end of the command. The order must hold: output moved, status read, hits
        reported, outcome visible, command reaped, files synced, sinks notified."""
        fault_points.at("end_seen")
        self._pump.take_what_is_there()
        self._pump.mask(final=True)
        fault_points.at("end_moved")
        self._input.look()
        finished = self._record.unwritten or self._command.outcome(self._record.state, self._pump)
        if finished is None:
            if self._command.is_watched or not self._parent:
                self._timers[Event.SETTLE].after(limits.SWEEP_INTERVAL_S)
            return
        self._recorder.last_hits()
        self._quota.finish()  # what an answer about the end says of gaps is final; and it makes room on a full disk
        finished = self._recorder.workspace(self._record.definition, finished)
        try:
            self._record.write_outcome(finished)
        except OSError as error:
            self._keep(finished, error)
            return
        fault_points.at("end_written")
        # Before any client is woken: a client that waited for the end finds it in the history
        self._recorder.ended(self._record.state)
        self._phase = Phase.ENDED
        self._input.end()
        self._cancel_timers()
        self._control.state()
        self._command.reap(self._record.state)
        fault_points.at("end_reaped")
        # A client answers now, and a sync would keep the directory from its lookups
        self._timers[Event.UNHEARD].after(_AFTER_END_S if self._control.is_heard else 0)

    def _cancel_timers(self) -> None:
        for timer in (*self._timers.values(), self._started, self._sync):
            timer.cancel()
        self._sampling.end()

    def _keep(self, finished: State, error: OSError) -> None:
        """Keep an outcome that the disk does not take, for clients that ask, and try again. (The
        command is not reaped before: a successor has to find its status too.)"""
        if not self._job.is_in_place():  # the directory was deleted: there is nothing left to record
            self._loop.stop()
            return
        self._record.keep_unwritten(finished, error)
        if self._phase == Phase.RUNNING:
            self._phase = Phase.UNWRITTEN
            self._cancel_timers()
            self._control.state()
        self._timers[Event.SETTLE].after(_WRITE_AGAIN_S)

    def _after_end(self) -> None:
        self._phase = Phase.LINGERING
        self._timers[Event.UNHEARD].cancel()
        state = self._record.state
        self._record.sync_end(self._pump.files.unsynced())
        fault_points.at("end_synced")
        self._recorder.note_end(state)
        self._recorder.sinks.finished(self._record.current_definition(), state)
        self._input.end()
        self._reap_orphans()
        left = len(self._members.living())
        if left:
            self._job.mark_left()
        elif not self._recorder.is_owed(self._record.current_definition()):
            self._job.unmark_live()  # what is owed is on disk: a reader can see it without the mark
        self._recorder.left_behind(left)
        self._check_done()

    def _check_done(self) -> None:
        """Leave when no descendant lives, both pipes are at their end, and every sink was notified."""
        look = self._timers[Event.LOOK]
        if self._recorder.busy or self._asked.busy:
            # Both call `look` when they are done. The timer costs little, and a call that is
            # missing cannot keep this process
            look.after(_LINGER_CHECK_S)
            self._is_looked_at = False
            return
        living = bool(self._members.killable())
        # The output of a job that is removed may go on in another job, which has it open
        if not living and (self._record.is_doomed or not self._pump.look_again()):
            self._loop.stop()
            return
        if not living and not self._is_looked_at:  # another job may hold the pipes for long
            self._look_at_workspace()
        self._is_looked_at = not living
        if not self._parent:  # an adopter gets no SIGCHLD
            look.after(_LINGER_CHECK_S)
        elif self._pump.ended:  # a descendant may open its stdout again, by name
            look.after(_REOPENED_CHECK_S)

    def _finish(self) -> None:
        self._pump.files.check()
        self._pump.mask(final=True)
        self._reap_orphans()  # the last output may have ended before the signal of its writer's death came
        self._record.sync_late(self._pump.files.unsynced())  # before a state that counts these bytes
        self._look_at_workspace()
        state = self._record.state
        last = State.replace(self._pump.recorded_in(state), usage=self._reaper.usage())
        if last != state:
            self._record.state = last
            self._record.write()
        self._quota.finish()
        if self._reaper.group is not None:
            self._reaper.group.remove()
        self._job.release_reserve()
        self._job.remove_io()
        self._job.unmark_live()
        fault_points.at("end_unlinked")
        self._recorder.close()
        self._control.close()
        self._loop.close()

    def _look_at_workspace(self) -> None:
        """Look once more at what the job made: nothing of it runs any more."""
        state = self._recorder.workspace(self._record.definition, self._record.state)
        if state != self._record.state:
            self._record.write(message=state.message)

    # --- what the definition asks for ---

    def _time_out(self) -> None:
        self._asked.end_for("timeout")

    def _idle(self) -> None:
        quiet = time.monotonic() - self._pump.last_output
        left = self._record.definition.idle_timeout_ms / 1000 - quiet
        if left > 0:
            self._timers[Event.IDLE].after(left)
        else:
            self._asked.end_for("idle_timeout")

    def _progress(self) -> None:
        self._record.write()
        self._timers[Event.PROGRESS].after(self._record.definition.progress_every_ms / 1000)

    # --- output ---

    def _on_drop(self) -> None:
        if not self._record_drop.is_set:
            self._record_drop.after(_DROPPED_EVERY_S)

    def _record_dropped(self) -> None:
        """Record that output was dropped on a full disk, as soon as the disk takes a record again."""
        self._record.write(dropped_bytes=self._pump.drops.bytes, file_limit=self._pump.file_limit)
        self._recorder.tell(history.DROPPED, bytes=self._pump.drops.bytes)

    def _on_output(self) -> None:
        self._input.output()
        self._control.output()
        self._recorder.output()

    # --- requests of clients ---

    def _serve(self, connection: Connection, request: ControlRequest, files_sent: list[int]) -> None:
        """Serve one request of a client. The answer goes back on the connection."""
        if isinstance(request, Kill):
            self._kill_request(request)
            connection.answer(ok=True)
        elif isinstance(request, GetState):
            state = self._record.unwritten or self._record.state
            connection.answer(ok=True, state=state.to_dict(), why=self._record.why_unwritten)
        elif isinstance(request, Reload):
            self.event(Event.UNHEARD)
            self._recorder.look_for(self._record.current_definition())
            connection.answer(ok=True)
        else:
            self._input.serve(connection, request, files_sent)

    def _on_fault(self, error: Exception) -> None:
        self._recorder.fault(error)

    def _kill_request(self, request: Kill) -> None:
        if request.removing:
            self._record.is_doomed = True
            self._recorder.silence()
        if self._phase == Phase.UNWRITTEN:  # all that is left to end is this process
            self._loop.stop()
            return
        self._asked.signal(request, self._command.unreaped_pid(self._record.state))
