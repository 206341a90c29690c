"""Tell a person from a job. A person approves and denies, and takes the keyboard; no job does."""

from __future__ import annotations

import os

from outlive.errors import OutliveError
from outlive.system import process, tree


def person(way: str) -> str:
    """Return the name of the person who answers by this way."""
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid {os.getuid()}"
    return f"{name} ({way})"


def require_person() -> None:
    """Raise denied inside a job: no job approves another one, nor itself."""
    if is_in_job():
        raise OutliveError(
            "denied",
            "this process belongs to a job, and a job neither approves nor denies",
            hint="A person does that in a terminal of their own.",
        )


def is_in_job() -> bool:
    """Return whether this process belongs to a job, as its environment or an ancestor tells."""
    if tree.COOKIE in os.environ:
        return True
    pid = os.getpid()
    while pid > 1:
        if tree.comm(pid) == tree.SUPERVISOR.encode() or tree.comm(pid).startswith(f"{tree.SUPERVISOR} ".encode()):
            return True
        if any(word.startswith(f"{tree.COOKIE}=".encode()) for word in tree.environment(pid)):
            return True
        fields = process.stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return False
