"""Which machine this is, of those that share a job root: a process can be looked for on its own alone."""

from __future__ import annotations

import os

from outlive.core.records import Machine
from outlive.system import fds, process

# Names this machine where /etc/machine-id does not, because every machine was made from one image
_VARIABLE = "OUTLIVE_MACHINE"
_GIVEN = "given:"

_here: Machine | None = None


def here() -> Machine:
    """Return this machine. The id is that of machine-id(5), else the host name."""
    global _here
    if _here is None:
        name = os.uname().nodename
        given = os.environ.get(_VARIABLE)
        known = fds.content("/etc/machine-id", 64).strip().decode("ascii", "replace")
        machine_id = f"{_GIVEN}{given}" if given else known or name
        _here = Machine(id=machine_id, name=given or name, boot_id=process.boot_id())
    return _here


def is_other(machine: Machine | None) -> bool:
    """Return whether a record means another machine. One boot is one, whatever its containers call themselves."""
    if machine is None or machine.id == here().id:
        return False
    if machine.id.startswith(_GIVEN) or here().id.startswith(_GIVEN):
        return True
    return machine.boot_id != process.boot_id()
