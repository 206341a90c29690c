"""The names of answers/shapes.py for annotations, without its import, which would take 0.7 ms of each call.

To the type checker they are its names. The JSON Schema resolves them there too (verbs/schema.py); a call reads no annotation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outlive.answers.shapes import (
        Approval,
        Engine,
        Entry,
        Event,
        Fault,
        Finding,
        Fired,
        Keyboard,
        Notice,
        Notification,
        OwnFinding,
        Queue,
        Resources,
        Usage,
    )
else:
    Approval = Engine = Entry = Event = Fault = Finding = Fired = Keyboard = Notice = Notification = OwnFinding = None
    Queue = Resources = Usage = None

__all__ = [
    "Approval",
    "Engine",
    "Entry",
    "Event",
    "Fault",
    "Finding",
    "Fired",
    "Keyboard",
    "Notice",
    "Notification",
    "OwnFinding",
    "Queue",
    "Resources",
    "Usage",
]
