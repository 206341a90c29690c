"""Queues: of the jobs in one, only so many run at a time, and the others wait in line."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.part import Context, Part, Selected

QUEUE = "queue"  # the argument, the section of the configuration, and the member of `meta.json` and of `state.json`
QUEUED = "queued"  # the member of answers
LACKS = SLOTS, MEMORY, LOAD = "slots", "memory", "load"  # why a job waits


class Queues(Part):
    name = "queues"
    sections = {QUEUE: "outlive.parts.queues.settings:checked"}
    settings = {"exec": "outlive.parts.queues.settings:OF_EXEC"}
    arguments = {
        "dedupe_key": "outlive.parts.queues.arguments:OF_JOB",
        "owner": "outlive.parts.queues.arguments:OF_LIST",
    }
    of_job = "outlive.parts.queues.of_job:InQueue"
    fields = "outlive.parts.queues.answers:InLine"
    listed = "outlive.parts.queues.answers:InList"
    turns = "outlive.parts.queues.turns:of_jobs"
    after_waits = ("outlive.parts.queues.in_queue",)

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        if not (args.get(QUEUE) or args.get("priority") or ctx.config.is_set("exec", QUEUE)):
            return {}
        from outlive.parts.queues import checks

        asked = checks.parsed(ctx, args)
        return {} if asked is None else {QUEUE: asked.to_dict()}

    def why_not_started(self, answer: Mapping[str, object]) -> str | None:
        return "it waits in a queue" if answer.get(QUEUED) else None

    def selected(self, ctx: Context, args: Mapping[str, object]) -> Selected | None:
        name = args.get(QUEUE)
        if not isinstance(name, str):
            return None
        from outlive.parts.queues import in_queue

        return in_queue.selected(ctx, name)


PART = Queues()
