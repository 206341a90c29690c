"""What a caller can do about a job that Slurm does not take, or takes and never starts."""

from __future__ import annotations

from outlive.errors import OutliveError
from outlive.hosts.engine import Host
from outlive.hosts.slurm import programs

# What sbatch says of a job that no node has room for, even an empty one
_TOO_MUCH = ("configuration is not available", "can not be satisfied", "generic resource", "processors requested")
# Reasons of squeue(1) that no waiting ends
_NEVER = frozenset(
    "PartitionConfig PartitionNodeLimit PartitionTimeLimit BadConstraints InvalidAccount InvalidQOS "
    "DependencyNeverSatisfied".split()
)


def hint(host: Host, error: str) -> str:
    """Return what to do about a job that sbatch refused with this error."""
    if any(words in error for words in _TOO_MUCH) and (most := _most(host)):
        return f"Ask for less in `resources`: one node gives at most {most} (`sinfo -N` shows each)."
    return f"`outlive host check {host.name}` tells what is missing."


def waits_in_vain(reason: str | None) -> str | None:
    """Return what to do about a job that Slurm never starts; None about others."""
    if reason not in _NEVER:
        return None
    return "Slurm will not start it as it was submitted: kill it, and ask for what a partition gives (`sinfo` tells)."


def _most(host: Host) -> str | None:
    """Return the most that a node of the cluster has, as members of `resources`."""
    try:
        status, printed, _ = programs.run("sinfo", host.settings.programs, "--noheader", "--Node", "--format=%c|%m|%G")
        nodes = [line.split("|") for line in printed.splitlines() if line.count("|") == 2]
        if status != 0 or not nodes:
            return None
        cpus, memory = (max(int(node[column].rstrip("+")) for node in nodes) for column in (0, 1))
        gpus = max(_gpus(node[2]) for node in nodes)
    except (OutliveError, ValueError):
        return None
    return f"cpus={cpus} memory={memory}M gpus={gpus}"


def _gpus(text: str) -> int:
    """Return how many GPUs are in a list of generic resources: gpu:a100:4(S:0-1),gpu:2,nic:1."""
    counts = [one.partition("(")[0].split(":") for one in text.replace("),", ")|").replace(",gpu", "|gpu").split("|")]
    return sum(int(words[-1]) for words in counts if words[0] == "gpu" and words[-1].isdigit())
