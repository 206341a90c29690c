"""The names of resources, and of the ways in which each can be applied."""

from __future__ import annotations

CPUS, MEMORY, GPUS, CPU_TIME, PROCESSES, NICE, OPTIONS = NAMES = tuple(
    "cpus memory gpus cpu_time processes nice options".split()
)
# An engine applies what it takes: H of "host" is not known here
CGROUP, RLIMIT, SAMPLED, KERNEL, ENGINE, NOT_SUPPORTED = APPLIED = tuple(
    "cgroup rlimit sampled kernel engine not_supported".split()
)
