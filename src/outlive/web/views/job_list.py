"""The list of jobs as a page keeps it: everything once, then only what changed.

A finished job is read once and remembered. Of a job that may run, three calls of stat(2) tell
whether it has to be read again; one of another host is asked about every few seconds as well.
Nothing is looked at while no page asks.
"""

from __future__ import annotations

import itertools
import os
import time

from outlive.core import quoted
from outlive.core.ids import new_id
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint
from outlive.verbs.list import entry_of
from outlive.web.views import questions

_MOST = 400  # jobs of one answer: a page shows the first while it asks for the rest
_COMMAND_CHARS = 300
_ASK_S = 3.0
_STATS = ("state.json", "meta.json", "stdout.log", "stderr.log")


class JobList:
    """The jobs that exist for the callers behind one wall. One that changes gets the next number,
    and a page asks for what came after the number that it knows."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, object]] = {}
        self._seen: dict[str, tuple[object, ...]] = {}  # what stat(2) said when it was read
        self._changed: dict[str, int] = {}  # job → its number; the newest last
        self._unfinished: set[str] = set()
        self._asked: dict[str, float] = {}  # when a job of another host was asked about
        self._removed: dict[str, int] = {}
        self._number = 0
        self.name = new_id()
        self._root: tuple[object, ...] = ()
        self._todo: list[str] = []  # ids that were not read yet, the newest last

    def changes(self, after: int, name: str | None) -> dict[str, object]:
        """Return the jobs that changed after this number of the list with this `name`; of another
        list, such as that of a server that has ended, everything. `more`: the next call returns
        others."""
        if name != self.name:
            after = 0
        changed = list(itertools.takewhile(lambda one: one[1] > after, reversed(self._changed.items())))[::-1]
        some = changed[:_MOST]
        # Removals are told with the last part only: their numbers may lie anywhere
        last = len(some) == len(changed)
        return {
            "list": self.name,
            "jobs": [self._entries[job] for job, _ in some],
            "removed": [job for job, number in self._removed.items() if number > after] if last else [],
            "next": self._number if last else some[-1][1],
            "more": not last or bool(self._todo),
            "total": len(self._entries) + len(self._todo),
        }

    def look(self, ctx: Context) -> None:
        """Find out what has changed. Only one call at a time may be under way."""
        live = list(lookup.live_ids(ctx))
        root = tuple(_stat(ctx, name) for name in (".", ".live"))
        if root != self._root:
            self._root = root
            ids = list(lookup.job_ids(ctx))
            known = set(ids)
            for job in [job for job in self._entries if job not in known]:
                self._forget(job)
            waiting = {*self._todo}
            fresh = [job for job in ids if job not in self._entries and job not in waiting]
            self._todo = [job for job in self._todo if job in known] + sorted(fresh)
        for job in {*live, *self._unfinished}:
            self._read(ctx, job)
        taken = {*live}
        for _ in range(_MOST):
            if not self._todo:
                return
            job = self._todo.pop()
            if job not in taken:
                self._read(ctx, job)

    def _read(self, ctx: Context, job_id: str) -> None:
        seen = tuple(_stat(ctx, f"{job_id}/{name}") for name in _STATS)
        if seen == self._seen.get(job_id) and not self._is_to_ask(job_id):
            return
        checkpoint()
        try:
            with lookup.open_known(ctx, job_id) as job:
                inspection = adoption.inspect_and_adopt(ctx, job)
                entry = entry_of(ctx, inspection, job).to_dict()
                definition = inspection.definition
                entry |= {
                    "failed": inspection.state.ended_badly,
                    "pty": definition.pty,
                    "title": getattr(definition, "title", None),
                }
                if entry["waiting_for_input"]:
                    with Output(job) as output:
                        entry |= questions.question(inspection, output)
                if definition.sandbox:
                    entry["sandbox"] = definition.sandbox.shown
                if inspection.state.finished and inspection.supervised:
                    seen = ()  # its end is still being written
        # Removed meanwhile, from a newer version, or whatever a job has made of its own files
        except Exception:  # noqa: BLE001
            self._forget(job_id)
            return
        command = entry["command"]
        text = quoted.command(command)
        entry["command"] = text if len(text) <= _COMMAND_CHARS else text[:_COMMAND_CHARS] + "…"
        self._seen[job_id] = seen
        if entry != self._entries.get(job_id):
            self._number += 1
            self._changed.pop(job_id, None)
            self._entries[job_id], self._changed[job_id] = entry, self._number
            self._removed.pop(job_id, None)
            is_over = inspection.state.finished and not entry.get("descendants")
            (self._unfinished.discard if is_over else self._unfinished.add)(job_id)

    def _is_to_ask(self, job_id: str) -> bool:
        """Return whether it is time to ask about a job of another host: why it waits, whether it can
        be reached, and an end that only its host knows change no file of the job."""
        now = time.monotonic()
        if job_id not in self._unfinished or "host" not in self._entries[job_id]:
            return False
        if now < self._asked.get(job_id, 0.0) + _ASK_S:
            return False
        self._asked[job_id] = now
        return True

    def _forget(self, job: str) -> None:
        self._asked.pop(job, None)
        self._seen.pop(job, None)
        self._unfinished.discard(job)
        if self._entries.pop(job, None) is not None:
            self._changed.pop(job, None)
            self._number += 1
            self._removed[job] = self._number


def _stat(ctx: Context, name: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(name, dir_fd=ctx.store.fd, follow_symlinks=False)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
