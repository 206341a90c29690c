"""The approval of one job: what is asked stands in its definition, and the answer in a file that is
written once.

The process that made the job holds ASKER_BYTE of the job's lock while it waits for the answer,
because it alone knows the environment that the job is to have.
"""

import json
import os
import time

from outlive.core.members import parse_json
from outlive.core.record import Record
from outlive.core.records import APPROVALS, Definition
from outlive.core.units import seconds_or, timestamp
from outlive.parts.approvals import question_record
from outlive.store import atomic_file
from outlive.store.job_dir import JobDir
from outlive.system import fds, locks
from outlive.system.fds import Closing

FILE = "approval.json"
PENDING, APPROVED, DENIED, EXPIRED, WITHDRAWN = APPROVALS
ASKER_BYTE = 2


class Decision(Record):
    """What became of an approval: the content of `approval.json`."""

    state: str = ""
    by: str | None = None
    reason: str | None = None
    at: str | None = None


def read(job: JobDir) -> Decision | None:
    """Return the answer; None while there is none."""
    try:
        content = parse_json(atomic_file.read(job.fd, FILE))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict) or content.get("state") not in APPROVALS or Decision.misfit(content):
        # Spoilt by a program: nothing that was not approved may run
        return Decision(state=DENIED, reason=f"{FILE} cannot be read")
    return Decision.of(content)


def read_or_expire(job: JobDir, definition: Definition) -> Decision | None:
    """Return the answer; None while there is none and time for one. Errors: OSError."""
    given = read(job)
    return answer(job, EXPIRED)[0] if given is None and not seconds_left(definition) else given


def answer(job: JobDir, state: str, *, by: str | None = None, reason: str | None = None) -> tuple[Decision, bool]:
    """Write the answer down. Return the answer that counts, which is the first, and whether it is
    this one. Errors: OSError."""
    given = Decision(state=state, by=by, reason=reason, at=timestamp())
    mine = f".{FILE}.{os.getpid()}.{time.monotonic_ns()}"
    fd = job.open_file(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        fds.write_all(fd, json.dumps(given.to_dict()).encode())
        os.fsync(fd)
        # Unlike rename(2), link(2) fails if another process was faster
        os.link(mine, FILE, src_dir_fd=job.fd, dst_dir_fd=job.fd, follow_symlinks=False)
        first = True
    except FileExistsError:
        first = False
    finally:
        os.close(fd)
        os.unlink(mine, dir_fd=job.fd)
    os.fsync(job.fd)
    return (given, True) if first else (read(job) or given, False)


def seconds_left(definition: Definition) -> float:
    """Return how long an answer may still take, in seconds."""
    return max(0.0, seconds_or(question_record.of(definition).expires_at, 0) - time.time())


def hold(job: JobDir) -> int:
    """Take ASKER_BYTE and return the open file that holds it. Errors: OSError."""
    fd = job.open_lock()
    locks.take(fd, ASKER_BYTE)
    return fd


def is_held(job: JobDir) -> bool:
    """Return whether the process that made the job waits for the answer."""
    with Closing(job.open_lock()) as fd:
        return locks.is_held(fd, ASKER_BYTE)


def shown(job: JobDir, definition: Definition) -> dict[str, object]:
    """Return the member `approval` of answers."""
    request, answer = question_record.of(definition), read(job)
    said = {
        "state": PENDING if answer is None else answer.state,
        "rule": request.rule,
        "reason": request.reason,
    }
    if answer is None:
        said["expires_at"] = request.expires_at or None
    else:
        said |= {"by": answer.by, "at": answer.at, "answer": answer.reason}
    return {name: value for name, value in said.items() if value is not None}
