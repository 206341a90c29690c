"""How often in a row a supervisor was started for a job whose supervisors had died, and died too.

The file `.adoptions` of a job holds the number, and is there only while such a supervisor is young.
Without a bound, something in a job's directory that ends every supervisor would be met again at
every look at the job, and its sinks told again.
"""

from __future__ import annotations

from contextlib import suppress

from outlive.store import atomic_file, fault_report
from outlive.store.job_dir import JobDir

_COUNT = ".adoptions"
MOST = 5
SURVIVED_S = 5.0  # a supervisor that has lived for this long did not die of the adoption


def count(job: JobDir) -> int:
    """Return how many supervisors were started in a row, none of which survived."""
    try:
        return int(atomic_file.read(job.fd, _COUNT, 16))
    except (OSError, ValueError):
        return 0


def record(job: JobDir, number: int) -> None:
    """Set the number. The caller holds the job's locks. An error does not matter: a full disk is no
    reason to leave a job alone."""
    with suppress(OSError):
        atomic_file.write_atomic(job.fd, _COUNT, b"%d\n" % number, promised=False)


def survived(job: JobDir) -> None:
    """Forget the count: the supervisor lives, or its work is done."""
    atomic_file.unlink(job.fd, _COUNT)


def given_up(job: JobDir) -> str:
    """Return one sentence that says why no supervisor is started any more."""
    why = fault_report.cause(job)
    return f"{MOST} supervisors in a row were started for it and ended at once" + (f": {why}" if why else "")
