"""The records of a job as its supervisor keeps them: its definition and its state, in memory and on
the disk.

A sync is what a power cut cannot take back. While a job runs, its definition and its mark in `.live`
are durable. The mark says that the job runs, so `state.json` may be replaced without a sync until
the job ends: a cut leaves any of its contents, or none, and the mark makes the job `reboot`. Once
the end is synced the mark is removed, and from then on whatever replaces `state.json` is synced
first (JobDir.write_state).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from outlive.core.records import Definition, State
from outlive.errors import OutliveError
from outlive.store import atomic_file
from outlive.store.job_dir import EVENTS, GAP, LOCK, META, META_LOCK, ORDER, SCRIPT, STATE, UNWRITTEN_BYTE, JobDir
from outlive.supervisor.request import Request
from outlive.system import locks


class JobRecord:
    """`state` is the newest, whether or not the disk took it. `on_change` is called when readers may see a new one."""

    def __init__(self, job: JobDir, request: Request, state: State, on_change: Callable[[], None]) -> None:
        self._job = job
        self._on_change = on_change
        self._was_created = request.created  # it had a state.json before it was started
        self._has_synced_meta = False  # what changes the definition later syncs it (JobDir.change_meta)
        self.state = state
        self.definition = request.definition  # as it was when the job started
        self.is_doomed = False  # it is about to be deleted: a sync may take seconds, and would be for nothing
        self.unwritten: State | None = None  # an outcome that the disk does not take, ...
        self.why_unwritten: str | None = None  # ... and the reason
        self._unwritten_lock = -1

    def current_definition(self) -> Definition:
        """Return the definition with what `notify set` has changed."""
        if not (self.state.adopted or self._job.has(META_LOCK)):  # a change makes that first
            return self.definition
        try:
            return self._job.read_meta()
        except (OSError, OutliveError):
            return self.definition

    def write(self, **changes: Any) -> None:
        """Change the state. On a full disk it stays in memory, and the next write tries again."""
        self.state = State.replace(self.state, **changes)
        try:
            self.state = self._job.write_state(self.state)
        except OSError:  # full, or removed
            return
        self._on_change()

    def write_if_running(self, **changes: Any) -> None:
        if not self.state.finished:
            self.write(**changes)

    def write_outcome(self, finished: State) -> None:
        """Make the outcome visible. Errors: OSError; then the state is as it was."""
        self.state = self._job.write_state(finished)
        self.unwritten = self.why_unwritten = None
        if self._unwritten_lock >= 0:
            os.close(self._unwritten_lock)
            self._unwritten_lock = -1

    def keep_unwritten(self, finished: State, error: OSError) -> None:
        """Keep an outcome that could not be written. A lock tells readers to ask the control socket
        (store/inspection/rebuilt.py)."""
        self.unwritten, self.why_unwritten = finished, error.strerror or str(error)
        if self._unwritten_lock >= 0:
            return
        with suppress(OSError):  # readers then learn of the end when it is written
            # Opened to read, which a read-only file system permits: a lock that is shared needs no more
            self._unwritten_lock = self._job.open_file(LOCK, os.O_RDONLY)
            locks.share(self._unwritten_lock, UNWRITTEN_BYTE)

    # --- syncs of what is visible already; no answer waits for them ---

    def sync_start(self) -> None:
        if self.is_doomed:
            return
        marked = self._job.is_marked()
        names = (META, SCRIPT, *((self._job.live_name,) if marked else ()))
        # Of a job from `create`, state.json itself has to survive: the mark says nothing of its time as `created`
        atomic_file.sync(self._job.fd, names if marked and not self._was_created else (*names, STATE))
        self._has_synced_meta = True

    def sync_end(self, logs: list[int]) -> None:
        """`logs`: the fds of those that have grown. If the end is to be delivered, a reader knows that
        by the mark if a power cut comes before."""
        if self.is_doomed:
            return
        names = (*(() if self._has_synced_meta else (META, SCRIPT)), STATE, ORDER, GAP, EVENTS)
        has_sinks = not self.definition.notification.is_empty
        atomic_file.sync(self._job.fd, (*names, self._job.live_name) if has_sinks else names, logs)

    def sync_late(self, logs: list[int]) -> None:
        """Sync the output that came after the end."""
        if logs and not self.is_doomed:
            atomic_file.sync(self._job.fd, (ORDER,), logs)
