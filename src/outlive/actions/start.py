"""Start a job that create defined."""

from __future__ import annotations

from outlive.actions import access, answers, define, launching
from outlive.actions.spec import JOB, Verb
from outlive.errors import OutliveError, from_os
from outlive.store.jobdir import Locks
from outlive.system import crash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context
    from outlive.store.jobdir import JobDir


def start(ctx: Context, *, job: str, **args: Any) -> Waiting[dict[str, Any]]:
    """Start a created job; answer as run does."""
    seen = launching.Observation.taken_from(args)
    with access.open_job(ctx, job) as found:
        locks = _take(found)
        crash.at("start_taken")
        try:
            plan = _plan(ctx, found)
            ctx.store.mark_live(found.job_id)
            ctx.job_id = found.job_id
            sock = yield from launching.begin(ctx, plan, locks, created=True)
            yield from launching.started(found, sock, locks)
        except OutliveError:
            ctx.store.unmark_live(found.job_id)
            raise
        finally:
            locks.close()
        return (yield from launching.watch(ctx, found, sock, seen, told=True))


def _take(job: JobDir) -> Locks:
    """The locks of a created job: only one caller can start it."""
    try:
        return Locks(job)
    except BlockingIOError:
        raise _not_created("running") from None
    except OSError as error:
        raise from_os(f"locking job {job.job_id}", error) from error


def _plan(ctx: Context, job: JobDir) -> define.Plan:
    state = job.read_state()
    if state is None or state.state != "created":
        raise _not_created(state.state if state else "unknown")
    definition = job.read_meta()
    define.working_directory(ctx, definition.cwd)
    overrides = {**define.read_env_files(definition.env_files), **definition.env}
    stdin_fd = define.open_stdin(definition.stdin_path) if definition.stdin == "file" else None
    return define.Plan(definition, overrides, stdin_fd=stdin_fd)


def _not_created(state: str) -> OutliveError:
    hint = "restart runs a finished job again, as a new one." if state != "running" else "It was started already."
    return OutliveError("invalid_state", f"only a created job can be started; this one is {state}", hint=hint)


VERB = Verb(
    "start",
    "Start a job that create defined.",
    start,
    args=(JOB, *define.WAIT_ARGS, *define.SHOW_ARGS),
    result=answers.RUN,
)
