"""Read new output and the state, at once or when there is something new."""

from __future__ import annotations

import time
from contextlib import closing, nullcontext

from outlive.answers import advice
from outlive.answers.reading import Polled
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient
from outlive.jobs.interaction import reading
from outlive.jobs.told import known_to_session
from outlive.render import sources, window


def poll(
    ctx: Context,
    *,
    job: str,
    since_seq: int | None = None,
    timeout_ms: int = 0,
    max_bytes: int,
    raw: bool = False,
    show: str | None = None,
    encoding: str | None = None,
) -> Polled:
    """Return the output since a position. Wait at most `timeout_ms` for output or the end. Reading consumes nothing."""
    wanted = sources.view_of(ctx.config, max_bytes, raw=raw, show=show, decoding=window.decoding(encoding))
    began = time.monotonic()
    until = began + timeout_ms / 1000
    with lookup.open_job(ctx, job) as job_dir:
        since, beyond = known_to_session.beginning(ctx, job_dir, since_seq)
        with closing(ControlClient(job_dir, output=True)) if timeout_ms else nullcontext() as control:
            while True:
                answer = reading.read(ctx, job_dir, since, wanted)
                seen = answer.reading
                is_news = seen.shown.output or seen.asks.waiting_for_input
                if is_news or seen.job.state not in ("running", "created") or time.monotonic() >= until:
                    break
                assert control is not None
                control.pause(until)
        known_to_session.mark_seen(ctx, job_dir, seen.shown.next_seq, asks=seen.asks.waiting_for_input)
        answer.since.advised = answer.since.advised.with_more(advice.CALL, beyond)
        answer.waited_ms = round((time.monotonic() - began) * 1000)
        return answer
