"""What a caller may say of what a job may use."""

from __future__ import annotations

from outlive.parts.resources import RESOURCES
from outlive.verbs.spec import OBJECT, Arg

ARGUMENTS = (
    Arg(RESOURCES, OBJECT, "What the job may use: memory=2G, cpu_time=10m, cpus=2, processes=200, nice=10. For other hosts "
        "also gpus and options.NAME.", cli="--resource", metavar="NAME=VALUE",
        mcp_help="{memory: 2G, cpu_time: 10m, cpus, processes, nice}"),
)  # fmt: skip
