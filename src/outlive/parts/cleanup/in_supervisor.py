"""What a supervisor does when its job is over: it deletes jobs that the configuration of the caller does not keep."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from outlive.errors import OutliveError
from outlive.parts.cleanup import automatic
from outlive.parts.cleanup.bounds import Bounds
from outlive.store.root import Store
from outlive.supervisor import added
from outlive.supervisor.request import Request

_NICE = 10  # a collection runs behind everything else (nice(2))


def work(request: Request, given: dict[str, Any], before: Callable[[], None]) -> bool:
    """Collect if it is time, and return whether it was; `before` is called first then (supervisor/pair_supervisor.py).
    `given`: what is kept, as `for_supervisor` of the settings returned it."""
    is_due = False
    with suppress(OSError, OutliveError):
        is_due = automatic.is_time(request.root)
        if is_due:
            before()
            os.nice(_NICE)  # for good: only root may go back
            noting = [one.deleted for one in added.notes_of(request)]
            automatic.collect(Store.existing(request.root), Bounds.of(given), noting)
    return is_due
