"""The answers of write, send-keys, submit and paste, and of resize."""

from __future__ import annotations

from outlive.answers import Answer, field, optional, part
from outlive.answers.job import EFFECTIVE, HINT, REQUESTED, TIMEOUT, WAITED, Job
from outlive.answers.reading import Reading, Since


class Written(Answer):  # of write, send-keys, submit and paste
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


class Resized(Answer):  # of resize
    TEXT = "The terminal of job {job_id} is now {cols}x{rows}."

    job: Job = part(Job)
    timeout_ms: int = TIMEOUT
    cols: int = field("Columns of the terminal.")
    rows: int = field("Rows of the terminal.")
    hint: str | None = HINT
