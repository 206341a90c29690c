"""What a job uses, what it used, and what it was to have: the figures of `usage`, each with its source.

A reader adds up what lives when it is asked. The supervisor has written down what ended below it.
"""

from __future__ import annotations

from typing import Any

from outlive.jobs import processes
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system import process_use, tree

CGROUP, SAMPLED = "cgroup", "sampled"


def of_job(inspection: Inspection, job: JobDir, output: Output, used: dict[str, object]) -> dict[str, Any] | None:
    """Return the usage of a job; None if its command never ran. `used`: what its ended processes
    used, as `job_answer.used` returns it.

    A figure that is not known is null, and has no source.
    """
    state = inspection.state
    if state.started_at is None or state.pid is None:
        return None
    answer: dict[str, Any] = {**used, "processes": 0, "output_bytes": output.end}
    sources = answer.pop("source")
    if state.usage is None:
        sources = {}
    if inspection.elsewhere and not state.finished:  # its processes can be looked at only there
        answer["processes"] = None
    elif inspection.supervised and not inspection.elsewhere:
        _add_living(inspection, job, answer, sources)
    return {**answer, "source": sources}


def _add_living(inspection: Inspection, job: JobDir, answer: dict[str, Any], sources: dict[str, str]) -> None:
    """Add what the living processes of the job use, and what only they show."""
    pids = [member.pid for member in processes.descendants(inspection, job)]
    command = tree.running(inspection.state.identity)
    pids += [] if command is None or command.pid in pids else [command.pid]
    if not pids:
        return
    use = process_use.of(pids)
    answer |= {
        "processes": use.processes,
        "memory_bytes": use.memory_bytes,
        "read_bytes": use.read_bytes,
        "written_bytes": use.written_bytes,
    }
    sources["processes"] = SAMPLED
    if _add_group(inspection, answer, sources):
        return
    first = tree.running(inspection.state.init)  # it has waited for what ended in the sandbox
    user_us, system_us = (0, 0) if first is None else process_use.times_us(first.pid)
    answer["user_ms"] = (answer["user_ms"] or 0) + (use.user_us + user_us) // 1000
    answer["system_ms"] = (answer["system_ms"] or 0) + (use.system_us + system_us) // 1000
    answer["peak_memory_bytes"] = max(answer["peak_memory_bytes"] or 0, use.peak_bytes) or None
    sources |= {"time": SAMPLED, "memory": SAMPLED}


def _add_group(inspection: Inspection, answer: dict[str, object], sources: dict[str, str]) -> bool:
    """Take the figures of the job's own control group. Return whether it has them all."""
    if inspection.state.job_group is None:
        return False
    group = processes.group_of(inspection.state.job_group)
    times, peak = (None, None) if group is None else (group.times_us(), group.peak_bytes())
    if times is None or peak is None:
        return False
    answer |= {"user_ms": times[0] // 1000, "system_ms": times[1] // 1000, "peak_memory_bytes": peak}
    # Counted as the peak is: pages of a library that other processes read first are not among them
    memory = group.memory_bytes() if group is not None else None
    if memory is not None:
        answer["memory_bytes"] = memory
    sources |= {"time": CGROUP, "memory": CGROUP}
    return True


def resources_of(inspection: Inspection) -> dict[str, object]:
    """Return what a job was to have, and how each of it is applied once it was started."""
    if inspection.state.resources:
        return {name: one.to_dict() for name, one in inspection.state.resources.items()}
    asked = {} if inspection.definition.resources is None else inspection.definition.resources.to_dict()
    return {name: {"value": value} for name, value in asked.items()}


def not_limited(inspection: Inspection) -> str | None:
    """Return the sentence about resources that are not limited as asked; None if all are."""
    told = inspection.state.resources or {}
    left = [f"{name} ({one.why})" for name, one in told.items() if one.applied == "not_supported"]
    return f"Not limited: {'; '.join(left)}." if left else None
