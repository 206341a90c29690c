"""Show what a job is and how it is doing."""

from __future__ import annotations

from outlive.answers import advice
from outlive.answers.advice import Advised
from outlive.answers.job import Job, Status
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import other_machine
from outlive.render.sources import gaps_in
from outlive.store import fault_report
from outlive.store.output.merged import Output


def status(ctx: Context, *, job: str) -> Status:
    """Return what is true of a job now."""
    with lookup.open_job(ctx, job) as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        usage_there, descendants_there = other_machine.asked(inspection, job_dir, "status")
        definition, state = inspection.definition, inspection.state
        with Output(job_dir) as output:
            idle = job_answer.idle_ms(inspection, output)
            sizes, end, stored = output.sizes, output.end, output.stored
            gaps = gaps_in(output.gap.merged, 0, output.end)
            lost = job_answer.losses(inspection, output)
            asks = job_answer.waiting(inspection, output)
            described = job_answer.describe(inspection, job_dir, output, asks)
            used = usage_there or job_answer.usage(inspection, job_dir, output)
            said = job_answer.said(ctx, inspection, job_dir, output, asks, described.stopped)
        alive = job_answer.living(inspection, job_dir) if descendants_there is None else descendants_there
        found = [
            *said.advice,
            *advice.left_running(job_dir.job_id, alive if state.finished else None),
            *advice.told(advice.LOST, lost.hint),
        ]
        return Status(
            job=Job(job_id=job_dir.job_id, state=state.state),
            described=described,
            of_parts=said.fields,
            stdout_log_path=job_dir.log_path(0),
            stderr_log_path=job_dir.log_path(1),
            exit_code=state.exit_code,
            finished_at=state.finished_at,
            updated_at=state.updated_at or None,
            elapsed_ms=job_answer.elapsed_ms(inspection),
            idle_ms=idle,
            next_seq=end,
            stdout_bytes=sizes[0],
            stderr_bytes=sizes[1],
            stored_bytes=stored,
            quota_bytes=definition.quota_bytes,
            gaps=gaps or None,
            faults=fault_report.read(job_dir) or None,
            descendants=alive,
            usage=used or None,
            supervised=inspection.supervised,
            env_vars=job_answer.env_vars(inspection),
            notification=definition.notification.to_dict() or None,
            advised=Advised.made_of(found),
        )
