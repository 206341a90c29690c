"""The other end of a control connection: a step in the allocation, connected to the supervisor.

`python -m outlive.parts.hosts.far.step ROOT ID`: carry frames between stdin, stdout and the job's control
socket (hosts/control_stream.py). What only a process on this node can see is answered here.
"""

from __future__ import annotations

import json
import sys

from outlive.core.members import parse_json
from outlive.errors import OutliveError
from outlive.jobs import job_answer
from outlive.parts.hosts import control_stream
from outlive.store.inspection.inspect import inspect_job
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.store.root import Store


def main(root: str, job_id: str) -> int:
    store = Store.existing(root)
    with JobDir.open(store, job_id) as job:
        control_stream.carry(
            job.connect(), sys.stdin.buffer, sys.stdout.buffer, answered=lambda message: _answered(message, job)
        )
    return 0


def _answered(message: bytes, job: JobDir) -> bytes | None:
    """Return the answer to a request that is none of the supervisor's; None to all others."""
    if parse_json(message).get("op") != "usage":
        return None
    try:
        inspection = inspect_job(job)
        inspection.elsewhere = False  # here are its processes
        answer = {"ok": True, **used(inspection, job)}
    except (OSError, OutliveError) as error:
        answer = {"ok": False, "code": "io_error", "message": str(error), "retryable": True}
    return json.dumps(answer).encode()


def used(inspection: Inspection, job: JobDir) -> dict[str, object]:
    """Return what a job of this machine uses, as `usage` of a control connection is answered."""
    with Output(job) as output:
        usage = job_answer.usage_now(inspection, job, output)
    return {"usage": usage, "descendants": job_answer.living(inspection, job)}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
