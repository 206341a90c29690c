"""What Slurm's accounting says of a job that the controller has forgotten (sacct(1)).

Many clusters have no accounting. Then, and while its database does not answer, nothing is known.
"""

from __future__ import annotations

import time

from outlive.errors import OutliveError
from outlive.hosts.slurm import programs, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_BEFORE_S = 3600  # the clocks of two machines may differ


def end_of(job_id: str, record: Mapping[str, Any]) -> dict[str, str] | None:
    """Return `job_id`, Slurm's own, and `state`, its word for the end; None if that is not known."""
    engine_id = record["engine"].get("job_id")
    which = [f"--jobs={engine_id}"] if engine_id else [f"--name={job_id}", f"--starttime={_day(record)}"]
    flags = ("--allocations", "--noheader", "--parsable2", "--format=JobIDRaw,State")
    try:
        status, printed, _ = programs.run("sacct", record, *which, *flags)
    except (OSError, OutliveError):
        return None
    lines = [line.split("|") for line in printed.splitlines() if line.count("|") == 1]
    if status != 0 or not lines:
        return None
    known, word = lines[-1][0], lines[-1][1].split(" ")[0]  # CANCELLED by 1000
    return {"job_id": known, "state": word} if word in verdict.ENDED else None


def _day(record: Mapping[str, Any]) -> str:
    """Return when to begin the search for a job that is known by its name alone."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(max(0.0, record["submitted"] - _BEFORE_S)))
