"""What a client gets without asking again: tasks, resources and their changes, progress, messages that wake its model."""

from __future__ import annotations

from outlive.part import Part

TASKS = "io.modelcontextprotocol/tasks"
CHANNEL = "claude/channel"


class Push(Part):
    name = "push"
    needs = ("approvals",)
    extension = "outlive.parts.push.extension:Push"
    capabilities = {"extensions": {TASKS: {}}, "resources": {"listChanged": False, "subscribe": True}}
    with_channel = {"experimental": {CHANNEL: {}}}
    empty_lists = {"resources/list": "resources"}  # each job is a resource


PART = Push()
