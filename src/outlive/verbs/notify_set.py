"""Change what is reported of a job, and where."""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.records import CONTROL, MATCH_TYPES
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import adoption, lookup, watch_spec
from outlive.jobs import definition as definition_module
from outlive.jobs.control_client import ask
from outlive.jobs.waiting import Pause
from outlive.store.inspect import is_elsewhere
from outlive.store.output.merged import Output
from outlive.verbs import shared_args
from outlive.verbs.spec import JOB, PATH, STR, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.core.records import Definition
    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir

_RETRY_S = 0.02
_MATCH = ("output_pattern", "output_match_type", "output_stream", "output_command", "output_file")


def notify_set(
    ctx: Context,
    *,
    job: str,
    command: str | None = None,
    file: str | None = None,
    remove_watch: list[str] | tuple[str, ...] = (),
    **args: Any,
) -> Waiting[dict[str, Any]]:
    """Change what is given and leave the rest.

    No sink runs now, and output that is already there is not searched.
    """
    match = {name.removeprefix("output_"): args.pop(name) for name in _MATCH if args.get(name) is not None}
    with lookup.open_job(ctx, job) as found_job:
        yield from _have_end_told(ctx, found_job)
        end = _end(found_job)

        def changed(old: dict[str, Any]) -> dict[str, Any]:
            found = old | definition_module.notification(ctx, command, file, fields=("command", "file"))
            before = old.get("watches") or []
            number = max(old.get("last_watch", 0), watch_spec.last_number(before, 0))
            watches = watch_spec.parsed(
                ctx, args, watch_spec.without(before, remove_watch), number=number, from_seq=end
            )
            if watches or "watches" in old:
                found |= {"watches": watches, "last_watch": watch_spec.last_number(watches, number)}
            return found | _on_output_match(ctx, old.get("on_output_match"), match, end)

        def redefined(old: Definition) -> Definition:
            definition_module.require_sandbox(ctx, old, "give sinks to")
            notification = changed(old.notification)
            if ctx.config.has("policy"):
                from outlive.jobs.permission import commands  # late: most people have no policy

                commands.check_sinks(ctx, old, notification)
            new = old.replace(notification=notification)
            definition_module.require_sinks(new)
            ctx.note("notify set", found_job.job_id, notification=notification)
            return new

        definition = lookup.change_meta(found_job, redefined)
        found = adoption.inspect_and_adopt(ctx, found_job)
        if found.supervised and (match or remove_watch or args.get("watch")):
            yield from _reload(found_job)
        answer = {"job_id": found_job.job_id, "state": found.state.state, "notification": definition.notification}
        if found.state.finished:
            answer["hint"] = "The job has ended: this takes effect only for a restart."
        return answer


def _have_end_told(ctx: Context, job: JobDir) -> Waiting[None]:
    """Have a supervisor whose job has just ended read the sinks to tell, before they change."""
    deadline = time.monotonic() + limits.CONTROL_S
    while (found := adoption.inspect_and_adopt(ctx, job)).state.finished and found.supervised:
        if is_elsewhere(found.definition, found.state):  # it cannot be asked for anything after the end
            return
        try:
            yield from ask(job, {"op": "reload"})
            return
        except OutliveError as error:  # the supervisor is starting or has just gone
            if not error.retryable or time.monotonic() > deadline:
                raise
        yield Pause((), time.monotonic() + _RETRY_S)


def _end(job: JobDir) -> int:
    with Output(job) as output:
        return output.end


def _on_output_match(
    ctx: Context, old: dict[str, Any] | None, match: dict[str, Any], end: int
) -> dict[str, dict[str, Any]]:
    """Return the one pattern of agent-exec's flags in the form that agent-exec stores."""
    if not match:
        return {}
    before = old or {"match_type": "contains", "stream": "either", "command": None, "file": None}
    wanted = {**before, **match}
    if not wanted.get("pattern"):
        raise invalid(
            "output_pattern", "there is no output pattern yet", hint=f"Give {argument('output_pattern')} as well."
        )
    found = watch_spec.checked(ctx, "output_match", {**wanted, "once": False}, end, prefix="output_")
    kept = ("pattern", "match_type", "command", "file", "from_seq")
    return {"on_output_match": {name: found[name] for name in kept} | {"stream": wanted["stream"]}}


def _reload(job: JobDir) -> Waiting[None]:
    """Have the supervisor read the change now. A supervisor that is starting reads it anyway."""
    try:
        yield from ask(job, {"op": "reload"})
    except OutliveError as error:
        if not error.retryable:
            raise


VERB = Verb(
    "notify set",
    "Change what is reported of a job and where: its end, and lines of its output.",
    notify_set,
    args=(
        JOB,
        Arg("command", STR, "Shell command that gets the job.finished event on its stdin.", mcp="notify_command",
            aliases=("command",), hidden="mcp", metavar="COMMAND"),
        Arg("file", PATH, "File that gets the event as one line.", mcp="notify_file", aliases=("file",),
            hidden="mcp", metavar="FILE"),
        *shared_args.WATCHES,
        Arg("remove_watch", STRS, "Watches to remove, by id or pattern.", default=(), metavar="WATCH", mcp_help="ids or patterns"),
        Arg("output_pattern", STR, "One pattern; every line that matches is reported.",
            hidden="mcp", metavar="PATTERN"),
        Arg("output_match_type", STR, "How the pattern matches (default: contains).", choices=MATCH_TYPES, hidden="mcp"),
        Arg("output_stream", STR, "Stream to search (default: either).", choices=("stdout", "stderr", "either"), hidden="mcp"),
        Arg("output_command", STR, "Shell command that gets each hit on its stdin.", hidden="mcp", metavar="COMMAND"),
        Arg("output_file", PATH, "File that gets each hit as one line.", hidden="mcp", metavar="FILE"),
    ),
    right=CONTROL,
    result="job_id state notification hint?",
    slow=True,
    detail="Only output that comes from now on is searched. Hits are events (outlive events), go to the command and the "
    "file given, and are recorded in notification_events.ndjson.",
)  # fmt: skip
