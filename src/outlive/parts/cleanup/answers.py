"""The answer of gc."""

from __future__ import annotations

from outlive.answers import FULL_ONLY, LAST, Answer, Fields, field, inline
from outlive.answers.job import HINT
from outlive.core.records import STATES

IN_WINDOW = "it is within the window"  # why gc keeps most jobs


class Decided(Fields):
    """One job."""

    job_id: str = field("Its id.")
    state: str = field("Its state.", enum=[*STATES])
    action: str = field("What was done.", enum=["deleted", "would_delete", "skipped"])
    reason: str = field("Why.")
    bytes: int = field("What it takes on disk.")


class KeptTo(Fields):
    """What was kept to."""

    max_jobs: int | None = field("Finished jobs; null: any number.")
    max_bytes: int | None = field("Bytes of all jobs together; null: any number.")
    max_percent: float | None = field("Part of the file system; null: any.")
    share_bytes: int | None = field("That part in bytes; null: no limit, or the file system does not say its size.")


class Totals(Fields):
    """What became of the jobs of a root."""

    deleted: int = field("Directories deleted.")
    skipped: int = field("Jobs that were kept; `jobs` says why.")
    out_of_scope: int = field("Jobs of other owners, left alone.", brief=FULL_ONLY)
    freed_bytes: int = field("Bytes given back (dry run: would be).")
    used_jobs: int = field("Jobs in the root now, of all owners.")
    used_bytes: int = field("What they take on disk.")
    jobs: list[Decided] = field("What was decided about each job.", place=LAST, brief=FULL_ONLY)
    truncated: bool = field("Are there more jobs than listed?")


class Collected(Answer):  # of gc
    root: str = field("The job root.", brief=FULL_ONLY, verbatim=True)
    dry_run: bool = field("Was nothing really deleted?")
    older_than: str = field("The retention window.")
    older_than_source: str = field("Where it comes from.", brief=FULL_ONLY, enum=["default", "flag", "config"])
    totals: Totals = inline(Totals)
    leftovers: int = field("Half-made and half-deleted directories cleaned up.", brief=FULL_ONLY)
    bounds: KeptTo = field("What was kept to besides the age.", brief=FULL_ONLY)
    automatic: bool = field("Are jobs deleted without a call of gc?", brief=FULL_ONLY)
    hint: str | None = HINT
