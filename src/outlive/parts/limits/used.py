"""The answer of usage."""

from __future__ import annotations

from outlive.answers import LAST, Answer, Fields, field, inline, optional
from outlive.answers import job as known
from outlive.answers.job import HowEnded, Job
from outlive.answers.named import Usage
from outlive.answers.of_parts import Given
from outlive.core.records import STATES


class UsedJob(Fields):
    """One job."""

    job_id: str = field("Its id.")
    name: str | None = optional("Its title, or else the first words of its command.")
    state: str = field("Its state.", enum=[*STATES])
    usage: Usage | None = optional("What it uses or used.")
    error: str | None = optional("Why that is not known.")


class Used(Answer):  # of usage
    jobs: list[UsedJob] | None = optional(
        "Of several jobs, all: usage is of all together; the other members are about one of them.",
        place=LAST,
        entry=UsedJob,
    )
    job: Job = inline(Job)
    ended: HowEnded | None = inline(HowEnded)
    usage: Usage = field(known.USAGE)
    given: Fields | None = inline(Given, keep=Given.flat())
    hint: str | None = known.HINT
