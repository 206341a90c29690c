"""What a job waits for before it starts, as `meta.json` keeps it."""

from typing import Any

from outlive import parts
from outlive.core.ids import is_id
from outlive.core.record import Record
from outlive.core.records import Definition, State
from outlive.parts.after import AFTER, LAST


class Edge(Record):
    """One thing that a job waits for: that another job ends with this exit code, or that one of these conditions holds for
    it. It has either the code or the conditions."""

    job: str = ""  # the whole id of the other job
    name: str = ""  # of the other job, when it was asked for
    until: list[Any] = []  # conditions, as given; ["exit"]: it ends, however it does
    exit: int | None = None


def of_job(definition: Definition) -> list[Edge]:
    """Return what a job waits for; nothing for a job that starts at once. All of it must hold.

    Errors: ValueError, with a sentence, if another program has spoilt it.
    """
    kept = definition.kept.get(AFTER)
    if kept is None:
        return []
    if type(kept) is not list or not all(type(one) is dict and Edge.misfit(one) is None for one in kept):
        raise _spoilt()
    edges = [Edge.of(one) for one in kept]
    if not all(
        is_id(one.job) and one.job != definition.job_id and bool(one.until) == (one.exit is None) for one in edges
    ):
        raise _spoilt()
    return edges


def left(state: State, count: int) -> list[int]:
    """Return the numbers of the edges, of `count`, that did not hold when they were looked at last: all of them before that.
    What another program has spoilt has no effect."""
    kept = state.kept.get(AFTER)
    numbers = kept if type(kept) is list else range(count)
    return [number for number in numbers if type(number) is int and 0 <= number < count]


def last_of_chain(definition: Definition, state: State) -> str | None:
    """Return the id of the job that has to be there before this one starts: that of its chain which is started last. None if
    it waits for none, or if that was there when it was looked for last. A job that a person approves or that is restarted
    is not one of the call that made the chain. What another program has spoilt has no effect."""
    job = definition.kept.get(LAST)
    is_of_call = definition.restarted_from is None and not parts.is_held(definition.kept)
    return job if is_of_call and isinstance(job, str) and is_id(job) and state.kept.get(LAST) != [] else None


def _spoilt() -> ValueError:
    return ValueError(f"meta.json was changed by another program: {AFTER} makes no sense")
