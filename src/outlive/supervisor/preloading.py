"""What few jobs need is imported late. By then an update may have replaced the files, so the code that
the job of a request will need is held before its command is spawned (guardian.LATE: for every job)."""

from __future__ import annotations

from outlive.core.libraries import re2
from outlive.supervisor.request import Request
from outlive.system import held_code

_RESOURCES = ("outlive.system.job_group", "outlive.system.process_use", "outlive.system.spawn_limited")


def preload(request: Request) -> bool:
    """Hold or import what the job of this request will need beyond what every job needs. Return
    whether that was anything."""
    definition = request.definition
    needed = {
        "outlive.system.blocked_reads": definition.pty or definition.stdin == "open",
        "outlive.render": definition.pty,  # for the fork that looks for the cursor
        "outlive.system.scripts": definition.script is not None,
        "outlive.sandbox": definition.sandbox is not None,
        **dict.fromkeys(_RESOURCES, definition.resources is not None),
    }
    rooms = [name for name, is_needed in needed.items() if is_needed]
    held_code.hold(*rooms)
    is_watched = bool(definition.notification.every_watch)
    if is_watched:
        try:
            re2()
        except ImportError:  # then the job runs without its watches, which an event says
            pass
    return bool(rooms) or is_watched
