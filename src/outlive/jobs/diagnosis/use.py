"""What a job uses, and what it used: the figures of `usage`, each with its source.

A reader adds up what lives when it is asked. The supervisor has written down what ended below it.
"""

from typing import Any

from outlive.core.record import Record
from outlive.jobs import processes
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system import process, tree
from outlive.system.job_group import JobGroup

CGROUP, SAMPLED = "cgroup", "sampled"


class Figures(Record, omitted=("output_bytes", "memory_bytes", "read_bytes", "written_bytes")):
    """What a job uses or used. A figure that is not known is None, and has no source.

    `output_bytes`: None for what its ended processes used, as its supervisor wrote it down; with it `processes` counts those
    that live. What only living processes show is None if none lives."""

    wall_ms: int = 0
    user_ms: int | None = None
    system_ms: int | None = None
    peak_memory_bytes: int | None = None
    processes: int | None = 0
    output_bytes: int | None = None
    memory_bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    source: dict[str, str] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as answers have them."""
        members = super().to_dict()
        if self.output_bytes is None:
            del members["processes"]
        return members


def of_job(inspection: Inspection, job: JobDir, output: Output, used: Figures) -> Figures | None:
    """Return the usage of a job; None if its command never ran. `used`: what its ended processes
    used, as `job_answer.used` returns it."""
    state = inspection.state
    if state.started_at is None or state.pid is None:
        return None
    figures = Figures.replace(used, output_bytes=output.end, source=used.source if state.usage is not None else {})
    if inspection.elsewhere and not state.finished:  # its processes can be looked at only there
        return Figures.replace(figures, processes=None)
    if inspection.supervised and not inspection.elsewhere:
        return _with_living(inspection, job, figures)
    return figures


def _with_living(inspection: Inspection, job: JobDir, figures: Figures) -> Figures:
    """Return the figures with what the living processes of the job use, and what only they show."""
    pids = [member.pid for member in processes.descendants(inspection, job)]
    command = tree.running(inspection.state.identity)
    pids += [] if command is None or command.pid in pids else [command.pid]
    if not pids:
        return figures
    use = process.use_of(pids)
    figures = Figures.replace(
        figures,
        processes=use.processes,
        memory_bytes=use.memory_bytes,
        read_bytes=use.read_bytes,
        written_bytes=use.written_bytes,
        source={**figures.source, "processes": SAMPLED},
    )
    grouped = _of_group(inspection, figures)
    if grouped is not None:
        return grouped
    first = tree.running(inspection.state.init)  # it has waited for what ended in the sandbox
    its = process.use_of([] if first is None else [first.pid], whole=False)
    return Figures.replace(
        figures,
        user_ms=(figures.user_ms or 0) + (use.user_us + its.user_us) // 1000,
        system_ms=(figures.system_ms or 0) + (use.system_us + its.system_us) // 1000,
        peak_memory_bytes=max(figures.peak_memory_bytes or 0, use.peak_bytes) or None,
        source={**figures.source, "time": SAMPLED, "memory": SAMPLED},
    )


def _of_group(inspection: Inspection, figures: Figures) -> Figures | None:
    """Return the figures with those of the job's own control group; None if it does not have them all."""
    if inspection.state.job_group is None:
        return None
    group = JobGroup.of(inspection.state.job_group)
    if group is None:
        return None
    times, peak, memory = group.times_us(), group.peak_bytes(), group.memory_bytes()
    if times is None or peak is None:
        return None
    return Figures.replace(
        figures,
        user_ms=times[0] // 1000,
        system_ms=times[1] // 1000,
        peak_memory_bytes=peak,
        # Counted as the peak is: pages of a library that other processes read first are not among them
        memory_bytes=figures.memory_bytes if memory is None else memory,
        source={**figures.source, "time": CGROUP, "memory": CGROUP},
    )
