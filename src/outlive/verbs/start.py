"""Start a job that create defined."""

from __future__ import annotations

from outlive.errors import OutliveError, from_os
from outlive.jobs import definition as definition_module
from outlive.jobs import job_answer, lookup, starting
from outlive.store.job_dir import Locks
from outlive.system import fault_points
from outlive.verbs import shared_args
from outlive.verbs.spec import JOB, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir


def start(ctx: Context, *, job: str, **args: Any) -> Waiting[dict[str, Any]]:
    """Start a created job, and answer as run does."""
    reply = starting.Reply.taken_from(args)
    with lookup.open_job(ctx, job) as found:
        locks = _take(found)
        fault_points.at("start_taken")
        try:
            plan = _plan(ctx, found)
            ctx.store.mark_live(found.job_id)
            ctx.job_id = found.job_id
            sock = yield from starting.begin(ctx, plan, locks, created=True)
            yield from starting.started(found, sock, locks)
        except OutliveError as error:
            ctx.note_unstarted(found.job_id, error)
            ctx.store.unmark_live(found.job_id)
            raise
        finally:
            locks.close()
        return (yield from starting.wait_and_answer(ctx, found, sock, reply, told=True))


def _take(job: JobDir) -> Locks:
    """Take the locks of a created job, so that only one caller starts it.

    Errors: invalid_state, io_error.
    """
    try:
        return Locks(job)
    except BlockingIOError:
        raise _not_created("running") from None
    except OSError as error:
        raise from_os(f"locking job {job.job_id}", error, on="store") from error


def _plan(ctx: Context, job: JobDir) -> definition_module.Plan:
    state = job.read_state()
    if state is None or state.state != "created":
        raise _not_created(state.state if state else "unknown")
    definition = job.read_meta()
    definition_module.working_directory(ctx, definition.cwd)
    overrides = {**definition_module.read_env_files(definition.env_files), **definition.env}
    if ctx.config.has("policy"):
        from outlive.jobs import permission  # late: most people have no policy

        permission.decided(ctx, definition, overrides)
    stdin_fd = None if definition.stdin_path is None else definition_module.open_stdin(definition.stdin_path)
    return definition_module.Plan(definition, overrides, stdin_fd=stdin_fd)


def _not_created(state: str) -> OutliveError:
    hint = "restart runs a finished job again, as a new one." if state != "running" else "It was started already."
    return OutliveError("invalid_state", f"only a created job can be started; this one is {state}", hint=hint)


VERB = Verb(
    "start",
    "Start a job that create defined.",
    start,
    args=(JOB, *shared_args.WAITING, *shared_args.SHOWN),
    result=job_answer.RUN,
)
