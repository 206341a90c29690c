"""The answers of kill, clear and remove."""

from __future__ import annotations

from outlive import limits
from outlive.answers import BELOW, FIRST, FULL_ONLY, LAST, TIME, Answer, Fields, field, inline, maybe, optional
from outlive.answers.job import EFFECTIVE, ENDED_BY, EXIT_CODE, FREED, HINT, MESSAGE, REQUESTED, TIMEOUT, Elsewhere, Job
from outlive.answers.output import OUTPUT
from outlive.core.records import REASONS, STATES


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
