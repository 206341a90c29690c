"""What Slurm's accounting says of a job that the controller has forgotten (sacct(1)).

Many clusters have no accounting. Then, and while its database does not answer, nothing is known.
"""

from __future__ import annotations

import time

from outlive.core.records import EngineState
from outlive.errors import OutliveError
from outlive.hosts.slurm import programs, verdict
from outlive.hosts.slurm.record import SlurmRecord

_BEFORE_S = 3600  # the clocks of two machines may differ


def end_of(job_id: str, record: SlurmRecord) -> EngineState | None:
    """Return Slurm's id of a job and its word for the end; None if that is not known."""
    engine_id = record.engine.job_id
    which = [f"--jobs={engine_id}", "--duplicates"] if engine_id else [f"--name={job_id}"]
    begin = time.localtime(max(0.0, record.submitted - _BEFORE_S))
    since = f"--starttime={time.strftime('%Y-%m-%dT%H:%M:%S', begin)}"
    flags = ("--allocations", "--noheader", "--parsable2", "--format=JobIDRaw,JobName,State")
    try:
        status, printed, _ = programs.run("sacct", record.programs, *which, since, *flags)
    except (OSError, OutliveError):
        return None
    entries = [line.split("|") for line in printed.splitlines() if line.count("|") == 2]
    # Slurm may give one number to two jobs, after its controller was killed. The name is our id
    own = [(number, word) for number, name, word in entries if name == job_id]
    if status != 0 or not own:
        return None
    known, word = own[-1][0], own[-1][1].split(" ")[0]  # CANCELLED by 1000
    return EngineState.replace(record.engine, job_id=known, state=word) if word in verdict.ENDED else None
