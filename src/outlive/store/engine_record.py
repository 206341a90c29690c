"""What is known of a job on another host: `engine.json` in its directory.

`kind` says which engine has it. `engine` {name, job_id, state} quotes that engine, `queue` {state,
reason, since, estimated_start?} is there while the job waits, `unreachable_since` while its host is
out of reach. `machine` is that of its supervisor, where no socket of this machine leads to that.
The other members belong to the kind: all that is needed to reach the job again,
because the configuration may have changed since.
"""

from __future__ import annotations

from outlive.store import atomic_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.store.job_dir import JobDir

ENGINE = "engine.json"


def read(job: JobDir) -> dict[str, Any] | None:
    """Return the record; None if there is none, or none that can be read."""
    try:
        return atomic_file.load(atomic_file.read(job.fd, ENGINE))
    except (OSError, atomic_file.Damaged):
        return None


def write(job: JobDir, record: dict[str, Any]) -> None:
    """Replace the record. Errors: OSError."""
    atomic_file.write_atomic(job.fd, ENGINE, atomic_file.dump(record))
