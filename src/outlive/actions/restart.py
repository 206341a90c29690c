"""Run a finished job again, as a new one."""

from __future__ import annotations

import os

from outlive.actions import access, answers, define, launching
from outlive.actions.spec import ENV, JOB, Arg, Verb
from outlive.errors import OutliveError, invalid
from outlive.job import new_id, timestamp
from outlive.store import files
from outlive.store.jobdir import STDIN_DATA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context
    from outlive.store.jobdir import JobDir


def restart(ctx: Context, *, job: str, env: dict[str, str] | None = None, **args: Any) -> Waiting[dict[str, Any]]:
    """A new job with the same definition; the old one and its output stay."""
    seen = launching.Observation.taken_from(args)
    with access.open_job(ctx, job) as old:
        plan = _plan(ctx, old, define.check_env(env or {}))
    return (yield from launching.run_job(ctx, plan, seen))


def _plan(ctx: Context, old: JobDir, env: dict[str, str]) -> define.Plan:
    found = access.look(ctx, old)
    if not found.state.finished:
        state = found.state.state
        hint = "start runs it." if state == "created" else "Wait for its end, or kill it first."
        raise OutliveError("invalid_state", f"only a finished job can be restarted; this one is {state}", hint=hint)
    if found.damage is not None:
        raise OutliveError("io_error", f"its definition cannot be read: {found.damage}")
    before = found.definition
    define.refuse_unstored(before, env)
    define.working_directory(ctx, before.cwd)
    if before.stdin == "caller":
        raise invalid(
            "job", "its input was the stdin of the command that started it, which is gone", hint="Use run again."
        )
    overrides = {**define.read_env_files(before.env_files), **before.env, **env}
    masked = sorted(set(before.masked_env) | (env.keys() & set(before.mask)))
    definition = before.replace(
        job_id=new_id(),
        env={**before.env, **{name: value for name, value in env.items() if name not in before.mask}},
        masked_env=masked,
        created_at=timestamp(),
        owner=ctx.owner,
        scope=ctx.scope,
        root=ctx.store.path,
        restarted_from=old.job_id,
        dedupe_key=None,
        notification=_from_the_start(before.notification),
    )
    data = files.read(old.fd, STDIN_DATA) if _has_data(old) else None
    stdin_fd = define.open_stdin(before.stdin_path) if before.stdin == "file" else None
    return define.Plan(definition, overrides, stdin_data=data, stdin_fd=stdin_fd)


def _from_the_start(notification: dict[str, Any]) -> dict[str, Any]:
    """The new job's output begins at 0, and so does what is watched for in it."""
    found = dict(notification)
    if found.get("watches"):
        found["watches"] = [{**watch, "from_seq": 0} for watch in found["watches"]]
    if found.get("on_output_match"):
        found["on_output_match"] = {**found["on_output_match"], "from_seq": 0}
    return found


def _has_data(job: JobDir) -> bool:
    try:
        os.stat(STDIN_DATA, dir_fd=job.fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


VERB = Verb(
    "restart",
    "Run a finished job again, as a new job.",
    restart,
    args=(
        JOB,
        Arg("env", ENV, "Variables to set or change; masked ones must be given again.", metavar="NAME=VALUE"),
        *define.WAIT_ARGS,
        *define.SHOW_ARGS,
    ),
    result=answers.RUN,
)
