"""Approve or deny a job that waits for a person."""

from __future__ import annotations

from outlive.core.ids import short_id
from outlive.jobs import job_answer, lookup
from outlive.jobs.permission import approval
from outlive.jobs.permission.person import person, require_person
from outlive.store import approval as answers
from outlive.verbs.spec import BOOL, JOB_ID, STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir


_NO_TITLES = "the jobs that wait may share it"


def approve(ctx: Context, *, job: str, always: bool = False, reason: str | None = None) -> Waiting[dict[str, Any]]:
    """Approve a pending job and have it started. With `always`, the same command in the same
    directory is approved from now on."""
    by = person(f"outlive {ctx.verb or 'approve'}")
    require_person()
    with lookup.open_exactly(ctx, job, "approve", _NO_TITLES) as found_job:
        found = yield from approval.decide(ctx, found_job, answers.APPROVED, by=by, reason=reason)
        if always:
            approval.remember(found.definition, by)
        return {**_answer(found, found_job), "always": always}


def deny(ctx: Context, *, job: str, reason: str | None = None) -> Waiting[dict[str, Any]]:
    """Deny a pending job: it ends without having run."""
    by = person(f"outlive {ctx.verb or 'deny'}")
    require_person()
    with lookup.open_exactly(ctx, job, "deny", _NO_TITLES) as found_job:
        found = yield from approval.decide(ctx, found_job, answers.DENIED, by=by, reason=reason)
        return _answer(found, found_job)


def _answer(found: Inspection, job: JobDir) -> dict[str, Any]:
    definition, state = found.definition, found.state
    return {
        "job_id": job.job_id,
        "state": state.state,
        "short_id": short_id(job.job_id),
        "name": definition.name,
        "command": definition.command,
        "cwd": definition.cwd,
        "pid": state.pid,
        "approval": job_answer.approval_of(found, job),
        **({"reason": state.reason, "message": state.message} if state.finished and state.message else {}),
    }


_REASON = Arg("reason", STR, "A sentence that the caller of the job is told.", metavar="TEXT")
_RESULT = "job_id state short_id name command cwd pid approval reason? message?"

APPROVE = Verb(
    "approve",
    "Approve a job that waits for a person, and start it.",
    approve,
    args=(
        JOB_ID,
        Arg("always", BOOL, "Approve the same command in the same directory from now on.", default=False),
        _REASON,
    ),
    result=f"{_RESULT} always",
    mcp=False,
    detail="The process that made the job starts it; if that is gone, it starts with the environment of this command. The "
    "first answer counts. Inside a job this is denied.",
)
DENY = Verb(
    "deny",
    "Deny a job that waits for a person: it ends without having run.",
    deny,
    args=(JOB_ID, _REASON),
    result=_RESULT,
    mcp=False,
    detail="The first answer counts. Inside a job this is denied.",
)
