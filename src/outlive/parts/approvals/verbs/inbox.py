"""Show what waits for a person: commands to approve, and programs that wait for input."""

from __future__ import annotations

from typing import Any

from outlive.core import quoted
from outlive.core.ids import short_id
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.parts.approvals.answers import APPROVAL, INPUT, Inbox, Question
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint
from outlive.verbs.spec import Verb


def inbox(ctx: Context) -> Inbox:
    """Return the questions of the jobs of every directory and client, the oldest first."""
    questions, skipped = [], 0
    for job_id in lookup.live_ids(ctx.caller):  # those that run, and those that wait for an answer
        checkpoint()
        try:
            with lookup.open_known(ctx.caller, job_id) as job:
                asked = question_of(ctx, job)
        # Removed meanwhile, from a newer version, or whatever a job has made of its own files
        except Exception:  # noqa: BLE001
            skipped += 1
            continue
        if asked is not None:
            questions.append(asked)
    questions.sort(key=lambda one: (one.since, one.job_id))
    hint = "`outlive submit JOB --text LINE` answers a prompt, `outlive approve JOB` or `deny` a command."
    return Inbox(questions=questions, skipped=skipped, hint=hint if questions else None)


def question_of(ctx: Context, job: JobDir) -> Question | None:
    """Return what a job asks a person now; None if it asks nothing."""
    inspection = adoption.inspect_and_adopt(ctx, job)
    definition, state = inspection.definition, inspection.state
    if state.state == "created":
        approval = job_answer.approval_of(inspection, job)
        if approval is None or approval["state"] != "pending":
            return None
        command = quoted.command(definition.command)
        about = _about(inspection)
        return Question(kind=APPROVAL, question=command, since=definition.created_at, approval=approval, **about)
    if state.waiting is None:
        return None
    with Output(job) as output:
        asks = job_answer.waiting(inspection, output)
    if not asks.waiting_for_input:
        return None
    return Question(
        kind=INPUT,
        question=asks.prompt,
        since=state.waiting.at,
        echo=asks.echo,
        keyboard=asks.keyboard,
        **_about(inspection),
    )


def _about(inspection: Inspection) -> dict[str, Any]:
    definition = inspection.definition
    return {
        "job_id": definition.job_id,
        "short_id": short_id(definition.job_id),
        "name": definition.name,
        "command": definition.command,
        "command_bytes": definition.command_bytes,
        "cwd": definition.cwd,
        "host": definition.host,
        "owner": definition.owner,
    }


INBOX = Verb(
    "inbox",
    "Show what waits for you: commands to approve, and programs that wait for input.",
    inbox,
    group="Decide",
    follow="outlive.parts.approvals.at_terminal.inbox:ask_all",
    at_terminal=True,
    result=Inbox,
    detail="At a terminal it shows one question after the other, and takes your answer: a line for a program, and y (once), a "
    "(always) or n for a command, with a reason behind it if you like. Elsewhere it prints the questions: `outlive submit`, "
    "`approve` and `deny` answer them. Inside a job nothing is answered.",
)
