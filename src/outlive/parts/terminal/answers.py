"""The answers of screen and resize."""

from __future__ import annotations

from outlive.answers import ALWAYS, BELOW, LAST, Answer, field, inline, optional
from outlive.answers import job as known
from outlive.answers.job import Job, Prompt
from outlive.answers.output import ALTERNATE, Cursor


class Screen(Answer):  # of screen
    job: Job = inline(Job)
    timeout_ms: int = known.TIMEOUT
    lines: list[str] = field(
        "The rows of the terminal, without the blanks at their ends.", place=LAST, human=BELOW, brief=ALWAYS
    )
    cursor: Cursor = field("Where the cursor is.")
    title: str | None = field("The window title that the program set.")
    alternate_screen: bool = field(ALTERNATE)
    cols: int = field("Columns of the terminal.")
    rows: int = field("Rows of the terminal.")
    next_seq: int = known.NEXT_SEQ
    asks: Prompt = inline(Prompt)
    hint: str | None = known.HINT
    first_row: int | None = optional("The first of the rows shown, from 0, where not all are.")
    warnings: list[str] | None = optional("What was not as asked.")


class Resized(Answer):  # of resize
    TEXT = "The terminal of job {job_id} is now {cols}x{rows}."

    job: Job = inline(Job)
    timeout_ms: int = known.TIMEOUT
    cols: int = field("Columns of the terminal.")
    rows: int = field("Rows of the terminal.")
    hint: str | None = known.HINT
