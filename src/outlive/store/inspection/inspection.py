"""What an inspection of a job found. A module of its own: `part.py` names this record, and the inspection (inspect.py) asks
parts."""

from __future__ import annotations

from outlive.core.records import Definition, State
from outlive.system import machine


class Inspection:
    """The result of one inspection.

    `orphaned`: the command runs, or the job waits for its start, but no process supervises it. `just_ended`: this inspection found
    out that the job has ended. `damage`: why a file could not be read. `elsewhere`: its processes
    are on another machine, so no look into /proc tells anything of them. `unwritten`: the state is
    in the memory of the supervisor alone.
    """

    def __init__(
        self,
        definition: Definition,
        state: State,
        *,
        supervised: bool = False,
        orphaned: bool = False,
        just_ended: bool = False,
        damage: str | None = None,
        unwritten: bool = False,
    ) -> None:
        self.definition = definition
        self.state = state
        self.supervised = supervised
        self.orphaned = orphaned
        self.just_ended = just_ended
        self.damage = damage
        self.unwritten = unwritten
        self.elsewhere = is_elsewhere(definition, state)


def is_elsewhere(definition: Definition, state: State | None) -> bool:
    """Return whether the processes of a job are on another machine, or are to be: those of a job
    that is not started yet are where it will be started, but for a job that waits before its host gets it."""
    if definition.host is not None and not (state is not None and state.waits):
        return True
    if state is None or state.state == "unknown" or (state.machine is None and state.phase == "launching"):
        return machine.is_other(definition.machine)
    return machine.is_other(state.machine)
