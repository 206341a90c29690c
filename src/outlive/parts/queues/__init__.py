"""Queues: of the jobs in one, only so many run at a time, and the others wait in line."""

from __future__ import annotations

from outlive.part import Part

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
    kept = dict.fromkeys((QUEUE, "priority"), "outlive.parts.queues.checks:kept")
    selected = {QUEUE: "outlive.parts.queues.in_queue:selected"}
    of_job = "outlive.parts.queues.of_job:InQueue"
    fields = "outlive.parts.queues.answers:InLine"
    why_not_started = {QUEUED: "outlive.parts.queues.of_job:why_not_started"}
    listed = "outlive.parts.queues.answers:InList"
    turns = "outlive.parts.queues.turns:of_jobs"


PART = Queues()
