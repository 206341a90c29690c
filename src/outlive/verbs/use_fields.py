"""The schemas of what a job may use."""

from __future__ import annotations

from outlive.core.resources import APPLIED, NAMES
from outlive.verbs.field_kinds import count, maybe_count, object_of, string

RESOURCES = object_of(
    "What the job may use, as asked for; absent where nothing was.",
    {},
    {
        name: object_of(
            "One of it.",
            {"value": {"description": "How much: memory in bytes, cpu_time as a text with its unit."}},
            {
                "applied": string("What applies it since the start; not_supported: nothing does.", enum=[*APPLIED]),
                "why": string("Why it is not supported, or what to know of how it is applied."),
            },
        )
        for name in NAMES
    },
)

_SOURCE = string("Where it comes from.", enum=["cgroup", "rusage", "sampled"])
USAGE = object_of(
    "What the job uses, with all that it started; what it used, once it has ended. null: not known.",
    {
        "wall_ms": count("How long it has run."),
        "user_ms": maybe_count("Processor time in programs, all processes together."),
        "system_ms": maybe_count("Processor time in the kernel for them."),
        "peak_memory_bytes": maybe_count(
            "The most memory. cgroup: of all processes together; rusage and sampled: of the largest."
        ),
        "source": object_of(
            "The source of each figure that has one.",
            {},
            {"time": _SOURCE, "memory": _SOURCE, "processes": _SOURCE},
        ),
    },
    {
        "processes": maybe_count("Processes that are alive now; null: not known."),
        "output_bytes": count("Bytes of output, both streams."),
        "memory_bytes": count("Memory of the living processes; a page that several share counts in each."),
        "read_bytes": count("Bytes that the living processes read from disks."),
        "written_bytes": count("Bytes that the living processes wrote to disks."),
    },
)
