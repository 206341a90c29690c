"""What a job may use, as `meta.json` keeps it: the part `limits` applies it on this machine, an engine on another one."""

from outlive.core.record import Record
from outlive.core.records import Definition

RESOURCES = "resources"  # the argument, and the member of `meta.json` and of `state.json`


class Resources(Record, omitted=("cpus", "memory", "gpus", "cpu_time", "processes", "nice", "options")):
    """In the canonical form (limits/vocabulary.py). None: it was not named."""

    cpus: int | float | None = None
    memory: int | None = None  # bytes
    gpus: int | None = None
    cpu_time: str | None = None
    processes: int | None = None
    nice: int | None = None
    options: dict[str, str | int | float | bool] | None = None  # for the engine of its host


def of_job(definition: Definition) -> Resources | None:
    """Return what a job may use; None if nothing was named.

    Errors: ValueError, with a sentence, if another program has spoilt it.
    """
    kept = definition.kept.get(RESOURCES)
    if kept is None:
        return None
    wrong = Resources.misfit(kept) if type(kept) is dict else ""
    if wrong is not None:
        raise ValueError(f"meta.json was changed by another program: {RESOURCES}{wrong and '.'}{wrong} makes no sense")
    return Resources.of(kept)
