"""The queue that a call asks for: what is refused before anything is made."""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive.core.base_directories import state_directory
from outlive.core.members import number_of, text_of
from outlive.core.nearest import meant
from outlive.core.records import LOCAL, Definition
from outlive.errors import argument, invalid, misconfigured
from outlive.jobs.context import Context
from outlive.parts.queues import QUEUE, settings
from outlive.parts.queues.asked import Asked, of_job

_TABLES = "queues"  # in the directory of outlive's state: all job roots of a user share them


def table_of(ctx: Context, name: str) -> str:
    """Return the path of the file of a queue."""
    return os.path.join(state_directory(ctx.env), _TABLES, name)


def kept(ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
    """Return what is kept of a call: the queue that it asks for. Errors: invalid_argument, config_error."""
    given = text_of(args, QUEUE) if isinstance(args.get(QUEUE), str) else None
    name = _of_every_job(ctx, args) if given is None else given
    priority = number_of(args, "priority")
    if name in ("", settings.NONE):
        if priority:
            raise invalid("priority", f"{argument('priority')} is that in a queue, and the job is in none")
        return {}
    known = settings.of(ctx.config)
    if name not in known:
        hint = known_hint(name, [*known])
        if given is None:
            raise misconfigured(f"exec.queue names no queue: {name!r}", hint)
        raise invalid(QUEUE, f"{argument(QUEUE)} names no queue: {name!r}", hint=hint)
    queue = known[name]
    asked = Asked(name=name, **vars(queue), priority=priority, table=table_of(ctx, name))
    return {QUEUE: asked.to_dict()}


def _of_every_job(ctx: Context, args: Mapping[str, object]) -> str:
    """Return the queue of jobs of this machine that name none."""
    host = args.get("host") or ctx.config.get("exec", "host")
    return text_of(ctx.config.set_in("exec"), QUEUE) if host == LOCAL else ""


def known_hint(name: str, known: list[str]) -> str:
    """Return the hint about a name that no queue has."""
    if not known:
        return "The configuration has no queue: [queue.NAME] with slots makes one."
    return meant(name, known, f"Queues: {', '.join(known)}.")


def require(definition: Definition) -> None:
    """Errors: invalid_argument for a job that could not wait in its queue."""
    try:
        asked = of_job(definition)
    except ValueError as error:
        raise invalid(QUEUE, str(error)) from error
    if asked is not None and definition.host is not None:
        message = f"{argument(QUEUE)}: slots are of this machine, and the job is to run on {definition.host}"
        raise invalid(QUEUE, message, hint="Run the job here, or leave the queue out.")
