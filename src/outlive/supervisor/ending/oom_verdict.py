"""Whether the kernel ended a job because memory ran out. Said only where that is certain."""

from __future__ import annotations

from outlive.system import cgroup, oom, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import State

_KILLED = 137  # what a shell tells of a child that SIGKILL ended: 128 + 9


def judged(ended: State) -> State:
    """Return the state of a job that has just ended, with the reason `oom` where nothing else can
    have ended it.

    That needs all of this: outlive was not asked for the end, the signal was SIGKILL, and the
    kernel ended processes of the job's control group for want of memory while the job ran. And
    either that group holds nothing but this job, or the kernel's log names the command. Where the
    last is not known, the reason stays, and the message says what is known.
    """
    by_signal = ended.signal == "SIGKILL" and ended.reason == "signal"
    if not by_signal and ended.exit_code != _KILLED:
        return ended
    kills, group = cgroup.oom_kills_since(ended.group)
    if not kills or group is None:
        return ended
    if by_signal and (_is_its_own(group.path, ended.job_id) or _is_named(ended)):
        return ended.replace(reason="oom", message="the kernel ended it because memory ran out")
    processes = "a process" if kills == 1 else f"{kills} processes"
    return ended.replace(message=f"memory ran out: the kernel ended {processes} of its control group while it ran")


def _is_its_own(path: str, job_id: str) -> bool:
    from outlive.system import systemd  # late: few jobs are ended for memory

    return path.endswith(f"/{systemd.scope_of_job(job_id)}")


def _is_named(ended: State) -> bool:
    """Return whether the kernel's log names the command. It is not reaped yet, so its pid has meant
    no other process.
    """
    if ended.started_ns is None or not process.is_first_namespace():
        return False
    return ended.pid in oom.named_since(ended.started_ns // 1000)
