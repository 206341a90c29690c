"""[queue.NAME] of the configuration, and `queue` of [exec]."""

from __future__ import annotations

from outlive.config import Config, Setting
from outlive.core.nearest import meant
from outlive.core.record import Value
from outlive.core.units import byte_count
from outlive.errors import OutliveError, misconfigured
from outlive.parts.queues import QUEUE
from outlive.parts.queues.asked import MOST_SLOTS, NAME_CHARS, is_name

NONE = "none"  # in place of a name: no queue
OF_EXEC = {QUEUE: Setting("string")}
_KEYS = ("slots", "memory_free", "load")
_MOST_LOAD = 1_000


class Queue(Value):
    """The settings of a queue."""

    slots: int
    memory_free: int | None
    load: float | None


def of(config: Config) -> dict[str, Queue]:
    """Return the queues that there are, by name."""
    return config.set_in(QUEUE)


def checked(name: str, table: object, where: str) -> Queue:
    """Return the settings of a queue. `where` is the place in the file. Errors: config_error."""
    if not isinstance(table, dict):
        raise misconfigured(f"{where}: {QUEUE}.{name} is a table; write [{QUEUE}.{name}]")
    if not is_name(name) or name == NONE:
        hint = f"At most {NAME_CHARS} letters, digits, - and _ make a name. {NONE} is none."
        raise misconfigured(f"{where}: not a name for a queue: {name!r}", hint)
    for key in table:
        if key not in _KEYS:
            raise misconfigured(f"{where}: unknown key {key} in [{QUEUE}.{name}]", meant(key, [*_KEYS]))
    place = f"{where}: {QUEUE}.{name}"
    slots = table.get("slots")
    if slots is None:
        raise misconfigured(f"{where}: [{QUEUE}.{name}] has no slots", "slots is how many of its jobs run at a time.")
    if type(slots) is not int or not 0 < slots <= MOST_SLOTS:
        raise misconfigured(f"{place}.slots must be a number from 1 to {MOST_SLOTS}, not {slots!r}")
    return Queue(slots, _memory(table.get("memory_free"), place), _load(table.get("load"), place))


def _memory(value: object, place: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = byte_count(value, f"{QUEUE}.memory_free")
        except OutliveError as error:
            raise misconfigured(f"{place}.memory_free: {error.message}", error.hint) from error
    if type(value) is not int or value <= 0:
        raise misconfigured(f"{place}.memory_free must be a size such as 4G, not {value!r}")
    return value


def _load(value: object, place: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 < float(str(value)) <= _MOST_LOAD:
        raise misconfigured(f"{place}.load must be a number above 0, for each core, not {value!r}")
    return float(str(value))
