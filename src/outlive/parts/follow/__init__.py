"""What `--follow` shows: a job's output, its events, or the list of jobs, as they come."""

from __future__ import annotations

from outlive.part import Part

_STARTED = "outlive.parts.follow.output:start"


class Follow(Part):
    name = "follow"
    follows = {
        "log": "outlive.parts.follow.output:log",
        "events": "outlive.parts.follow.output:events",
        "list": "outlive.parts.follow.jobs:follow",
        **dict.fromkeys(("run", "start", "restart"), _STARTED),
    }


PART = Follow()
