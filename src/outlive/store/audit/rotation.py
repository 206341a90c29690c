"""Keep the audit record bounded: a full file is renamed, and of the renamed ones the oldest go."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

from outlive.system.fds import Closing

_LOCK = ".audit.lock"
_PREFIX, _SUFFIX = "audit-", ".ndjson"


def rotate(path: str, max_bytes: int, files: int) -> None:
    """Rename the full file at `path`, and keep at most `files` in all. Another process that does so
    just now, or an error, leaves the file as it is: a line too many is better than one too few."""
    directory = os.path.dirname(path)
    with suppress(OSError):
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with Closing(os.open(os.path.join(directory, _LOCK), flags, 0o600)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # It may be a new one by now. Half of the size: the line that comes may be a long one
            if os.stat(path, follow_symlinks=False).st_size > max_bytes // 2:
                os.rename(path, os.path.join(directory, f"{_PREFIX}{time.time_ns():020}{_SUFFIX}"))
            for name in old_files(directory)[max(0, files - 1) :]:
                os.unlink(os.path.join(directory, name))


def old_files(directory: str) -> list[str]:
    """Return the names of the renamed files, the newest first."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted((name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX)), reverse=True)
