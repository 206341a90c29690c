"""The other end of a control connection: a step in the allocation, connected to the supervisor.

`python -m outlive.hosts.slurm.step ROOT ID`: carry frames between stdin, stdout and the job's
control socket (relay.py).
"""

from __future__ import annotations

import os
import sys

from outlive.hosts import relay
from outlive.store.job_dir import CONTROL
from outlive.system import fds


def main(root: str, job_id: str) -> int:
    sock = fds.new_socket()
    io = os.open(os.path.join(root, job_id, os.path.dirname(CONTROL)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        sock.connect(fds.socket_path(io, os.path.basename(CONTROL)))
    finally:
        os.close(io)
    relay.carry(sock, sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
