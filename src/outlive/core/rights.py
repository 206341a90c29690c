"""What a caller may do: read jobs, control them, run commands, and where."""

from __future__ import annotations

import os

from outlive.core.records import CONTROL, EXEC, READ, RIGHTS, Record
from outlive.errors import OutliveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DOES = {READ: "read jobs", CONTROL: "control jobs", EXEC: "run commands"}
_WITHOUT = {CONTROL: "without --read-only", EXEC: "without --no-exec and --read-only"}


class Rights(Record):
    """The rights of one caller. The default is that of the command line and of a local client: all.

    `workdir`: the only directory in which, and below which, its jobs run. `sandbox`: the most that
    its jobs may do ({"mode"}, and "network" if that is limited too). `token`: the name of the token
    that limits the caller; None where the server itself does.
    """

    level: str = EXEC
    workdir: str | None = None
    sandbox: dict[str, str] | None = None
    token: str | None = None

    def allows(self, level: str) -> bool:
        return RIGHTS.index(level) <= RIGHTS.index(self.level)

    def within(self, level: str) -> Rights:
        """Return these rights, limited to those of a server."""
        return self if not self.allows(level) or self.level == level else self.replace(level=level, token=None)

    def require(self, level: str, doing: str) -> None:
        """Raise `denied` if the caller has not this right, which `doing` needs."""
        if self.allows(level):
            return
        if self.token is None:
            who, hint = "this server", "it was started with `--tools process`, and runs no commands."
        else:
            who = f"the token {self.token}"
            hint = f"`outlive token add NAME` {_WITHOUT[level]} makes a token that has it."
        raise self._denied(f"{doing} needs the right to {_DOES[level]}, which {who} does not have", hint, right=level)

    def require_inside(self, path: str) -> None:
        """Raise `denied` if this directory is not the caller's, nor below it."""
        if self.workdir is None:
            return
        inside, found = os.path.realpath(self.workdir), os.path.realpath(path)
        if found != inside and not found.startswith(inside.rstrip("/") + "/"):
            raise self._denied(
                f"jobs of the token {self.token} run in {self.workdir} or below it, not in {path}",
                "`outlive token add NAME --workdir DIR` makes a token for another directory.",
                right="workdir",
            )

    def _denied(self, message: str, hint: str, **details: Any) -> OutliveError:
        token = {} if self.token is None else {"token": self.token}
        return OutliveError("denied", message, hint=f"Tell the user: {hint}", details={**details, **token})
