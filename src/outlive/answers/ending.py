"""The answers of kill, clear, remove and gc."""

from __future__ import annotations

from outlive import limits
from outlive.answers import BELOW, FIRST, FULL_ONLY, LAST, TIME, Answer, Fields, field, inline, maybe, optional
from outlive.answers.job import EFFECTIVE, ENDED_BY, EXIT_CODE, FREED, HINT, MESSAGE, REQUESTED, TIMEOUT, Elsewhere, Job
from outlive.answers.output import OUTPUT
from outlive.core.members import Members, entries_of, text_of
from outlive.core.records import REASONS, STATES

IN_WINDOW = "it is within the window"  # why gc keeps most jobs


def age_of_deleted(answer: Members) -> str:
    """Return " older than 30d" if each job that gc deleted was; "" if one went for another bound, or not all are listed."""
    whys = [text_of(job, "reason") for job in entries_of(answer, "jobs") if job.get("action") != "skipped"]
    by_age = not answer.get("truncated") and all(why.startswith("older_than") for why in whys)
    return f" older than {text_of(answer, 'older_than')}" if by_age and answer.get("older_than") else ""


class Process(Fields):
    """One process."""

    pid: int = field("Process id.", minimum=None)
    command: str = field("Its command line.")


class EndedJob(Fields):
    """One of several jobs."""

    job_id: str = field("Its id.")
    name: str | None = optional("Its title, or else the first words of its command.")
    state: str = field("Its state.", enum=[*STATES])
    exit_code: int | None = maybe("Its exit code.", minimum=None)
    reason: str | None = maybe("Why it ended.", enum=[*REASONS, None])
    survivors_count: int | None = optional("How many of its processes are still alive, if any are.")
    error: str | None = optional("Why nothing was done to it.")


class Killed(Answer):  # of kill
    jobs: list[EndedJob] | None = optional(
        "Of several jobs, all; the other members are about one of them.", place=LAST, entry=EndedJob
    )
    job: Job = inline(Job)
    exit_code: int | None = maybe(EXIT_CODE, place=FIRST, human=3, minimum=None)
    signal: str | None = field("The signal that was sent, as SIGTERM.", place=FIRST, human=4)
    reason: str | None = maybe("Why it ended.", place=FIRST, human=5, enum=[*REASONS, None])
    timeout_ms: int = TIMEOUT
    already_ended: bool | None = optional("The job had ended before, and no signal was sent.")
    elsewhere: Elsewhere | None = inline(Elsewhere)
    survivors: list[Process] = field(f"Processes of the job that are still alive, at most {limits.LISTED_PROCESSES}.")
    survivors_count: int | None = optional("How many are still alive, if not all are listed.")
    ended: list[Process] = field(f"Processes of the job that ended meanwhile, at most {limits.LISTED_PROCESSES}.")
    ended_count: int | None = optional("How many ended, if not all are listed.")
    finished_at: str | None = maybe("When it ended.", brief=FULL_ONLY, human=16, format=TIME)
    ended_by: str | None = ENDED_BY
    ended_signal: str | None = maybe("The signal that ended the command, where one did.")
    message: str | None = MESSAGE
    hint: str | None = HINT
    output: str | None = optional(OUTPUT, place=LAST, human=BELOW)
    requested_ms: int | None = REQUESTED
    effective_ms: int | None = EFFECTIVE


ALL = "all"  # in place of a job, to `clear`


class DeletedJob(Job):
    """A job that is gone."""

    state: str = field("The job's last state.", place=FIRST, human=2, enum=[*STATES])


class Deleted(Answer):  # of clear and remove
    jobs: list[EndedJob] | None = optional("Of several jobs, all; `freed_bytes` is of all.", place=LAST, entry=EndedJob)
    job: DeletedJob = inline(DeletedJob)
    freed_bytes: int = FREED
    hint: str | None = HINT


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
