"""The look at what a job in a sandbox left in its workspace, once it has ended. The part that confines jobs takes it."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable

from outlive import parts
from outlive.core.records import Sandbox, State

_UNCHECKED = "what it left in its workspace was not checked, which needs {}"


class Look(ABC):
    """Finds what a command of the user's would run that a job made."""

    @abstractmethod
    def looked_at(
        self, folder: int, sandbox: Sandbox, state: State, tell: Callable[..., None], *, renames: bool
    ) -> State:
        """Check the writable directories of a job that has ended, `folder` its own. Return the state with a message about
        what was found, if anything is new; an event has it all. Without `renames` nothing is changed."""


def is_at_hand(sandbox: Sandbox | None) -> bool:
    """Return whether the code is loaded that looks at the workspace of a job with this sandbox, if it has one. A process
    that lives long imports none of ours later: an update may have replaced its file."""
    return sandbox is None or parts.in_supervisor(parts.CONFINES) in sys.modules


def looked_at(folder: int, sandbox: Sandbox, state: State, tell: Callable[..., None], *, renames: bool = True) -> State:
    """Check the workspace of a job that has ended (`Look.looked_at`). Without the part the message says so."""
    part = parts.confining()
    if part is not None:
        look: Look = part.LOOK
        return look.looked_at(folder, sandbox, state, tell, renames=renames)
    unchecked = _UNCHECKED.format(parts.not_there([parts.CONFINES]))
    is_said = unchecked in (state.message or "")  # by the look before the outcome was written
    if sandbox.mode != "workspace-write" or is_said or state.pid is None:  # or nothing is known to have run
        return state
    return State.replace(state, message=". ".join(filter(None, [state.message, unchecked])))
