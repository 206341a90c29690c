"""What a job used while it ran: the samples that its supervisor took (supervisor/ending/members.py).

A file of lines, each an array: the time since the start of the command and its processor time in ms,
its memory in bytes, and where its output ended.
"""

from __future__ import annotations

from outlive.core.members import parse_json
from outlive.store import atomic_file
from outlive.store.job_dir import USAGE, JobDir

_MOST_BYTES = 65_536  # that are read: five times what a job of ten years has


def read(job: JobDir) -> list[list[int]]:
    """Return the samples of a job, the oldest first; none of a job that ended soon, and of what is
    damaged those that can be read."""
    try:
        data = atomic_file.read(job.fd, USAGE, _MOST_BYTES)
    except (OSError, atomic_file.Damaged):
        return []
    samples = []
    for line in data.splitlines():
        try:
            sample = parse_json(line)
        except ValueError:
            continue
        if isinstance(sample, list) and len(sample) == 4 and all(type(value) is int for value in sample):
            samples.append(sample)
    return samples
