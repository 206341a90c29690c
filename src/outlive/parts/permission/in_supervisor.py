"""The start of a job that a person approved: it may have waited for others, or for its turn, since it was handed over."""

from __future__ import annotations

from outlive.core.records import State
from outlive.parts.permission.approvals import asked
from outlive.supervisor.added import Added
from outlive.system import spawn


class Approved(Added):
    """What is done for one such job."""

    def begin(self, state: State) -> State:
        changed = asked.changed(asked.of(self.definition))
        if changed is not None:
            raise spawn.Changed(0, changed)
        return state


ADDED = Approved
