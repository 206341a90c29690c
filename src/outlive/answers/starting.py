"""The answers of run, start, restart and create."""

from __future__ import annotations

from outlive.answers import FULL_ONLY, HIDDEN, LAST, TIME, Answer, Fields, field, inline, maybe, optional
from outlive.answers import job as known
from outlive.answers.advice import Advised
from outlive.answers.job import Described, Job, PortHolder
from outlive.answers.named import Fired
from outlive.answers.output import Shown, Tails
from outlive.core.records import STATES


class StartedJob(Fields):
    """One job."""

    job_id: str = field("Its id.")
    name: str = field("Its title, or else the first words of its command.")
    state: str = field("Its state.", enum=[*STATES])


class Started(Answer):  # of run, start and restart
    jobs: list[StartedJob] | None = optional(
        "Of several jobs, all; the other members are about the first of them.", place=LAST, entry=StartedJob
    )
    job: Job = inline(Job)
    shown: Shown = inline(Shown)
    described: Described = inline(Described)
    of_parts: Fields | None = inline("outlive.answers.of_parts:OfParts")
    started_at: str | None = optional(
        "When the command started (or was about to); of a job that ended without a start, when it was defined; absent while it waits.",
        brief=FULL_ONLY,
        human=15,
        format=TIME,
    )
    snapshot: Tails = field("The ends of both streams.", place=LAST, brief=FULL_ONLY, human=HIDDEN)
    stdout_log_path: str = known.STDOUT_LOG
    stderr_log_path: str = known.STDERR_LOG
    waited_ms: int = known.WAITED
    elapsed_ms: int = field(
        "How long ago the command started; once it ended, how long it ran; 0 before its start, and if it never ran.",
        brief=FULL_ONLY,
        human=18,
    )
    env_vars: list[str] = known.ENV_VARS
    descendants: int | None = known.DESCENDANTS
    advised: Advised = inline(Advised)
    fired: Fired | None = maybe(known.FIRED, human=7)
    held_by: PortHolder | None = known.HELD_BY
    timed_out: bool | None = optional(known.TIMED_OUT, human=8)
    deduplicated: bool | None = optional("A running job with the same dedupe_key was found and answered.")
    requested_ms: int | None = known.REQUESTED
    effective_ms: int | None = known.EFFECTIVE


class Created(Answer):  # of create
    job: Job = inline(Job)
    short_id: str = known.SHORT_ID
    name: str = known.NAME
    created_at: str = field("When it was defined.", brief=FULL_ONLY, format=TIME)
    stdout_log_path: str = known.STDOUT_LOG
    stderr_log_path: str = known.STDERR_LOG
    hint: str = field("What to do next.", human=HIDDEN)
