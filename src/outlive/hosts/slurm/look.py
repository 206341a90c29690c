"""What a node sees: `python -m outlive.hosts.slurm.look ROOT FILE [BWRAP]` prints it as JSON.

FILE is in the job root and locked by the process that asks. With BWRAP, a path or `-` for any, a
sandbox is tried.
"""

from __future__ import annotations

import os
import sys

from outlive import __version__, fastjson
from outlive.system import locks, machine

ANY = "-"


def main(root: str, name: str, bwrap: str | None = None) -> int:
    here = machine.here()
    seen = {
        "version": __version__,
        "node": os.environ.get("SLURMD_NODENAME") or here["name"],
        "machine": here["id"],
        "boot_id": here["boot_id"],
        "root": False,
        "locked": False,
    }
    try:
        fd = os.open(os.path.join(root, name), os.O_RDONLY | os.O_CLOEXEC)
        seen |= {"root": True, "locked": locks.is_held(fd, 0)}
    except OSError:
        pass
    if bwrap is not None:
        from outlive.sandbox import bubblewrap  # late: most checks are about no sandbox

        seen["sandbox"] = bubblewrap.found(None if bwrap == ANY else bwrap)
    sys.stdout.write(fastjson.dumps(seen) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
