"""The answers of inbox, approve, deny and policy."""

from __future__ import annotations

from outlive.answers import DECISIONS, FIRST, LAST, TIME, Answer, Fields, field, inline, maybe, optional
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
    SANDBOX,
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


class CheckedJobs(Fields):
    """Jobs about which the same is decided for the same reason."""

    decision: str = field("What is decided.", enum=DECISIONS)
    rule: str = field("The rule that decides.")
    reason: str | None = field("Why.")
    jobs: int = field("How many jobs.")
    example: list[str] = field("The command of the newest of them.")


class Checked(Fields):
    """One command."""

    command: list[str] = field("Its words; of a string that cannot be split, the string.")
    decision: str = field("What is decided about it.", enum=DECISIONS)
    rule: str = field("The rule that decided.")
    reason: str | None = field("The reason of the rule.")
    unknown: str | None = optional("Why it is not known what it runs.")


class PolicyCheck(Answer):  # of policy check
    decision: str = field("What is decided; of several commands, the strictest.", enum=DECISIONS)
    rule: str | None = field(
        "The rule that decided: its number and what it is about, or default; null without a policy."
    )
    reason: str | None = field("The reason that the rule has.", place=FIRST, human=5)
    commands: list[Checked] = field("The commands that it consists of; none with --history.")
    config: str | None = field("The configuration file; null: there is none.")
    cwd: str | None = CWD
    host: str | None = optional("Where the job runs, or is to run; absent: on this machine.")
    sandbox: dict[str, object] | None = optional("The boundary it runs in; absent for a job without one.", **SANDBOX)
    counts: dict[str, int] | None = optional("With --history: of how many jobs each decision would have been made.")
    history: list[CheckedJobs] | None = optional("With --history: these jobs by the reason, the most first.")
    hint: str | None = HINT


class Rule(Fields):
    """One rule."""

    rule: str = field("Its number and what it is about.")
    decision: str = field("What it decides.", enum=DECISIONS)
    reason: str | None = field("Its reason.")


class Always(Fields):
    """One approval."""

    id: str = field("What `outlive policy forget` takes.")
    command: list[str] = field("The command.")
    command_bytes: int | None = COMMAND_BYTES
    cwd: str = field("The directory in which it is approved.")
    by: str = field("Who approved it.")
    at: str = field("When.", format=TIME)


_PATH = field("The file of the approvals for always.")


class PolicyList(Answer):  # of policy list
    config: str | None = field("The configuration file; null: there is none.")
    default: str | None = field(
        "What is decided where no rule matches; null: there is no policy.", enum=[*DECISIONS, None]
    )
    rules: list[Rule] = field("The rules, in their order.")
    path: str = _PATH
    approvals: list[Always] = field("What was approved for always.")


class Forgotten(Answer):  # of policy forget
    path: str = _PATH
    forgotten: list[Always] = field("The approvals that were taken back.")
