"""Tell what a job uses, or several together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from outlive.answers import sentences
from outlive.answers.job import Job
from outlive.errors import OutliveError
from outlive.jobs import adoption, job_answer, several
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import other_machine
from outlive.jobs.diagnosis.use import Figures
from outlive.parts.limits.used import Used, UsedJob
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

_MAY_HAVE_RUN = ("lost", "reboot")


def usage(ctx: Context, *, job: str | None = None, **of_parts: object) -> Used:
    """Return what a job uses now, or what it used; the sum of several jobs, which an argument of a part names."""
    with several.one_or_several(ctx, job, of_parts) as jobs:
        return _of_one(ctx, jobs[0]) if job is not None else _of_several(ctx, jobs)


def _of_one(ctx: Context, job_dir: JobDir) -> Used:
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


def _of_several(ctx: Context, jobs: Sequence[JobDir]) -> Used:
    """Errors: invalid_state if nothing is known of any."""
    answers: list[Used] = []
    each: list[UsedJob] = []
    error: OutliveError | None = None
    for job in jobs:
        definition = job.read_meta()
        try:
            answers.append(_of_one(ctx, job))
        except OutliveError as caught:
            error, state = caught, adoption.inspect_and_adopt(ctx, job).state.state
            each.append(UsedJob(job_id=job.job_id, name=definition.name, state=state, error=caught.message))
        else:
            used = answers[-1]
            each.append(UsedJob(job_id=job.job_id, name=definition.name, state=used.job.state, usage=dict(used.usage)))
    if not answers:
        raise error or OutliveError("job_not_found", "none of these jobs is there any more")
    answer = answers[0]
    answer.usage = _together([Figures.of(one.usage) for one in answers]).to_dict()
    answer.jobs = each
    return answer


def _together(each: Sequence[Figures]) -> Figures:
    """Return what several jobs use together: sums, but the longest time that one has run, and the most memory that one had.
    A figure is not known if that of one job is not."""

    def summed(values: Iterable[int | None]) -> int | None:
        return sum(known) if len(known := [one for one in values if one is not None]) == len(each) else None

    living = [one for one in each if one.memory_bytes is not None]  # of ended jobs these figures are not there
    peaks = [one.peak_memory_bytes for one in each]
    first = each[0].source.items()
    return Figures(
        wall_ms=max(one.wall_ms for one in each),
        user_ms=summed(one.user_ms for one in each),
        system_ms=summed(one.system_ms for one in each),
        peak_memory_bytes=max((one for one in peaks if one is not None), default=None) if None not in peaks else None,
        processes=summed(one.processes for one in each),
        output_bytes=summed(one.output_bytes for one in each),
        memory_bytes=sum(one.memory_bytes or 0 for one in living) if living else None,
        read_bytes=sum(one.read_bytes or 0 for one in living) if living else None,
        written_bytes=sum(one.written_bytes or 0 for one in living) if living else None,
        source={name: source for name, source in first if all(one.source.get(name) == source for one in each)},
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
