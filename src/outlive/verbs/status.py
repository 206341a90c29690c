"""Tell what a job is and how it is doing."""

from __future__ import annotations

from outlive.core.records import READ
from outlive.jobs import adoption, job_answer, lookup
from outlive.store.output.merged import Output
from outlive.verbs.spec import JOB, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir


def status(ctx: Context, *, job: str) -> Waiting[dict[str, Any]]:
    """Return what is true of a job now."""
    with lookup.open_job(ctx, job) as found_job:
        found = adoption.inspect_and_adopt(ctx, found_job)
        there = yield from job_answer.looked_elsewhere(found, found_job, "status")
        notification = found.definition.notification
        with Output(found_job) as output:
            idle = job_answer.idle_ms(found, output)
            sizes, end, stored = output.sizes, output.end, output.stored
            gaps = _gaps(output)
            lost = job_answer.losses(found, output)
            described = job_answer.describe(found, found_job, output)
            used = there.get("usage") or job_answer.usage(found, found_job, output)
            hint = job_answer.advice(found, found_job, output, described) or lost.get("hint")
        return {
            "job_id": found_job.job_id,
            "state": found.state.state,
            **described,
            **job_answer.paths(found_job),
            "exit_code": found.state.exit_code,
            "finished_at": found.state.finished_at,
            "updated_at": found.state.updated_at or None,
            "elapsed_ms": job_answer.elapsed_ms(found),
            "idle_ms": idle,
            "next_seq": end,
            "stdout_bytes": sizes[0],
            "stderr_bytes": sizes[1],
            "stored_bytes": stored,
            "quota_bytes": found.definition.quota_bytes,
            **({"gaps": gaps} if gaps else {}),
            **({"faults": faults} if (faults := _faults(found_job)) else {}),
            "descendants": there.get("descendants", job_answer.living(found, found_job)),
            **({"usage": used} if used else {}),
            "supervised": found.supervised,
            "env_vars": job_answer.env_vars(found),
            **({"notification": notification} if notification else {}),
            **({"hint": hint} if hint else {}),
        }


def _gaps(output: Output) -> list[dict[str, Any]]:
    if not output.gap.merged.crossed_by(0, output.end):
        return []
    from outlive.render.window import gaps_in  # late: few jobs have one

    return gaps_in(output.gap.merged, 0, output.end)


def _faults(job: JobDir) -> list[dict[str, str]]:
    if not job.fault_names():
        return []
    from outlive.store import fault_report  # late: hardly ever is there one

    return fault_report.read(job)


VERB = Verb(
    "status",
    "Tell what a job is and how it is doing.",
    status,
    args=(JOB,),
    right=READ,
    result="job_id state stdout_log_path stderr_log_path exit_code finished_at updated_at elapsed_ms idle_ms next_seq "
    "stdout_bytes stderr_bytes stored_bytes quota_bytes gaps? faults? supervised env_vars notification? hint? "
    + job_answer.DESCRIBING.replace("exit_code? ", ""),
)
