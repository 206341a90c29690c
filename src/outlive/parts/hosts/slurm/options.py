"""Which options of sbatch(1) in a call only say what is allocated."""

from __future__ import annotations

from outlive.core.records import Definition
from outlive.parts import resources
from outlive.parts.resources import Resources

# Options of sbatch(1) that only say what is allocated. Others have Slurm run, load or write something: export, output
ALLOCATING = frozenset(
    "account begin clusters comment constraint contiguous cores-per-socket cpus-per-gpu deadline dependency exclude "
    "exclusive gpus-per-node gres licenses mem-per-cpu mem-per-gpu nodelist nodes ntasks ntasks-per-core ntasks-per-node "
    "oversubscribe partition prefer priority qos reservation sockets-per-node switches threads-per-core time time-min tmp "
    "wckey".split()
)
_OF_NODES = ("nodelist", "exclude")


def beside_command(definition: Definition) -> list[str]:
    """Return the options of a job by which Slurm may run, read or write something besides its command."""
    options = ((resources.of_job(definition) or Resources()).options or {}).items()
    # sbatch reads the file that a list of nodes with a slash names
    files = [name for name, value in options if name in _OF_NODES and "/" in str(value)]
    return [f"options.{name}" for name in (*(name for name, _ in options if name not in ALLOCATING), *files)]
