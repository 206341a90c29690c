"""The process of a mirror: detached from the process that starts it, with a name and an environment
of its own.

`python -m outlive.parts.hosts.ssh.mirror_process LOCK WAITER`: the fds of the job's lock and of the socket
on which the start is reported (-1: none). The request is on stdin.
"""

from __future__ import annotations

import os
import sys

from outlive.core.members import parse_json
from outlive.parts.hosts.ssh.mirror import Mirror
from outlive.supervisor import confinement
from outlive.supervisor.request import Request, report_fault
from outlive.system import daemonize, fault_points, fds, own_programs, prctl, tree


def main() -> int:
    lock, waiter = map(int, sys.argv[1:3])
    request = fds.memory_file("request", fds.read_all(0))
    keep = {fd for fd in (request, lock, waiter) if fd >= 0}
    daemonize.fork_away(lambda: _run(request, waiter), keep, tree.MIRROR)
    return 0


def _run(request_fd: int, waiter_fd: int) -> int:
    content = parse_json(fds.read_all(request_fd))
    os.close(request_fd)
    request = Request.of(content["request"])
    own_programs.take(request.known)
    prctl.rename(f"{tree.MIRROR} {request.job_id}")
    if request.definition.sandbox is not None:
        confinement.if_installed()  # for notification commands: an update of outlive may replace its files later
    job = request.open_job()
    waiter = fds.socket_of(waiter_fd) if waiter_fd >= 0 else None
    if waiter is not None:
        waiter.setblocking(True)
    fault_points.at("mirror_told")
    try:
        Mirror(job, request, content["start"], waiter).run()
    except Exception as error:
        report_fault(request, "mirror", error)
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
