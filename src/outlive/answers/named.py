"""The names of answers/shapes.py for annotations, without its import, which would take 1 ms of each call.

To the type checker they are its names. The JSON Schema resolves them there too (parts/schema/document.py); a call reads no annotation.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outlive.answers.shapes import *  # noqa: F403
else:
    Approval = Engine = Event = Fault = Fired = Keyboard = Notice = Notification = Queue = Usage = None
