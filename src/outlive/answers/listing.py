"""The answers of list, tag set, notify set and help."""

from __future__ import annotations

from outlive import limits
from outlive.answers import ALWAYS, FULL_ONLY, LAST, TIME, Answer, Fields, field, inline, maybe, optional
from outlive.answers import job as known
from outlive.answers.job import Elsewhere, HowEnded, Job, Stopped
from outlive.answers.named import Approval, Notification, Usage
from outlive.answers.of_parts import InList


class Listed(Fields):  # without a docstring, which would be the description of each entry
    BRIEF = (
        *"job_id state exit_code signal reason stages descendants name waiting_for_input started_at last_line message "
        "approval host queue reachable machine supervisor_pid damage".split(),
        *InList.flat(),
    )
    BRIEF_OF_OTHERS = ("others", "owner", "session", "cwd")
    IN_SENTENCES = frozenset(
        "job_id state exit_code signal reason name descendants waiting_for_input started_at last_line message approval "
        "supervisor_pid others owner session cwd".split()
    )

    job_id: str = known.JOB_ID
    short_id: str = known.SHORT_ID
    state: str = known.STATE
    name: str = known.NAME
    command: list[str] = known.COMMAND
    command_bytes: int | None = known.COMMAND_BYTES
    cwd: str | None = known.CWD
    owner: str = known.OWNER
    session: str | None = optional("Which session of that client started it; absent for a person.")
    tags: list[str] = known.TAGS
    timeout_ms: int = known.TIMEOUT
    ended: HowEnded = inline(HowEnded)
    created_at: str = field("When it was defined.", format=TIME)
    finished_at: str | None = known.FINISHED_AT
    updated_at: str | None = field("When its state was last written.", format=TIME)
    waiting_for_input: bool = known.WAITING
    last_line: str | None = field(
        f"The line that says why it failed, of a job that waits for input its prompt, else the last that it put out, at most {limits.LAST_LINE_CHARS} characters."
    )
    message: str | None = optional("One sentence about an end that was not a good one, where there is more to say.")
    descendants: int | None = optional("Of a job that ended: its processes that live, if any do. It counts as running.")
    others: bool | None = optional(
        "Only in brief, which else names neither owner nor directory: it is another session's, or (CLI) another directory's."
    )
    stopped: Stopped | None = inline(Stopped)
    elsewhere: Elsewhere | None = inline(Elsewhere)
    of_parts: Fields | None = inline(InList)
    approval: Approval | None = known.APPROVAL
    usage: Usage | None = optional(known.USAGE)
    started_at: str | None = maybe(known.STARTED_AT, format=TIME)
    damage: str | None = known.DAMAGE


class Counts(Fields):
    """How many jobs there are, shown or not."""

    all: int = field("Jobs that were asked for.")
    running: int = field("Of these run.")
    failed: int = field("Of these did not end well, and not on request.")
    killed: int = field("Of these were ended on request.")
    complete: bool = field("Were all counted?")


class List(Answer):  # of list
    counts: Counts | None = optional(
        "Of a list over MCP that asks for nothing in particular, if not all are shown: the jobs that there are."
    )
    root: str = field("The job root.", brief=FULL_ONLY, verbatim=True)
    jobs: list[Listed] = field("The jobs.", place=LAST, brief=ALWAYS, entry=Listed)
    truncated: bool = field("Are there more jobs than shown?")
    skipped: int = field("Directories that could not be read.", brief=FULL_ONLY)
    hint: str | None = known.HINT


class Tagged(Answer):  # of tag set
    TEXT = "Tags of job {job_id}: {tags}."

    job: Job = inline(Job)
    tags: list[str] = field("Its tags.", brief=ALWAYS, human=13)
    hint: str | None = known.HINT


class NotifySet(Answer):  # of notify set
    job: Job = inline(Job)
    notification: Notification = field(known.NOTIFICATION)
    hint: str | None = known.HINT


class Help(Answer):  # of process help
    actions: dict[str, str] = field("What each action of process does, and its arguments.", brief=ALWAYS)
