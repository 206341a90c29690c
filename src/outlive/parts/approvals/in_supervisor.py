"""The start of a job that a person approved: it may have waited for others, or for its turn, since it was handed over."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.records import State
from outlive.parts.approvals import question_record
from outlive.supervisor.added import Added, Waiting
from outlive.system import spawn


class Approved(Added):
    """What is done for one such job."""

    _overrides: Mapping[str, str] = {}

    def wait(self, waiting: Waiting) -> bool:
        # A node of Slurm has read the env files anew, and so has a process that took over after all of its own were killed
        self._overrides = waiting.request.overrides
        return False

    def begin(self, state: State) -> State:
        changed = question_record.changed(question_record.of(self.definition), self._overrides)
        if changed is not None:
            raise spawn.Changed(0, changed)
        return state


ADDED = Approved
