"""What of jobs that have ended is kept. It travels to supervisors."""

from outlive.core.record import Record


class Bounds(Record):
    """What of finished jobs is kept: `older_than_s`, seconds since the end; `max_bytes`, of all jobs; `max_percent`, of the
    file system. None in any of them means no bound."""

    older_than_s: float | None = None
    max_jobs: int | None = None
    max_bytes: int | None = None
    max_percent: float | None = None
