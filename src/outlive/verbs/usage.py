"""Tell what a job uses."""

from __future__ import annotations

from outlive.answers import sentences
from outlive.answers.job import Job
from outlive.answers.reading import Used
from outlive.errors import OutliveError
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import other_machine
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output

_MAY_HAVE_RUN = ("lost", "reboot")


def usage(ctx: Context, *, job: str) -> Used:
    """Return what a job uses now, or what it used."""
    with lookup.open_job(ctx, job) as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        used, _ = other_machine.asked(inspection, job_dir, "usage")
        if used is None:
            with Output(job_dir) as output:
                used = job_answer.usage_now(inspection, job_dir, output)
        if used is None:
            raise _nothing_known(inspection)
        given = job_answer.given(inspection)
        return Used(
            job=Job(job_id=job_dir.job_id, state=inspection.state.state),
            ended=job_answer.how_ended(inspection, job_dir),
            usage=used,
            given=given.fields,
            hint=sentences(*(one.text for one in given.advice)),
        )


def _nothing_known(inspection: Inspection) -> OutliveError:
    """Return the error about a job of which no figure is there: it never ran, or it may have."""
    state = inspection.state
    if state.state == "running":
        return OutliveError("invalid_state", "its command is being started", retryable=True, hint="Try again.")
    if state.state == "unknown" or state.reason in _MAY_HAVE_RUN:
        why = inspection.damage or state.message
        return OutliveError("invalid_state", f"what it used is not known{f': {why}' if why else ''}")
    return OutliveError("invalid_state", "its command has not run, so it used nothing")
