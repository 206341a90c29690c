"""The end of another job, for which a job waits before it starts. Pure."""

from __future__ import annotations

from typing import NamedTuple

from outlive.core.ids import short_id
from outlive.core.quoted import one_line
from outlive.core.records import State


class AwaitedEnd(NamedTuple):
    """The end of one job."""

    job_id: str
    name: str
    exit_code: int | None  # with which it has to end; None: with any, or by a signal

    def why_never(self, state: State) -> str | None:
        """Return why it can no longer come, as the state of that job says; None if it can, or has."""
        if self.exit_code is None or not state.finished or state.exit_code == self.exit_code:
            return None
        name = f"job {short_id(self.job_id)} ({one_line(self.name)})"
        return f"it waited for {name} to exit with {self.exit_code}, and that {_ending(state)}"


def _ending(state: State) -> str:
    if state.exit_code is not None:
        return f"exited with code {state.exit_code}"
    if state.state == "killed":
        return f"was ended by {state.signal or 'a signal'}"
    return f"failed: {state.message}" if state.message else "has ended in a way that is not known"
