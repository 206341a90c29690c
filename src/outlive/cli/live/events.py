"""`outlive events --follow`: the events of a job as they come."""

from __future__ import annotations

from outlive.cli import stdio
from outlive.cli.main import ANSWERED
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient
from outlive.store import history
from outlive.verbs import envelope
from outlive.verbs.spec import GlobalOptions, Verb


def follow(
    ctx: Context,
    _verb: Verb,
    _options: GlobalOptions,
    *,
    job: str,
    since_seq: int | None = None,
    since_event: int | None = None,
    **_: object,
) -> int:
    """Print every event so far, then each new one, until none can come any more: one object a line. Return the exit
    status."""
    with lookup.open_job(ctx, job) as job_dir:
        control = ControlClient(job_dir, output=False)
        after, offset = since_event or 0, 0
        try:
            while True:
                try:
                    inspection = adoption.inspect_and_adopt(ctx, job_dir)
                except OutliveError as error:
                    if error.code == "job_not_found":  # removed: nothing more can come
                        return ANSWERED
                    raise
                fresh, offset = history.read(job_dir, after=after, since_seq=since_seq or 0, offset=offset)
                for event in fresh:
                    stdio.json_line(envelope.encoded({"job_id": job_dir.job_id, **event}))
                    after = max(after, event["n"])
                if not inspection.supervised and (
                    inspection.state.finished or inspection.state.state in ("created", "unknown")
                ):
                    return ANSWERED
                control.pause(None)
        finally:
            control.close()
