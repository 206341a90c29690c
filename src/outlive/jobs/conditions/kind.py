"""What is known of the conditions of one name: what may be given, and what looks whether it holds."""

from __future__ import annotations

from collections.abc import Callable

from outlive.core.record import Value
from outlive.core.records import Definition
from outlive.jobs.conditions.condition import Condition, Probe
from outlive.jobs.context import Context
from outlive.jobs.starting.boundary import Reach
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir


class Asked(Value):
    """A condition of a wait for one job. `reach`: what the caller may have looked at for it; None: anything."""

    condition: Condition
    ctx: Context
    job: JobDir
    inspection: Inspection
    reach: Reach | None


def _anything(definition: Definition, condition: Condition) -> None:
    """Refuse nothing."""


class Kind(Value):
    forms: str  # in which it is typed, for a list of all: "port=PORT, port=HOST:PORT"
    example: str  # as it is typed
    # Takes its value, as given, and the other members of its object. Errors: invalid_argument
    check: Callable[[object, dict[str, object]], Condition]
    more: tuple[str, ...] = ()  # names of those members
    meant: str = ""  # words that are written instead
    # The rest is of a condition of a part
    require: Callable[[Definition, Condition], None] = _anything  # refuse it for this job. Errors: invalid_argument
    probe: Callable[[Asked], Probe] | None = None  # looks whether it holds. Errors: invalid_argument, OSError
