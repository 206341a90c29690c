"""Change what is known of a job: its tags; and what is reported of it, and where."""

from __future__ import annotations

import time
from typing import Any

from outlive import limits
from outlive.answers.job import Job
from outlive.answers.listing import NotifySet, Tagged
from outlive.core.labels import check_tags
from outlive.core.records import Definition, Notification, OutputMatch
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import acts, adoption, lookup, watch_spec
from outlive.jobs import definition as definition_module
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.starting import boundary, gate
from outlive.store.inspection.inspection import is_elsewhere
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import pause

_RETRY_S = 0.02
_MATCH = ("output_pattern", "output_match_type", "output_stream", "output_command", "output_file")


def tag_set(ctx: Context, *, job: str, tags: list[str] | tuple[str, ...] = ()) -> Tagged:
    """Set exactly these tags; none clears them."""
    wanted = check_tags(list(tags))
    with lookup.open_job(ctx, job) as job_dir:
        acts.about_to(ctx, "tag set", job_dir.job_id, tags=wanted)
        definition = lookup.change_meta(job_dir, lambda old: Definition.replace(old, tags=wanted))
        state = adoption.inspect_and_adopt(ctx, job_dir).state.state
        return Tagged(job=Job(job_id=job_dir.job_id, state=state), tags=definition.tags)


def notify_set(
    ctx: Context,
    *,
    job: str,
    command: str | None = None,
    file: str | None = None,
    remove_watch: list[str] | tuple[str, ...] = (),
    **args: Any,
) -> NotifySet:
    """Change what is given and leave the rest. No sink runs now, and output that is already there is not searched."""
    match = {name.removeprefix("output_"): args.pop(name) for name in _MATCH if args.get(name) is not None}
    with lookup.open_job(ctx, job) as job_dir:
        _have_end_delivered(ctx, job_dir)
        with Output(job_dir) as output:
            end = output.end

        def redefined(old: Definition) -> Definition:
            definition_module.require_sandbox(ctx.caller, old, "give sinks to")
            held = gate.of(old)
            if held is not None:
                held.require_changeable(job_dir)
            before, watched = old.notification, old.notification.watches or []
            notification = definition_module.notification(
                ctx.caller, command, file, fields=("command", "file"), before=before
            )
            number = max(before.last_watch or 0, watch_spec.last_number(watched, 0))
            watched = watch_spec.without(watched, remove_watch)
            watches = watch_spec.parsed(ctx.caller, args, watched, number=number, from_seq=end)
            if watches or before.watches is not None:
                last = watch_spec.last_number(watches, number)
                notification = Notification.replace(notification, watches=watches, last_watch=last)
            single = _on_output_match(ctx, before.on_output_match, match, end)
            notification = Notification.replace(notification, on_output_match=single)
            gate.require_sinks(ctx.caller, old, notification)
            new = Definition.replace(old, notification=notification)
            boundary.require_sinks(ctx.caller, new)
            acts.about_to(ctx, "notify set", job_dir.job_id, notification=notification.to_dict())
            return new

        definition = lookup.change_meta(job_dir, redefined)
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        if inspection.supervised and (match or remove_watch or args.get("watch")):
            _reload(job_dir)
        state = inspection.state
        return NotifySet(
            job=Job(job_id=job_dir.job_id, state=state.state),
            notification=definition.notification.to_dict(),
            hint="The job has ended: this takes effect only for a restart." if state.finished else None,
        )


def _have_end_delivered(ctx: Context, job: JobDir) -> None:
    """Have a supervisor whose job has just ended read the sinks to tell, before they change."""
    deadline = time.monotonic() + limits.CONTROL_S
    while (inspection := adoption.inspect_and_adopt(ctx, job)).state.finished and inspection.supervised:
        if is_elsewhere(inspection.definition, inspection.state):  # it cannot be asked for anything after the end
            return
        try:
            ask(job, {"op": "reload"})
            return
        except OutliveError as error:  # the supervisor is starting or has just gone
            if not error.retryable or time.monotonic() > deadline:
                raise
        pause((), time.monotonic() + _RETRY_S)


def _on_output_match(ctx: Context, old: OutputMatch | None, match: dict[str, Any], end: int) -> OutputMatch | None:
    """Return the one pattern of agent-exec's flags in the form that agent-exec stores."""
    if not match:
        return old
    wanted = OutputMatch.replace(old or OutputMatch(), **match)
    if not wanted.pattern:
        raise invalid(
            "output_pattern", "there is no output pattern yet", hint=f"Give {argument('output_pattern')} as well."
        )
    watch = watch_spec.checked(ctx.caller, "output_match", vars(wanted.watch), end, prefix="output_")
    return OutputMatch.replace(wanted, command=watch.command, file=watch.file, from_seq=end)


def _reload(job: JobDir) -> None:
    """Have the supervisor read the change now. A supervisor that is starting reads it anyway."""
    try:
        ask(job, {"op": "reload"})
    except OutliveError as error:
        if not error.retryable:
            raise
