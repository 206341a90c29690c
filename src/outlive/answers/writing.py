"""The answer of the verbs that type into a job."""

from __future__ import annotations

from outlive.answers import Answer, field, inline, optional
from outlive.answers import job as known
from outlive.answers.job import Job
from outlive.answers.reading import Reading, Since


class Written(Answer):  # of write and submit, and of verbs of parts
    job: Job = inline(Job)
    reading: Reading | None = inline(Reading)
    timeout_ms: int = known.TIMEOUT
    since: Since | None = inline(Since)
    waited_ms: int | None = optional(known.WAITED.help, brief=known.WAITED.brief)
    bytes_written: int = field("Bytes the job's stdin took.")
    sent: int | None = optional("How many of several texts were typed.")
    stdin: str = field("Can more be written?", enum=["open", "closed"])
    warnings: list[str] | None = optional("What was not as asked.")
    requested_ms: int | None = known.REQUESTED
    effective_ms: int | None = known.EFFECTIVE
