"""Run a job again, as a new one."""

from __future__ import annotations

from typing import Any

from outlive.answers.starting import Started
from outlive.core.env_files import check_env
from outlive.core.ids import new_id
from outlive.core.records import LOCAL, Awaits, Definition, Notification, OutputMatch, Watch
from outlive.core.units import timestamp
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import adoption, ending, lookup
from outlive.jobs import definition as definition_module
from outlive.jobs.context import Context
from outlive.jobs.starting import gate, making
from outlive.jobs.starting.plan import Plan, Timing
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.jobs.told import ownership
from outlive.store.job_dir import JobDir
from outlive.system import machine


def restart(
    ctx: Context, *, job: str, env: dict[str, str] | None = None, host: str | None = None, **args: Any
) -> Started:
    """Start a new job with the same definition, and end the old one first if it runs. The old job and its output stay.
    What the old start waited for, this one does, unless the call says when it is answered."""
    call = StartCall.taken_from(args)
    with lookup.open_job(ctx, job) as old:
        ctx.titles.clear()  # `restarted_from` says which job it was; the newest of this title is the new one
        plan = _plan(ctx, old, check_env(env or {}), host)
        try:
            call = StartCall(_as_before(call.asked, plan.definition.awaits), began=call.began)
            call.check(ctx, plan.definition)  # before the old job is ended
            _end(ctx, old)
        except BaseException:
            plan.close()
            raise
    if not (call.asked.wait or call.asked.follow):
        plan.definition = Definition.replace(plan.definition, awaits=call.awaits)
    return call.run(ctx, plan)


def _as_before(asked: Timing, before: Awaits | None) -> Timing:
    """Return when to answer: what the call leaves open is as the job was started before."""
    if before is None or asked.wait or asked.follow:
        return asked
    if asked.until:
        return asked.changed(background=bool(asked.background))
    background = before.background if asked.background is None else asked.background
    return asked.changed(until=before.until, background=background)


def _plan(ctx: Context, old: JobDir, env: dict[str, str], host_name: str | None) -> Plan:
    inspection = adoption.inspect_and_adopt(ctx, old)
    if inspection.state.state == "created":
        raise OutliveError("invalid_state", "a created job cannot be restarted: it never ran", hint="start runs it.")
    if inspection.damage is not None:
        raise OutliveError("io_error", f"its definition cannot be read: {inspection.damage}")
    before = inspection.definition
    _refuse_unstored(before, env)
    host = definition_module.host_of(ctx.caller, (before.host or LOCAL) if host_name is None else host_name)
    cwd = definition_module.directory_on(ctx.caller, host, before.cwd)
    there = Definition.replace(before, host=None if host is None else host.name)
    sandbox = definition_module.renewed(ctx.caller, there, "restart")
    if before.stdin == "caller":
        raise invalid(
            "job", "its input was the stdin of the command that started it, which is gone", hint="Use run again."
        )
    masked = sorted(set(before.masked_env) | (env.keys() & set(before.mask)))
    definition = Definition.replace(
        gate.anew(before),
        job_id=new_id(),
        env={**before.env, **{name: value for name, value in env.items() if name not in before.mask}},
        masked_env=masked,
        created_at=timestamp(),
        owner=ctx.caller.owner,
        scope=ctx.caller.scope,
        session=ownership.session_of(ctx.caller),
        root=ctx.store.path,
        restarted_from=old.job_id,
        cwd=cwd,
        cwd_id=None,
        sandbox=sandbox,
        host=None if host is None else host.name,
        machine=machine.here(),
        dedupe_key=None,
        notification=_from_the_start(before.notification),
    )
    definition_module.require_possible(ctx.caller, definition, host)
    script = making.script(old, before)
    plan = making.plan_of(old, definition, env)
    plan.script = script
    return plan


def _refuse_unstored(definition: Definition, env: dict[str, str]) -> None:
    """Raise invalid_argument for a masked variable without a value in `env`: masked values are not
    on disk."""
    missing = [name for name in definition.masked_env if name not in env]
    if missing:
        raise OutliveError(
            "invalid_argument",
            f"the masked {', '.join(missing)} must be given again: masked values are not stored",
            hint=f"Give {missing[0]} with {argument('env')}.",
            details={"field": "env", "missing": missing},
        )


def _end(ctx: Context, old: JobDir) -> None:
    """End what still runs of the job. Errors: invalid_state if that takes too long; as for kill."""
    if adoption.inspect_and_adopt(ctx, old).state.finished:
        return
    inspection = ending.kill(ctx, old)
    if not inspection.state.finished:
        hint = "wait says when it has ended; then call restart again."
        raise OutliveError("invalid_state", "the job was asked to end, and still runs", retryable=True, hint=hint)


def _from_the_start(notification: Notification) -> Notification:
    """Return the notification with every watch set to position 0, where the new job's output begins."""
    single = notification.on_output_match
    return Notification.replace(
        notification,
        watches=notification.watches and [Watch.replace(watch, from_seq=0) for watch in notification.watches],
        on_output_match=single and OutputMatch.replace(single, from_seq=0),
    )
