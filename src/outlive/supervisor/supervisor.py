"""The supervisor of one job: a table of phase × event → action, and the actions.

RUNNING until the command has ended, LINGERING while something it left behind lives or its pipes are
open. One process runs this: the supervisor itself, a guardian that took over from a killed one, or
an adopter started by a reader.
"""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.core.records import Definition
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.store import atomic_file, history
from outlive.store.job_dir import EVENTS, GAP, META, ORDER, STATE, JobDir
from outlive.supervisor.control_server import ControlServer
from outlive.supervisor.ending import members, oom_verdict, outcome
from outlive.supervisor.ending.kill import Killer
from outlive.supervisor.ending.members import Reaper
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.recorder import EventRecorder
from outlive.supervisor.input.stdin import Input
from outlive.supervisor.output.pump import Pump
from outlive.supervisor.output.quota import Quota
from outlive.system import fault_points, process, signals, tree
from outlive.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from outlive.core.records import State
    from outlive.supervisor.control_server import Connection
    from outlive.supervisor.job_fds import JobFds
    from outlive.supervisor.request import Request
    from outlive.system.tree import Member

_AFTER_END_S = 0.02  # at most, after an end whose callers answer now, before files are synced and sinks are told
_STARTED_S = 0.003  # an end that comes sooner is told to a caller that waits for it together with the start
_LINGER_CHECK_S = 1.0  # how often a lingering supervisor looks for descendants that are not its own children
_REOPENED_CHECK_S = 10.0  # how often pipes without a writer are checked for a new one
_EXIT_INFO_S = 3.0  # an adopter waits this long for PIDFD_GET_INFO to know the code (PID 1 has to reap first)
_DROPPED_EVERY_S = 1.0  # how often lost output is written down while the disk is full
_USED_AFTER_S = 1.0  # what reaped orphans have used is written down at most so often
_SYNC_AFTER_S = 0.05  # a job that still runs after this has its start synced to disk

RUNNING, LINGERING = "running", "lingering"
# What must not end a supervisor: a terminal's end, a shutdown (it ends the job first), a broken pipe
SURVIVED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGALRM,
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGXFSZ)  # fmt: skip


class Supervisor:
    """The supervisor of one job. `parent`: the command is a child of this process, which it is not
    after an adoption.
    """

    def __init__(self, job: JobDir, request: Request, state: State, job_fds: JobFds, *, parent: bool) -> None:
        self._job = job
        self._request = request
        self._definition: Definition = Definition.of(request.definition)
        self._state = state
        self._parent = parent
        self._phase = RUNNING
        self._loop = EventLoop()
        self._fds = job_fds
        self._quota = Quota(job, self._definition.quota_bytes, self._tell)
        self._pump = Pump(
            job,
            self._loop,
            job_fds.sources,
            self._on_output,
            lambda: self.event("look"),
            self._on_drop,
            self._quota,
            self._tell,
        )
        self._pump.mask_lines(request.masked)
        self._control = ControlServer(
            self._loop, job_fds.listener, self._serve, self._on_fault, lambda: self._loop.hurry("after_end")
        )
        self._recorder = EventRecorder(
            job,
            self._loop,
            request,
            self._definition,
            end=lambda: self._pump.end,
            on_event=self._control.state,
            on_idle=lambda: self.event("look"),
        )
        # A process in a sandbox is the child of another one: its end sends no SIGCHLD
        self._killer = Killer(
            self._loop,
            self._killable,
            self._tree_gone,
            told=parent and job_fds.report is None,
            hang_up=self._definition.pty,
            on_kill=self._grace_over,
        )
        self._input = Input(
            job,
            self._loop,
            job_fds,
            self._pump,
            pids=self._pids,
            state=state,
            write=self._write_if_running,
            tell=self._recorder.tell,
        )
        self._reaper = Reaper(state, parent=parent)
        self._pidfd: int | None = None
        self._reaped = False
        self._ended_ns: int | None = None  # when the end was seen; an adopter learns later how it ended
        self._asked_kernel = False
        self._doomed = False  # its directory is about to be deleted: a sync may take seconds, and would be for nothing
        # phase × event → action. What is not in the table means nothing in that phase.
        self._table = {
            (RUNNING, "child"): self._settle,
            (RUNNING, "timeout"): lambda: self._end_for("timeout"),
            (RUNNING, "idle"): self._idle,
            (RUNNING, "progress"): self._progress,
            (LINGERING, "child"): self._check_done,
            (LINGERING, "look"): self._check_done,
        }

    def event(self, name: str) -> None:
        action = self._table.get((self._phase, name))
        if action is not None:
            action()

    # --- life ---

    def run(self, waiter: socket.socket | None, *, told: bool = False) -> None:
        """See the job to its end, and return when nothing of it is left. `told`: the waiter knows
        already that it runs."""
        wakeup = signals.wakeup_pipe((signal.SIGCHLD, *SURVIVED))
        self._loop.read(wakeup, lambda: self._woken(wakeup))
        if waiter is not None:
            self._control.add(waiter, wants_output=False)
        self._recorder.begin(self._state)  # first: a reader that sees output of a successor finds it in the history
        self._pump.start(late=self._state.adopted > 0)
        if self._state.finished:
            self._control.state()
            self._phase = LINGERING
            self._reap_command()
            self._resume_ending()
            self._recorder.look_for(self._definition_now())
            self._recorder.last_hits()
            self._quota.finish()
            self._recorder.ended(self._state)
            self._after_end()
        else:
            if not told:
                self._loop.after("started", _STARTED_S if self._parent else 0, self._control.state)
            self._recorder.look_for(self._definition_now() if self._state.adopted else self._definition)
            self._watch_command()
            self._set_timers()
            self._input.start()
        self._loop.run()
        self._finish()

    def _watch_command(self) -> None:
        if self._state.pid is None:
            return
        held, report = self._fds.pidfd, self._fds.report
        self._pidfd = process.open_pidfd(self._state.pid) if held is None else held
        if report is not None:
            if self._pidfd is not None and not process.is_same(self._state.identity):
                self._pidfd = None  # the command has ended, and the number may mean another process
            self._loop.read(report.fileno(), self._command_ended)
        elif self._pidfd is not None:
            self._loop.read(self._pidfd, self._command_ended)
        else:  # no pidfds here, and SIGCHLD tells; or the command has ended already
            self.event("child")

    def _command_ended(self) -> None:
        told_by = self._fds.report.fileno() if self._fds.report is not None else self._pidfd
        if told_by is not None:
            self._loop.forget(told_by)
            self._ended_ns = time.monotonic_ns()
        self.event("child")

    def _set_timers(self) -> None:
        definition, state = self._definition, self._state
        if definition.timeout_ms and state.started_ns is not None:
            end = state.started_ns / 1e9 + definition.timeout_ms / 1000
            self._loop.at("timeout", end, lambda: self.event("timeout"))
        if definition.idle_timeout_ms:
            self._loop.after("idle", definition.idle_timeout_ms / 1000, lambda: self.event("idle"))
        if definition.progress_every_ms:
            self._loop.after("progress", definition.progress_every_ms / 1000, lambda: self.event("progress"))
        if state.resources is not None:
            from outlive.supervisor.resources.watch import LimitWatch  # late: few jobs have limits

            LimitWatch(self._loop, state, self._pids, self._reaper, self._over_limit)
        self._resume_ending()
        self._loop.after("sync", _SYNC_AFTER_S, self._sync)

    def _resume_ending(self) -> None:
        """Go on with an end that was asked for before the last supervisor was killed."""
        ending = self._state.ending
        if ending and ending.get("kill_at_ns"):
            self._killer.resume(ending["kill_at_ns"] / 1e9)

    def _woken(self, wakeup: int) -> None:
        try:
            os.read(wakeup, 4096)
        except BlockingIOError:
            return
        self._reap_orphans()
        self._killer.check()
        if self._phase == LINGERING or (self._pidfd is None and self._fds.report is None):
            self.event("child")

    # --- the end of the command ---

    def _settle(self) -> None:
        """Record the end of the command. The order must hold: output moved, status read, hits told,
        outcome visible, command reaped, files synced, sinks told.
        """
        fault_points.at("end_seen")
        self._pump.take_what_is_there()
        self._pump.mask(final=True)
        fault_points.at("end_moved")
        self._input.look()
        finished = self._outcome()
        if finished is None:
            if self._pidfd is not None or self._fds.report is not None or not self._parent:
                self._loop.after("settle", limits.SWEEP_INTERVAL_S, self._settle)
            return
        self._recorder.last_hits()
        self._quota.finish()  # what an answer about the end says of gaps is final; and it makes room on a full disk
        try:
            self._state = self._job.write_state(finished)
        except OSError:  # a full disk: stay, hold the truth, try again (the child is not reaped before it is written)
            if self._job.is_in_place():
                self._loop.after("settle", 0.5, self._settle)
            else:  # the directory was deleted: there is nothing left to record
                self._loop.stop()
            return
        fault_points.at("end_written")
        # Before any client is woken: a client that waited for the end finds it in the history
        self._recorder.ended(self._state)
        self._phase = LINGERING
        self._input.end()
        for timer in ("timeout", "idle", "progress", "settle", "started", "sync"):
            self._loop.cancel(timer)
        self._control.state()
        self._reap_command()
        fault_points.at("end_reaped")
        # A client answers now, and a sync would keep the directory from its lookups
        self._loop.after("after_end", _AFTER_END_S if self._control.is_heard else 0, self._after_end)

    def _outcome(self) -> State | None:
        """Return the state with the outcome, None while it is not known."""
        if self._fds.report is not None:
            from outlive.sandbox import session

            told = session.outcome(self._fds.report)
            if told is not None:
                return self._ended(told)
        elif self._parent:
            assert self._state.pid is not None
            ended = self._reaper.status(self._state.pid)
            return None if ended is None else self._ended(ended)
        status = process.exit_status(self._pidfd) if self._pidfd is not None else None
        if status is not None:
            return self._ended(status)
        if tree.running(self._state.identity):
            return None
        if not self._loop.is_set("unknown"):  # PID 1 has to reap it before the kernel tells
            if self._asked_kernel:
                who = "the first process of its sandbox was" if self._fds.report else "its supervisors were"
                return outcome.lost(self._state, f"{who} killed, and the kernel did not keep its exit code")
            self._asked_kernel = True
            self._loop.after("unknown", _EXIT_INFO_S, lambda: None)
        return None

    def _ended(self, status: int) -> State:
        ended = outcome.ended(self._state, status, dropped=self._pump.dropped, ended_ns=self._ended_ns)
        ended = ended.replace(log_bytes=self._pump.sizes, usage=self._reaper.usage())
        return self._reaper.said(oom_verdict.judged(ended))

    def _reap_command(self) -> None:
        if self._parent and not self._reaped and self._state.pid is not None and self._fds.report is None:
            try:
                os.waitpid(self._state.pid, os.WNOHANG)
            except ChildProcessError:
                pass
        self._reaped = True

    def _after_end(self) -> None:
        self._sync()
        fault_points.at("end_synced")
        self._recorder.audit(self._state)
        self._recorder.sinks.finished(self._definition_now(), self._state)
        self._unmark_live()  # what is owed is on disk: a reader can see it without the mark
        self._input.end()
        self._reap_orphans()
        self._recorder.left_behind(len(self._members(not self._parent)))
        self._check_done()

    def _check_done(self) -> None:
        """End the lingering when no descendant lives, both pipes are at their end, and every sink
        was told.
        """
        if self._loop.is_set("after_end"):
            return
        if self._recorder.busy or self._killer.busy:
            # Both call `look` when they are done. The timer costs little, and a call that is
            # missing cannot keep this process
            self._loop.after("look", _LINGER_CHECK_S, lambda: self.event("look"))
            return
        living = bool(self._killable(not self._parent))
        if not living and not self._pump.look_again():
            self._loop.stop()
        elif not self._parent:  # an adopter gets no SIGCHLD
            self._loop.after("look", _LINGER_CHECK_S, lambda: self.event("look"))
        elif self._pump.ended:  # a descendant may open its stdout again, by name
            self._loop.after("look", _REOPENED_CHECK_S, lambda: self.event("look"))

    def _finish(self) -> None:
        self._pump.check_logs()
        self._pump.mask(final=True)
        self._reap_orphans()  # the last output may have ended before the signal of its writer's death came
        last = {"dropped_bytes": self._pump.dropped, "log_bytes": self._pump.sizes, "usage": self._reaper.usage()}
        if any(getattr(self._state, name) != value for name, value in last.items()):
            self._write(**last)
        if not self._doomed:
            atomic_file.sync_files(self._pump.unsynced())
        self._quota.finish()
        self._quota.close()
        self._control.state()
        self._reaper.remove_group()
        self._job.release_reserve()
        self._job.remove_io()
        fault_points.at("end_unlinked")
        self._recorder.close()
        self._control.close()
        self._loop.close()

    # --- ending it ---

    def _end_for(self, cause: str) -> None:
        self._record_ending(cause, "outlive", "SIGTERM", self._definition.kill_after_ms)
        self._killer.end(signal.SIGTERM, self._definition.kill_after_ms / 1000)

    def _over_limit(self, cause: str, message: str) -> None:
        """End the job, which is over one of its limits: at once where it takes memory."""
        name, grace_ms = ("SIGKILL", 0) if cause == "oom" else ("SIGTERM", self._definition.kill_after_ms)
        self._record_ending(cause, "outlive", name, grace_ms, message=message)
        self._killer.end(signals.number_of(name) or signal.SIGKILL, grace_ms / 1000)

    def _idle(self) -> None:
        quiet = time.monotonic() - self._pump.last_output
        left = self._definition.idle_timeout_ms / 1000 - quiet
        if left > 0:
            self._loop.after("idle", left, lambda: self.event("idle"))
        else:
            self._end_for("idle_timeout")

    def _record_ending(self, cause: str, by: str, signal_name: str, grace_ms: int, **more: str) -> None:
        """Record the cause of the end before the signal is sent: a takeover goes on with it, and
        the outcome names the caller.
        """
        self._recorder.signal_sent(signal_name, by, cause)
        ends = signal_name in ("SIGTERM", "SIGKILL")
        kill_at = time.monotonic_ns() + grace_ms * 1_000_000 if ends else None
        ending = {"cause": cause, "by": by, "signal": signal_name, "at": timestamp(), "kill_at_ns": kill_at, **more}
        old = self._state.ending
        if old and old["kill_at_ns"] is not None:  # it is ending already: the first cause stays
            if kill_at is None:
                return
            ending = {**old, "kill_at_ns": min(old["kill_at_ns"], kill_at)}
        self._write(ending=ending)
        fault_points.at("kill_recorded")

    def _grace_over(self) -> None:
        ending = self._state.ending or {}
        self._recorder.signal_sent("SIGKILL", ending.get("by", ""), ending.get("cause", "kill"))

    def _members(self, full: bool) -> list[Member]:
        return members.living(self._state, self._request.job_id, self._recorder.sinks, full=full, parent=self._parent)

    def _killable(self, full: bool) -> list[Member]:
        """Return the living processes of the job. After the end of the command process 1 of its
        sandbox is one of them; before it, its death would take the outcome with it.
        """
        found = self._members(full)
        return found if self._phase == RUNNING else [*found, *members.first_of_sandbox(self._state)]

    def _tree_gone(self) -> None:
        if self._phase == LINGERING:
            self._check_done()

    def _reap_orphans(self) -> None:
        command = None if self._reaped else self._state.pid
        if self._reaper.orphans(command, self._recorder.sinks) and not self._loop.is_set("used"):
            self._loop.after("used", _USED_AFTER_S, lambda: self._write_if_running(usage=self._reaper.usage()))

    # --- readers ---

    def _on_drop(self) -> None:
        """Record that output was dropped on a full disk, as soon as the disk takes a record again."""
        if not self._loop.is_set("dropped"):
            self._loop.after("dropped", _DROPPED_EVERY_S, self._record_dropped)

    def _record_dropped(self) -> None:
        self._write(dropped_bytes=self._pump.dropped)
        self._recorder.tell(history.DROPPED, bytes=self._pump.dropped)

    def _on_output(self) -> None:
        self._input.output()
        self._control.output()
        self._recorder.output()

    def _serve(self, connection: Connection, request: dict[str, Any], files_sent: list[int]) -> None:
        """Serve one request of a client. The answer goes back on the connection."""
        if request["op"] == "kill":
            self._kill_request(request)
            connection.answer(ok=True)
        elif request["op"] == "reload":
            self._loop.hurry("after_end")
            self._recorder.look_for(self._definition_now())
            connection.answer(ok=True)
        else:
            self._input.serve(connection, request, files_sent)

    def _on_fault(self, error: Exception) -> None:
        self._recorder.fault(error)

    def _kill_request(self, request: dict[str, Any]) -> None:
        if request["removing"]:
            self._doomed = True
            self._recorder.silence()
        number, grace_ms = request["signal"], request["grace_ms"]
        self._record_ending(request["cause"], request["by"], signals.name_of(number), grace_ms)
        if number in (signal.SIGTERM, signal.SIGKILL):
            self._killer.end(number, grace_ms / 1000)
        else:
            self._killer.send(number, self._state.pid if self._parent and not self._reaped else None)

    # --- records ---

    def _tell(self, kind: str, **content: Any) -> None:
        self._recorder.tell(kind, **content)

    def _definition_now(self) -> Definition:
        """Return the definition with what `notify set` has changed."""
        try:
            return self._job.read_meta()
        except (OSError, OutliveError):
            return self._definition

    def _write_if_running(self, **changes: Any) -> None:
        if self._phase == RUNNING:
            self._write(**changes)

    def _pids(self) -> list[int]:
        return [member.pid for member in self._members(False)]

    def _progress(self) -> None:
        self._write()
        self._loop.after("progress", self._definition.progress_every_ms / 1000, lambda: self.event("progress"))

    def _write(self, **changes: Any) -> None:
        self._state = self._state.replace(**changes)
        try:
            self._state = self._job.write_state(self._state)
        except OSError:
            return  # full or removed: it stays in memory, and the next write tries again
        self._control.state()

    def _sync(self) -> None:
        """Sync the records. They are visible already; no answer waits for this, and a power cut may
        bring the previous ones back.
        """
        if self._doomed:
            return
        if self._phase == RUNNING:
            atomic_file.sync(self._job.fd, (META, STATE))
        else:
            atomic_file.sync(self._job.fd, (META, STATE, ORDER, GAP, EVENTS), self._pump.unsynced())

    def _unmark_live(self) -> None:
        from outlive.store import root  # late: when a job is over, no caller waits any more

        root.unmark_live(self._request.root, self._request.job_id)
