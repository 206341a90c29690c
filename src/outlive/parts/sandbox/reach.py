"""What a caller whose jobs are limited may have looked at for it: the server itself asks for ports,
servers and files of a condition, and it is in no sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlive.core.records import Definition, Sandbox
from outlive.errors import OutliveError
from outlive.jobs.conditions.condition import Condition
from outlive.jobs.starting import boundary
from outlive.parts.sandbox.confinement import access

_INSTEAD = "Wait for a port of a job with a network of its own, or for a line of its output."


class Reach(boundary.Reach):
    """What the jobs of a caller could reach. `network`: the machine's; without it, a port is looked
    for in the network of the job alone."""

    def __init__(self, sandbox: Sandbox, *, network: bool) -> None:
        self._sandbox = sandbox
        self._network = network

    def require(self, definition: Definition, conditions: Iterable[Condition]) -> None:
        """Errors: denied for a condition that asks for more than the caller's jobs could."""
        sandbox = definition.sandbox
        apart = sandbox is not None and sandbox.network != "open"
        for one in conditions:
            if one.name == "http" or (one.name == "port" and not apart):
                if not self._network:
                    raise _denied(f"{one.name} asks in the network of this machine, which jobs of this caller may not")
            elif one.name == "file":
                path = os.path.join(definition.cwd or "/", one.value)
                if not self.sees(path):
                    raise _denied(f"jobs of this caller cannot see {path}", "Wait for a file in the workspace.")

    def sees(self, path: str) -> bool:
        """Return whether a job of the caller would see what is at this path now."""
        try:
            access.require_visible(self._sandbox, os.path.normpath(path), "until")
        except OutliveError:
            return False
        return True


def _denied(message: str, hint: str = _INSTEAD) -> OutliveError:
    return OutliveError("denied", message, hint=hint, details={"field": "until"})
