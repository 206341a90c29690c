"""What of a job is synced, and when: a sync is what a power cut cannot take back.

While a job runs, its definition and its mark in `.live` are durable. The mark says that the job
runs, so `state.json` may be replaced without a sync until the job ends: a cut leaves any of its
contents, or none, and the mark makes the job `reboot`. Once the end is synced the mark is removed,
and from then on whatever replaces `state.json` is synced first (JobDir.write_state).
"""

from __future__ import annotations

from outlive.annotations import Sequence
from outlive.store import atomic_file
from outlive.store.job_dir import EVENTS, GAP, META, ORDER, SCRIPT, STATE, JobDir


class JobSync:
    """The syncs of one job. `created`: it had a state.json before it was started."""

    def __init__(self, job: JobDir, *, created: bool) -> None:
        self._job = job
        self._created = created
        self._has_meta = False  # what changes the definition later syncs it (JobDir.change_meta)

    def start(self) -> None:
        marked = self._job.is_marked()
        names = (META, SCRIPT, *((self._job.live_name,) if marked else ()))
        # The state of a job that was created before counts, whatever the mark says
        atomic_file.sync(self._job.fd, names if marked and not self._created else (*names, STATE))
        self._has_meta = True

    def end(self, logs: Sequence[int], *, has_sinks: bool) -> None:
        """`logs`: the fds of those that have grown. `has_sinks`: the end is to be delivered, which a
        reader knows by the mark if a power cut comes before."""
        names = (*(() if self._has_meta else (META, SCRIPT)), STATE, ORDER, GAP, EVENTS)
        atomic_file.sync(self._job.fd, (*names, self._job.live_name) if has_sinks else names, logs)

    def late(self, logs: Sequence[int]) -> None:
        """Sync the output that came after the end. `logs`: as `end`."""
        if logs:
            atomic_file.sync(self._job.fd, (ORDER,), logs)
