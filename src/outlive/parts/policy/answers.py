"""The answers of policy."""

from __future__ import annotations

from outlive.answers import DECISIONS, FIRST, TIME, Answer, Fields, field, optional
from outlive.answers.job import COMMAND_BYTES, CWD, HINT, SANDBOX


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
