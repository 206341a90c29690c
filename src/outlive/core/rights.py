"""What a caller may do: read jobs, control them, run commands, and where."""

import os

from outlive.core.real_path import real_path
from outlive.core.record import Record
from outlive.core.records import CONTROL, EXEC, READ, RIGHTS
from outlive.errors import OutliveError

_DOES = {READ: "read jobs", CONTROL: "control jobs", EXEC: "run commands"}
_WITHOUT = {CONTROL: "without --read-only", EXEC: "without --no-exec and --read-only"}


class Rights(Record):
    """The rights of one caller. The default is that of the command line and of a local client: all.

    `workdir`: the only directory in which, and below which, its jobs run, without links;
    `workdir_id`: its device and inode, None if they are not known. `sandbox`: the most that its jobs
    may do ({"mode"}, and "network" and "git" if those are limited too). `approves`: forms of the
    client may approve jobs. `token`: the name of the token that limits the caller; None where the
    server itself does.
    """

    level: str = EXEC
    workdir: str | None = None
    workdir_id: list[int] | None = None
    sandbox: dict[str, str] | None = None
    approves: bool = True
    token: str | None = None

    def allows(self, level: str) -> bool:
        return RIGHTS.index(level) <= RIGHTS.index(self.level)

    def within(self, level: str) -> "Rights":
        """Return these rights, limited to those of a server."""
        return self if not self.allows(level) or self.level == level else Rights.replace(self, level=level, token=None)

    def require(self, level: str, doing: str) -> None:
        """Raise `denied` if the caller has not this right, which `doing` needs."""
        if self.allows(level):
            return
        if self.token is None:
            who, hint = "this server", "it was started with `--tools process`, and runs no commands."
        else:
            who = f"the token {self.token}"
            hint = f"`outlive token add NAME` {_WITHOUT[level]} makes a token that has it."
        raise self.denied(f"{doing} needs the right to {_DOES[level]}, which {who} does not have", hint, right=level)

    def require_inside(self, path: str) -> None:
        """Raise `denied` if this directory is not the caller's, nor below it."""
        if self.workdir is None:
            return
        if self.workdir_id is not None and self.workdir_id != identity_of(self.workdir):
            raise self.denied(
                f"another directory stands in the place of {self.workdir}, in which jobs of the token {self.token} run",
                "a job may have replaced it. Look at it, and make a new token.",
                right="workdir",
            )
        inside, real = real_path(self.workdir), real_path(path)
        if real != inside and not real.startswith(inside.rstrip("/") + "/"):
            raise self.denied(
                f"jobs of the token {self.token} run in {self.workdir} or below it, not in {path}",
                "`outlive token add NAME --workdir DIR` makes a token for another directory.",
                right="workdir",
            )

    def require_here(self, there: str) -> None:
        """Raise `denied` for a directory of another machine: the caller's is one of this machine."""
        if self.workdir is not None:
            raise self.denied(
                f"jobs of the token {self.token} run in {self.workdir} or below it, not on another machine in {there}",
                "`outlive token add NAME` without --workdir makes a token for jobs there.",
                right="workdir",
            )

    def denied(self, message: str, hint: str, **details: object) -> OutliveError:
        """Return the error `denied`; `details` name the right that the caller has not."""
        token = {} if self.token is None else {"token": self.token}
        return OutliveError("denied", message, hint=f"Tell the user: {hint}", details={**details, **token})


def identity_of(path: str) -> list[int] | None:
    """Return device and inode of what stands at a path, of a link its own; None if nothing does."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return [status.st_dev, status.st_ino]
