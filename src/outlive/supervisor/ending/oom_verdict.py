"""Whether the kernel ended a job because memory ran out. Said only where that is certain."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from outlive.core.records import Ending, State
from outlive.system import cgroup, oom, process

# Of a job in an allocation: asks its engine why the command was ended by a signal that is not ours.
# Returns the reason and a sentence; None if the engine knows of nothing
ask_engine: Callable[[], tuple[str, str] | None] | None = None
# Of a job in an allocation: what the path of a control group holds that is the engine's own for this job
engine_group: str | None = None
_KILLED = 137  # what a shell tells of a child that SIGKILL ended: 128 + 9


def of_engine(ended: State) -> State:
    """Return the state of a job that has just ended, with what the engine of its allocation says of its end."""
    if ask_engine is None or ended.reason != "signal" or (told := ask_engine()) is None:
        return ended
    reason, message = told
    ending = Ending(cause=reason, by="engine", signal=ended.signal, at=ended.finished_at)
    return State.replace(ended, reason=reason, message=message, ending=ending)


def judged(ended: State) -> State:
    """Return the state of a job that has just ended, with the reason `oom` where nothing else can
    have ended it.

    That needs all of this: outlive was not asked for the end, the signal was SIGKILL, and the
    kernel ended processes of the job's control group for want of memory while the job ran. And
    either that group holds nothing but this job, or the kernel's log names the command. Where the
    last is not known, the reason stays, and the message says what is known.
    """
    kills = kernel_kills(ended)
    if kills is None or ended.reason == "oom":
        return ended
    if kills.of_command and ended.reason == "signal":
        return State.replace(ended, reason="oom", message="the kernel ended it because memory ran out")
    processes = "a process" if kills.number == 1 else f"{kills.number} processes"
    return State.replace(
        ended, message=f"memory ran out: the kernel ended {processes} of its control group while it ran"
    )


class Kills(NamedTuple):
    """Processes of its control group that the kernel ended for want of memory while a job ran."""

    number: int
    of_command: bool  # for certain: the command was one of them, or exited because of one


def kernel_kills(ended: State) -> Kills | None:
    """Return which processes the kernel ended for want of memory, if that can explain the end of a job; None: it cannot."""
    by_signal = ended.signal == "SIGKILL" and ended.reason == "signal"
    if not by_signal and ended.exit_code != _KILLED:
        return None
    kills, group = cgroup.oom_kills_since(ended.group)
    if not kills or group is None:
        return None
    own = _is_its_own(group.path, ended.job_id)
    if by_signal:
        return Kills(kills, own or _is_named(ended))
    return Kills(kills, ended.reason == "exit" and (own or ended.job_group is not None))


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
