"""Progress notifications of a call that blocks, for clients that ask: its duration, and the last line of the job, or
how far a call is that works on many jobs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping

import anyio

from outlive.core.ids import short_id
from outlive.core.members import number_of
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.mcp.caller import Request
from outlive.mcp.masking import Masking
from outlive.mcp.tools.arguments import waiting_argument
from outlive.mcp.tools.call import SPAWNING
from outlive.render import ends
from outlive.store.output.merged import Output
from outlive.verbs.spec import Verb

# Takes the seconds so far, the seconds at most or None, and a message
Report = Callable[[float, float | None, str], Awaitable[None]]

EVERY_S = 1.0  # the first comes after this; clients draw each of them
# Also without news: clients that extend their time-out on progress expect some in 10 s
HEARTBEAT_S = 9.0
NOTHING_YET = "running, no output yet"
_LOOKED_AT = 32  # of the jobs that a call waits for; each look opens some files


def reporter(ctx: Request) -> Report | None:
    """Return the function that notifies the client of this request, None if it did not ask for progress."""
    wanted = (ctx.meta or {}).get("progress_token") is not None
    return ctx.session.report_progress if wanted else None


async def report_until(
    end: anyio.CancelScope, report: Report, verb: Verb, ctx: Context, args: Mapping[str, object], secrets: Masking
) -> None:
    """Report on a call until `end` is cancelled, and never after it."""
    began = time.monotonic()
    total = total_s(verb, args)
    reported, reported_at = "", began
    with end:
        while True:
            await anyio.sleep(EVERY_S)
            now = time.monotonic()
            message = message_of(ctx, args, secrets) if verb.name in SPAWNING or "job" in args else _how_far(ctx)
            # An empty one: it does not say how far it is
            if message and (message != reported or now - reported_at >= HEARTBEAT_S):
                reported, reported_at = message, now
                await report(round(now - began, 3), total, message)


def _how_far(ctx: Context) -> str:
    """Return how far a call is that works on many jobs; nothing if it does not say."""
    if ctx.progress is None:
        return ""
    done, total, what = ctx.progress()
    return f"{done:,} {what}" if total is None else f"{done:,} of {total:,} {what}"


def message_of(ctx: Context, args: Mapping[str, object], secrets: Masking) -> str:
    """Return the last line of the job that the call is about, with secrets masked; of several jobs that of the job that
    printed last, behind its short id."""
    jobs = [ctx.job_id] if ctx.job_id else ctx.awaited[:_LOOKED_AT] or [str(args.get("job"))]
    last_lines = [line for line in (_last_line(ctx, job) for job in jobs) if line is not None]
    if not last_lines:
        return NOTHING_YET
    _, job_id, line = max(last_lines)
    line = secrets.masked(line, job_id)
    return f"{short_id(job_id)}: {line}" if len(jobs) > 1 else line


def _last_line(ctx: Context, named: str) -> tuple[float, str, str] | None:
    """Return when a job printed last, its id, and its last line; None if it printed nothing."""
    try:
        with lookup.open_job(ctx, named) as job, Output(job) as output:
            if not output.end:
                return None
            return output.last_time() or 0.0, job.job_id, ends.last_line(output) or "running"
    except (OSError, OutliveError):  # not made yet, or removed
        return None


def total_s(verb: Verb, args: Mapping[str, object]) -> float | None:
    """Return how many seconds the call may take, None if that is unknown."""
    if args.get("wait"):  # until the job ends
        limit = number_of(args, "timeout_ms")
        most = limit + number_of(args, "kill_after_ms") if limit else None
    else:
        name = waiting_argument(verb, args)
        most = None if name is None or args[name] is None else number_of(args, name)
    return None if most is None else most / 1000
