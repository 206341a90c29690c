"""The list of jobs as a page keeps it: the newest and those that may run at once, then what changed,
and older ones as far as it asks for them.

A finished job is read once and remembered. Of a job that may run, three calls of stat(2) tell
whether it has to be read again; one of another host is asked about every few seconds as well.
Nothing is looked at while no page asks.
"""

from __future__ import annotations

import itertools
import os
import time
from bisect import bisect_left
from typing import Any

from outlive import parts
from outlive.core import quoted
from outlive.core.ids import new_id
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.part import Turns
from outlive.parts.page.views import questions
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint
from outlive.verbs.list import entry_of

_MOST = 400  # jobs that one call reads, or tells of as changed
_KNOWN = 2_000  # older ones that one answer has, if they were read before
_FIRST = 100  # of the first one, which fills a window
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
        self._unfinished: dict[str, Inspection] = {}  # as they were read
        self._turns: list[Turns] = []
        self._turned = 0  # the number of the last change of those
        self._asked: dict[str, float] = {}  # when a job of another host was asked about
        self._removed: dict[str, int] = {}
        self._number = 0
        self.name = new_id()
        self._root: tuple[object, ...] = ()
        self._ids: list[str] = []  # of all jobs, the newest last
        self._known: set[str] = set()  # the same
        self._fresh: list[str] = []  # of jobs that came since, and were not read yet

    def changes(self, after: int) -> dict[str, object]:
        """Return the jobs that changed after this number. `more`: the next call returns others."""
        changed = list(itertools.takewhile(lambda one: one[1] > after, reversed(self._changed.items())))[::-1]
        some = changed[:_MOST]
        # Removals are told with the last part only: their numbers may lie anywhere
        last = len(some) == len(changed)
        return {
            **self._about(),
            "jobs": [self._entries[job] for job, _ in some],
            "removed": [job for job, number in self._removed.items() if number > after] if last else [],
            **(self._whose_turn() if self._turned > after else {}),
            "next": self._number if last else some[-1][1],
            "more": not last or bool(self._fresh),
        }

    def begin(self, ctx: Context) -> dict[str, object]:
        """Return what a page shows first: the newest jobs, and all that may run."""
        newest = self.older(ctx, None, _FIRST)
        there = {entry["job_id"] for entry in newest["jobs"]}
        live = [self._entries[job] for job in self._unfinished if job not in there]
        known = {**self._whose_turn(), "next": self._number, "more": False}
        return {**newest, "jobs": newest["jobs"] + live, "removed": [], **known}

    def older(self, ctx: Context, before: str | None, most: int = _KNOWN) -> dict[str, Any]:
        """Return the newest jobs that are older than the one with this id, the id `oldest` of the last of them, and how
        many are `left`."""
        end = len(self._ids) if before is None else bisect_left(self._ids, before)
        to_read = _MOST
        some: list[str] = []
        for job in reversed(self._ids[max(0, end - most) : end]):
            if job not in self._entries:
                self._read(ctx, job, is_news=False)
                to_read -= 1
            some.append(job)
            if not to_read:
                break
        jobs = [self._entries[job] for job in some if job in self._entries]
        return {**self._about(), "jobs": jobs, "oldest": some[-1] if some else before, "left": end - len(some)}

    def _about(self) -> dict[str, object]:
        return {"list": self.name, "total": len(self._ids)}

    def _whose_turn(self) -> dict[str, object]:
        return {"turns": [one.to_dict() for one in self._turns]}

    def look(self, ctx: Context) -> None:
        """Find out what has changed. Only one call at a time may be under way."""
        live = list(lookup.live_ids(ctx.caller))
        root = tuple(_stat(ctx, name) for name in (".", ".live"))
        if root != self._root:
            self._ids = sorted(lookup.job_ids(ctx.caller))
            known = set(self._ids)
            for job in [job for job in self._entries if job not in known]:
                self._forget(job)
            fresh = [job for job in self._ids if job not in self._known] if self._root else []
            self._fresh = [job for job in self._fresh if job in known] + fresh
            self._root, self._known = root, known
        for job in {*live, *self._unfinished}:
            self._read(ctx, job)
        some, self._fresh = self._fresh[:_MOST], self._fresh[_MOST:]
        for job in some:
            self._read(ctx, job)
        turns = [one for whose in parts.functions("turns") for one in whose(self._unfinished.values())]
        if turns != self._turns:  # which no file of a job says
            self._number += 1
            self._turns, self._turned = turns, self._number

    def _read(self, ctx: Context, job_id: str, *, is_news: bool = True) -> None:
        """Read a job if it may have changed. `is_news`: pages are told of it."""
        seen = tuple(_stat(ctx, f"{job_id}/{name}") for name in _STATS)
        if seen == self._seen.get(job_id) and not self._is_to_ask(job_id):
            return
        checkpoint()
        try:
            with lookup.open_known(ctx.caller, job_id) as job:
                inspection = adoption.inspect_and_adopt(ctx, job)
                entry = entry_of(ctx, inspection, job).to_dict()
                definition = inspection.definition
                entry |= {
                    "failed": inspection.state.ended_badly,
                    "pty": definition.pty,
                    "title": getattr(definition, "title", None),
                    "waits": inspection.state.waits or (inspection.state.state == "created" and "queue" in entry),
                    "output_bytes": sum(stat[1] for stat in seen[2:] if stat),
                }
                if entry["waiting_for_input"]:
                    with Output(job) as output:
                        entry |= questions.question(inspection, output)
                needs = parts.needed_by(definition, inspection.state)
                if needs:
                    entry["needs"] = [need.to_dict() for need in needs]
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
            self._entries[job_id] = entry
            if is_news:
                self._number += 1
                self._changed.pop(job_id, None)
                self._changed[job_id] = self._number
            self._removed.pop(job_id, None)
        is_over = inspection.state.finished and not entry.get("descendants")
        if is_over:
            self._unfinished.pop(job_id, None)
        else:
            self._unfinished[job_id] = inspection

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
        self._unfinished.pop(job, None)
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
