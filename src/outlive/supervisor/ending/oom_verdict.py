"""Whether the kernel ended a job because memory ran out. Said only where that is certain."""

from __future__ import annotations

from collections.abc import Callable

from outlive.core.records import Ending, State
from outlive.system import cgroup, oom, process

# Of a job in an allocation: asks its engine why the command was ended by a signal that is not ours.
# Returns the reason and a sentence; None if the engine knows of nothing
ask_engine: Callable[[], tuple[str, str] | None] | None = None
# Of a job in an allocation: what the path of a control group holds that is the engine's own for this job
engine_group: str | None = None
_KILLED = 137  # what a shell tells of a child that SIGKILL ended: 128 + 9


def judged(ended: State) -> State:
    """Return the state of a job that has just ended, with the reason `oom` where nothing else can
    have ended it.

    That needs all of this: outlive was not asked for the end, the signal was SIGKILL, and the
    kernel ended processes of the job's control group for want of memory while the job ran. And
    either that group holds nothing but this job, or the kernel's log names the command. Where the
    last is not known, the reason stays, and the message says what is known.
    """
    if ask_engine is not None and ended.reason == "signal" and (told := ask_engine()) is not None:
        reason, message = told
        ending = Ending(cause=reason, by="engine", signal=ended.signal, at=ended.finished_at)
        return State.replace(ended, reason=reason, message=message, ending=ending)
    by_signal = ended.signal == "SIGKILL" and ended.reason == "signal"
    if not by_signal and ended.exit_code != _KILLED:
        return ended
    kills, group = cgroup.oom_kills_since(ended.group)
    if not kills or group is None:
        return ended
    if by_signal and (_is_its_own(group.path, ended.job_id) or _is_named(ended)):
        return State.replace(
            ended, reason="oom", message=_reached(ended) or "the kernel ended it because memory ran out"
        )
    own = ended.job_group is not None or _is_its_own(group.path, ended.job_id)
    if ended.reason == "exit" and own and (reached := _reached(ended)):
        return State.replace(ended, reason="oom", message=reached)  # 137 is what a shell says of it
    processes = "a process" if kills == 1 else f"{kills} processes"
    return State.replace(
        ended, message=f"memory ran out: the kernel ended {processes} of its control group while it ran"
    )


def _reached(ended: State) -> str | None:
    """Return the sentence about a job that was ended at its own limit of memory; None for others."""
    limit = (ended.resources or {}).get("memory")
    if limit is None or limit.applied not in ("cgroup", "engine"):
        return None
    return f"the kernel ended it: its processes took all of the {limit.value:,} bytes of memory that it may have"


def _is_its_own(path: str, job_id: str) -> bool:
    """Return whether the control group holds nothing but this job: its systemd scope, or the group
    that its limits made, or the engine's."""
    return f"/outlive-{job_id}" in path or (engine_group is not None and engine_group in path)


def _is_named(ended: State) -> bool:
    """Return whether the kernel's log names the command. It is not reaped yet, so its pid has meant
    no other process."""
    if ended.started_ns is None or not process.is_first_namespace():
        return False
    return ended.pid in oom.named_since(ended.started_ns // 1000)
