"""Who is ended first when memory runs out (proc_pid_oom_score_adj(5)): from -1000, never, to 1000."""

from __future__ import annotations

import os

_FILE = "oom_score_adj"


def score(pid: int | str = "self") -> int | None:
    """What is added to the process's badness; None where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/{_FILE}", "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def set_score(wanted: int, pid: int | str = "self") -> bool:
    """False where it is not permitted: lowering it below where it was once set needs CAP_SYS_RESOURCE."""
    try:
        fd = os.open(f"/proc/{pid}/{_FILE}", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(fd, b"%d" % wanted)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def may_fall() -> bool:
    """May this process lower its score? Tried out, and put back."""
    now = score()
    if now is None or now <= -1000:
        return now is not None
    if not set_score(now - 1):
        return False
    set_score(now)
    return True
