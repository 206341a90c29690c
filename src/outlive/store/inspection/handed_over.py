"""What is known of a job on another host: `engine.json` in its directory.

`kind` says which engine has it. `queue` is there while the job waits, `unreachable_since` while
its host is out of reach. The members of a kind are all that is needed to reach the job again,
because the configuration may have changed since.
"""

from __future__ import annotations

import os
from typing import TypeVar

from outlive.core.record import Record
from outlive.core.records import EngineRecord
from outlive.store import atomic_file
from outlive.store.job_dir import JobDir

_R = TypeVar("_R", bound=Record)


ENGINE = "engine.json"


def read(job: JobDir) -> EngineRecord | None:
    """Return what the record of any engine has; None if there is none, or none that can be read."""
    return read_as(EngineRecord, job)


def read_as(kind: type[_R], job: JobDir) -> _R | None:
    """Return the record of an engine that writes such ones."""
    try:
        content = atomic_file.load(atomic_file.read(job.fd, ENGINE))
    except (OSError, atomic_file.Damaged):
        return None
    return kind.of(content) if kind.misfit(content) is None else None


def is_missing(job: JobDir) -> bool:
    """Return whether no engine was ever given the job. A record that cannot be read is not missing."""
    try:
        os.stat(ENGINE, dir_fd=job.fd, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


def write(job: JobDir, record: Record) -> None:
    """Replace the record. Errors: OSError."""
    atomic_file.write_atomic(job.fd, ENGINE, atomic_file.dump(record.to_dict()))


def delete(job: JobDir) -> None:
    """Delete the record, if there is one: no engine has the job."""
    atomic_file.unlink(job.fd, ENGINE)


def write_synced(job: JobDir, record: Record) -> None:
    """Replace the record, and return when it survives a power cut: another machine is about to be
    asked to run the job, and without the record no reader would know. Errors: OSError."""
    write(job, record)
    atomic_file.sync(job.fd, (ENGINE,))
