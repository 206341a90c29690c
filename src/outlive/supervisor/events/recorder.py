"""The events of a job while it runs: its history, the hits of its watches, and the notification of
its sinks.

The supervisor decides what is done; this module records it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from outlive.core.records import Definition, State
from outlive.store import fault_report, history
from outlive.store.inspection import adoptions, workspace
from outlive.store.job_dir import JobDir
from outlive.supervisor import added
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.notification_log import NotificationLog
from outlive.supervisor.events.sinks import Sinks
from outlive.supervisor.events.watcher import Watcher
from outlive.supervisor.request import Request
from outlive.system import fault_points


class EventRecorder:
    """Records events. `end` returns the length of the output. `on_event` is called when there is a
    new event, `on_idle` when a search or a notification command has ended."""

    def __init__(
        self,
        job: JobDir,
        loop: EventLoop,
        request: Request,
        *,
        end: Callable[[], int],
        on_event: Callable[[], None],
        on_idle: Callable[[], None],
    ) -> None:
        self._job = job
        self._loop = loop
        self._end = end
        self._on_event = on_event
        self._on_idle = on_idle
        self._history = history.History(job)
        self._notes = added.notes_of(request)
        self._watcher: Watcher | None = None
        self._end_told = self._silent = False
        self.sinks = Sinks(job, loop, request, self._sink_done, self.tell)

    @property
    def busy(self) -> bool:
        return self.sinks.busy or (self._watcher is not None and self._watcher.busy)

    def is_owed(self, definition: Definition) -> bool:
        """Return whether nothing but the mark of a live job says what is still to be done for a job that has ended: hits of its
        output, or a look at what a notification command leaves in its workspace."""
        return self.busy and (self._watcher is not None or definition.sandbox is not None)

    # --- history ---

    def tell(self, kind: str, /, *, seq: int | None = None, **content: Any) -> None:
        """Add an event. `seq`: its position in the output, None for the end."""
        self._history.add(kind, self._end() if seq is None else seq, **content)
        self._on_event()

    def begin(self, state: State) -> None:
        """Add the first events, those first that a supervisor was killed before it could add. No client is woken."""
        known = set()
        if state.adopted:
            known = {event["type"] for event in history.recorded(self._job, history.STARTED, history.FINISHED)}
        if state.pid is not None and history.STARTED not in known:
            self._history.add(history.STARTED, 0, pid=state.pid)
        if state.adopted:
            self.tell_faults()
            self._history.add(history.ADOPTED, self._end(), by=os.getpid())
            self._loop.timer(adoptions.survived, self._job).after(adoptions.SURVIVED_S)
        self._end_told = history.FINISHED in known

    def fault(self, error: Exception) -> None:
        """Record an exception that did not end this process."""
        fault_report.write(self._job, "supervisor", error)
        self.tell_faults()

    def tell_faults(self) -> None:
        """Add an event for each traceback in the directory that the history does not have yet."""
        for content in fault_report.unrecorded(self._job):
            self.tell(history.FAULT, **content)

    def workspace(self, definition: Definition, state: State) -> State:
        """Return the state with a message about what a sandboxed job made in its workspace."""
        if definition.sandbox is None:
            return state
        return workspace.looked_at(self._job.fd, definition.sandbox, state, self.tell)

    def left_behind(self, count: int) -> None:
        self.tell_faults()  # of the guardian, or of a fork server
        if count and not self._silent:
            self.tell(history.DESCENDANTS, count=count)

    # --- lines that are watched for ---

    def look_for(self, definition: Definition) -> None:
        """Watch the output for what this definition asks for."""
        wanted = definition.notification.every_watch
        if self._silent or not (self._watcher or wanted):
            return
        if self._watcher is None:
            log = NotificationLog(self._job, definition, self.sinks, self.tell)
            self._watcher = Watcher(self._job, self._loop, log, tell=self.tell, on_done=self._on_idle)
        try:
            self._watcher.configure(wanted)
        # Whatever the job has made of its own definition, its supervisor goes on
        except Exception as error:  # noqa: BLE001
            self.tell(history.WATCH_FAILED, message=f"{type(error).__name__}: {error}")

    def output(self) -> None:
        """Take note of new output."""
        if self._watcher is not None:
            self._watcher.output()

    def _sink_done(self) -> None:
        if self._watcher is not None and not self._silent:
            self._watcher.go_on()
        self._on_idle()

    # --- the end ---

    def last_hits(self) -> None:
        """Search what the job wrote last, before its end becomes visible: those hits matter most."""
        if self._watcher is not None and not self._silent:
            self._watcher.finish()

    def ended(self, state: State) -> None:
        """Add the end, now that the outcome is visible."""
        if not self._end_told:
            self._end_told = True
            self.tell(history.FINISHED, **history.outcome_of(state))
        fault_points.at("end_history")

    def note_end(self, state: State) -> None:
        """Have parts note the end elsewhere."""
        for one in self._notes:
            one.ended(self._job.job_id, state)

    def silence(self) -> None:
        """Tell no sink of anything any more: the job is being removed."""
        self._silent = True
        self.sinks.kill()
        if self._watcher is not None:
            self._watcher.stop()

    def close(self) -> None:
        """Close the history: the work is done."""
        self._history.close()
        adoptions.survived(self._job)
