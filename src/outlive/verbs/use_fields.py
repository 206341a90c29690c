"""The schemas of what a job may use."""

from __future__ import annotations

from outlive.core.resources import APPLIED, NAMES
from outlive.verbs.field_kinds import _count, _maybe_count, _object, _string

RESOURCES = _object(
    "What the job may use, as asked for; absent where nothing was.",
    {},
    {
        name: _object(
            "One of it.",
            {"value": {"description": "How much: memory in bytes, cpu_time as a text with its unit."}},
            {
                "applied": _string("What applies it since the start; not_supported: nothing does.", enum=[*APPLIED]),
                "why": _string("Why it is not supported, or what to know of how it is applied."),
            },
        )
        for name in NAMES
    },
)

_SOURCE = _string("Where it comes from.", enum=["cgroup", "rusage", "sampled"])
USAGE = _object(
    "What the job uses, with all that it started; what it used, once it has ended. null: not known.",
    {
        "wall_ms": _count("How long it has run."),
        "user_ms": _maybe_count("Processor time in programs, all processes together."),
        "system_ms": _maybe_count("Processor time in the kernel for them."),
        "peak_memory_bytes": _maybe_count(
            "The most memory. cgroup: of all processes together; rusage and sampled: of the largest."
        ),
        "source": _object(
            "The source of each figure that has one.",
            {},
            {"time": _SOURCE, "memory": _SOURCE, "processes": _SOURCE},
        ),
    },
    {
        "processes": _count("Processes that are alive now."),
        "output_bytes": _count("Bytes of output, both streams."),
        "memory_bytes": _count("Memory of the living processes; a page that several share counts in each."),
        "read_bytes": _count("Bytes that the living processes read from disks."),
        "written_bytes": _count("Bytes that the living processes wrote to disks."),
    },
)
