"""The answer of a verb that types into a job."""

from __future__ import annotations

from outlive.answers import Answer, field, optional, part
from outlive.answers.job import EFFECTIVE, REQUESTED, TIMEOUT, WAITED, Job
from outlive.answers.reading import Reading, Since


class Written(Answer):  # of write and submit, and of verbs of parts
    job: Job = part(Job)
    reading: Reading | None = part(Reading)
    timeout_ms: int = TIMEOUT
    since: Since | None = part(Since)
    waited_ms: int | None = optional(WAITED.help, brief=WAITED.brief)
    bytes_written: int = field("Bytes the job's stdin took.")
    sent: int | None = optional("How many of several texts were typed.")
    stdin: str = field("Can more be written?", enum=["open", "closed"])
    warnings: list[str] | None = optional("What was not as asked.")
    requested_ms: int | None = REQUESTED
    effective_ms: int | None = EFFECTIVE
