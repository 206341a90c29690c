"""Whether the end of a job, and the last hits of its watches, are still to be told: `completion_event.json`,
and the mark of live jobs."""

from __future__ import annotations

import json
from contextlib import suppress

from outlive.core.members import parse_json
from outlive.core.records import Definition
from outlive.store import atomic_file
from outlive.store.job_dir import COMPLETION, JobDir


def is_reported(definition: Definition) -> bool:
    """Return whether the end of the job goes to a command or a file, or its output is searched."""
    return bool(definition.notification.targets or definition.notification.every_watch)


def is_end_unreported(job: JobDir, definition: Definition) -> bool:
    """Return whether the end of the job or a hit in its last output is still to be told, because the
    process that had to was killed. Ask only about a job that is finished and unsupervised."""
    if not is_reported(definition):
        return False
    try:
        return bool(parse_json(atomic_file.read(job.fd, COMPLETION)).get("pending"))
    # No delivery has begun. A sink that was added after the end is not for this end
    except FileNotFoundError:
        return job.is_marked_live()
    except (OSError, ValueError, AttributeError):
        return False


def give_up(job: JobDir, definition: Definition, why: str) -> None:
    """Record that the end of the job is delivered no more."""
    try:
        known = parse_json(atomic_file.read(job.fd, COMPLETION))
        event = known if isinstance(known, dict) else {}
    except (OSError, ValueError):
        event = {"job_id": job.job_id}
    event |= {"delivered": False, "pending": False, "given_up": why}
    with suppress(OSError):  # full, or read-only: the next look tries again
        if definition.notification.targets:
            content = json.dumps(event, ensure_ascii=True).encode() + b"\n"
            atomic_file.write_atomic(job.fd, COMPLETION, content)
        job.unmark_live()
