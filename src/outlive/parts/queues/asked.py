"""The queue that a job is in, as `meta.json` keeps it, and its place there, as `state.json` does."""

from outlive.core.ids import is_id
from outlive.core.record import Record
from outlive.core.records import Definition, State
from outlive.parts.queues import QUEUE

PRIORITIES = range(-10, 11)
MOST_SLOTS = 1_024
NAME_CHARS = 64


class Asked(Record):
    """What a job asked for, with what its caller's configuration says: a job that is started again goes by it too."""

    name: str = ""
    slots: int = 0  # jobs that run at a time
    memory_free: int | None = None  # bytes that are available when one starts
    load: float | None = None  # of the last minute, for each core, below which one starts
    priority: int = 0
    table: str = ""  # path of the file with the slots and the line


class PlaceInQueue(Record, omitted=("ticket", "since", "slot", "owner", "within")):
    """Where a job is in its queue: in line with a ticket, then in a slot."""

    ticket: int | None = None
    since: str | None = None  # when it joined the line
    slot: int | None = None
    owner: str | None = None  # the job that was given the slot: this job, or the job that it was started inside of
    within: str | None = None  # the slots of the jobs that it was started inside of (table.py)


def is_name(text: str) -> bool:
    """Return whether a queue may have this name: it is that of a file, too."""
    plain = text.replace("-", "0").replace("_", "0")
    return plain.isascii() and plain.isalnum() and len(text) <= NAME_CHARS


def of_job(definition: Definition) -> Asked | None:
    """Return what a job asked for; None if that is nothing.

    Errors: ValueError, with a sentence, if another program has spoilt it.
    """
    kept = definition.kept.get(QUEUE)
    if kept is None:
        return None
    asked = Asked.of(kept) if type(kept) is dict and Asked.misfit(kept) is None else Asked()
    is_queue = is_name(asked.name) and 0 < asked.slots <= MOST_SLOTS and asked.table.startswith("/")
    if not (is_queue and asked.priority in PRIORITIES):
        raise ValueError(f"meta.json was changed by another program: {QUEUE} makes no sense")
    return asked


def place(state: State) -> PlaceInQueue:
    """Return where a job is. What another program has spoilt is no place."""
    kept = state.kept.get(QUEUE)
    found = PlaceInQueue.of(kept) if type(kept) is dict and PlaceInQueue.misfit(kept) is None else PlaceInQueue()
    is_sound = found.slot is None or (0 <= found.slot < MOST_SLOTS and is_id(found.owner or ""))
    return found if is_sound else PlaceInQueue()
