"""The jobs that the screen shows: each that may change is read again, each other one once."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

from outlive.answers.job import is_pending
from outlive.core import quoted
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.verbs.list import entry_of

_MOST = 1_000  # the newest
_READ_S = 0.1  # so long one look may take for jobs that were not read yet: keys are answered meanwhile


class Jobs:
    """The newest jobs of every directory and client, those that run first."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._entries: dict[str, dict[str, Any]] = {}
        self._over: set[str] = set()
        self.is_whole = False  # whether all were read

    def look(self) -> None:
        """Read what may have changed."""
        live = dict.fromkeys(lookup.live_ids(self._ctx.caller))
        ids = live | dict.fromkeys(islice(lookup.job_ids(self._ctx.caller), _MOST))
        until = time.monotonic() + _READ_S
        self.is_whole = True
        for job_id in ids:
            if job_id in self._over:
                continue
            if job_id not in self._entries and job_id not in live and time.monotonic() >= until:
                self.is_whole = False
                continue
            self._read(job_id)
        for job_id in self._entries.keys() - ids.keys():
            self._forget(job_id)

    def _read(self, job_id: str) -> None:
        try:
            with lookup.open_known(self._ctx.caller, job_id) as job:
                inspection = adoption.inspect_and_adopt(self._ctx, job)
                self._entries[job_id] = entry = entry_of(self._ctx, inspection, job).to_dict()
                if inspection.state.finished and not inspection.supervised and not entry.get("descendants"):
                    self._over.add(job_id)
        # Removed meanwhile, from a newer version, or whatever a job has made of its own files
        except Exception:  # noqa: BLE001
            self._forget(job_id)

    def _forget(self, job_id: str) -> None:
        self._entries.pop(job_id, None)
        self._over.discard(job_id)

    def fitting(self, text: str) -> list[dict[str, Any]]:
        """Return the jobs in whose row, command or directory each word of `text` stands, in the order of `list`."""
        words = text.casefold().split()
        some = [job for job in self._entries.values() if all(word in _searched(job) for word in words)]
        return sorted(some, key=lambda job: (job["state"] == "running", job["job_id"]), reverse=True)


def _searched(job: dict[str, Any]) -> str:
    parts = (job["job_id"], job["state"], job["name"], quoted.command(job["command"]), job["cwd"] or "", job["owner"])
    return " ".join((*parts, *job["tags"], "asks" if asks(job) else "")).casefold()


def asks(job: dict[str, Any]) -> bool:
    """Return whether a job waits for a person."""
    return bool(job["waiting_for_input"] or is_pending(job))
