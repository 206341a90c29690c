"""What a node sees: `python -m outlive.parts.hosts.slurm.look ROOT FILE KNOWN [BWRAP]` prints it as JSON.

FILE is in the job root and locked by the process that asks. KNOWN, in JSON, is what that one knows of
where jobs work. With BWRAP, a path or `-` for any, a sandbox is tried.
"""

import json
import os
import sys

from outlive import __version__
from outlive.core.members import parse_json
from outlive.core.record import Record
from outlive.parts.sandbox.confinement import bubblewrap
from outlive.parts.sandbox.confinement.bubblewrap import SandboxTrial
from outlive.system import fds, locks, machine, own_programs
from outlive.system.known import Known

ANY = "-"


class Look(Record, omitted=("sandbox",)):
    """`root`: whether FILE is there. `locked`: whether its lock is seen there."""

    version: str
    node: str
    machine: str = ""
    boot_id: str = ""
    root: bool = False
    locked: bool = False
    sandbox: SandboxTrial | None = None


def main(root: str, name: str, known: str, bwrap: str | None = None) -> int:
    own_programs.take(Known.of(parse_json(known)))
    here = machine.here()
    node = os.environ.get("SLURMD_NODENAME") or here.name
    try:
        with fds.Closing(os.open(os.path.join(root, name), os.O_RDONLY | os.O_CLOEXEC)) as fd:
            is_locked: bool | None = locks.is_held(fd, 0)
    except OSError:
        is_locked = None
    look = Look(
        version=__version__,
        node=node,
        machine=here.id,
        boot_id=here.boot_id,
        root=is_locked is not None,
        locked=bool(is_locked),
        sandbox=None if bwrap is None else bubblewrap.trial(None if bwrap == ANY else bwrap),
    )
    sys.stdout.write(json.dumps(look.to_dict()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
