"""Approve or deny a job that waits for a person."""

from __future__ import annotations

import os
from typing import Any

from outlive.answers import ABSENT
from outlive.answers.job import Job
from outlive.core.ids import short_id
from outlive.core.object_reference import resolve_name
from outlive.jobs import job_answer, lookup
from outlive.jobs.context import Context
from outlive.parts.approvals import answer_file, facts, wait_for_answer
from outlive.parts.approvals.answers import Answered, Approved
from outlive.parts.approvals.person import require_person, require_person_here
from outlive.parts.user import person
from outlive.verbs.spec import BOOL, JOB_ID, STR, Arg, Verb

NO_TITLES = "the jobs that wait may share it"


def approve(ctx: Context, *, job: str, always: bool = False, reason: str | None = None) -> Approved:
    """Approve a pending job and have it started. With `always`, the same command, with everything
    that decides what it does, is approved from now on. A person at a terminal is asked first. Errors: invalid_state."""
    if ctx.face == "cli" and os.isatty(0) and os.isatty(2):
        resolve_name("outlive.parts.approvals.at_terminal.ask:before_approving")(ctx, job)
    return Approved(always=always, **_decided(ctx, job, answer_file.APPROVED, reason, always=always))


def deny(ctx: Context, *, job: str, reason: str | None = None) -> Answered:
    """Deny a pending job: it ends without having run."""
    return Answered(**_decided(ctx, job, answer_file.DENIED, reason))


def _decided(ctx: Context, named: str, decision: str, reason: str | None, *, always: bool = False) -> dict[str, Any]:
    """Decide, and return the arguments of both answers."""
    verb = "approve" if decision == answer_file.APPROVED else "deny"
    by = person(f"outlive {ctx.verb or verb}")
    (require_person_here if ctx.face == "cli" else require_person)(ctx.store)
    with lookup.open_exactly(ctx, named, verb, NO_TITLES) as job:
        inspection = wait_for_answer.decide(ctx, job, decision, by=by, reason=reason, always=always)
        definition, state = inspection.definition, inspection.state
        ended = state.finished and state.message
        return {
            "job": Job(job_id=job.job_id, state=state.state),
            "short_id": short_id(job.job_id),
            "name": definition.name,
            "command": definition.command,
            "command_bytes": definition.command_bytes,
            "cwd": definition.cwd,
            "pid": state.pid,
            "approval": {**(job_answer.approval_of(inspection, job) or {}), "facts": facts.shown(definition)},
            "reason": state.reason if ended else ABSENT,
            "message": state.message if ended else None,
        }


_REASON = Arg("reason", STR, "A sentence for the caller of the job.", metavar="TEXT")

APPROVE = Verb(
    "approve",
    "Approve a job that waits for a person, and start it.",
    approve,
    group="Decide",
    args=(
        JOB_ID,
        Arg(
            "always",
            BOOL,
            "Approve the same command, with everything that decides what it does, from now on.",
            default=False,
        ),
        _REASON,
    ),
    result=Approved,
    detail="The process that made the job starts it; if that is gone, it starts with the environment of this command. The "
    "first answer counts. `approval.facts` of the answer is what was approved; at a terminal it is shown first, and you are "
    "asked once more. Inside a job this is denied.",
)
DENY = Verb(
    "deny",
    "Deny a job that waits for a person: it ends without having run.",
    deny,
    group="Decide",
    args=(JOB_ID, _REASON),
    result=Answered,
    detail="The first answer counts. Inside a job this is denied.",
)
