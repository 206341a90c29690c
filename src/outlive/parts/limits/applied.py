"""How the resources of a job are applied, as `state.json` keeps it."""

from collections.abc import Mapping

from outlive.core.record import Record
from outlive.core.records import State
from outlive.parts.resources import RESOURCES


class Applied(Record, omitted=("why",)):
    """What was made of one of the resources."""

    value: int | float | str | dict[str, str | int | float | bool] = 0  # as in `Resources`
    applied: str = ""  # one of vocabulary.APPLIED
    why: str | None = None  # not better


def of_job(state: State) -> dict[str, Applied]:
    """Return what was made of each resource, by its name. What another program has spoilt has no effect."""
    kept = state.kept.get(RESOURCES)
    there = kept.items() if type(kept) is dict else ()
    return {name: Applied.of(one) for name, one in there if type(one) is dict and Applied.misfit(one) is None}


def written(state: State, applied: Mapping[str, Applied]) -> State:
    """Return the state with this in it."""
    return State.replace(state, kept={**state.kept, RESOURCES: {name: one.to_dict() for name, one in applied.items()}})
