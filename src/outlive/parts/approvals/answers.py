"""The answers of inbox, approve and deny."""

from __future__ import annotations

from outlive.answers import FIRST, LAST, TIME, Answer, Fields, field, inline, maybe, optional
from outlive.answers.job import (
    COMMAND,
    COMMAND_BYTES,
    CWD,
    HINT,
    JOB_ID,
    MESSAGE,
    NAME,
    OWNER,
    PID,
    SHORT_ID,
    Job,
)
from outlive.answers.named import Approval, Keyboard
from outlive.core.records import REASONS

APPROVAL, INPUT = "approval", "input"


class Question(Fields):  # without a docstring, which would be the description of each entry
    job_id: str = JOB_ID
    short_id: str = SHORT_ID
    kind: str = field(
        "approval: may this command run? input: a program waits for what is typed.", enum=[APPROVAL, INPUT]
    )
    question: str | None = field(
        "The prompt, or the command as a shell would need it; a character that is not seen is an escape. null: a program "
        "that fills its screen."
    )
    since: str = field("Since when it waits.", format=TIME)
    name: str = NAME
    command: list[str] = COMMAND
    command_bytes: int | None = COMMAND_BYTES
    cwd: str = CWD
    host: str | None = optional("The host it is on; absent: this machine.")
    owner: str = OWNER
    echo: bool | None = optional("Does its terminal show what is typed? false: a password.")
    keyboard: Keyboard | None = optional("There while a person types into its terminal.")
    approval: Approval | None = optional("What is asked, by which rule, and until when it can be answered.")


class Inbox(Answer):  # of inbox
    questions: list[Question] = field("What waits for a person, the oldest first.", place=LAST)
    skipped: int = field("Directories that could not be read.")
    hint: str | None = HINT


class Answered(Answer):  # of deny
    job: Job = inline(Job)
    short_id: str = SHORT_ID
    name: str = NAME
    command: list[str] = COMMAND
    command_bytes: int | None = COMMAND_BYTES
    cwd: str | None = CWD
    pid: int | None = PID
    approval: Approval = field("Of a job that needs a person's approval: what became of it.")
    reason: str | None = maybe("Why it ended.", place=FIRST, human=5, enum=[*REASONS, None])
    message: str | None = MESSAGE


class Approved(Answered):  # of approve
    always: bool = field("Is the same command, with everything that decides what it does, approved from now on?")
