"""The verb of what a job uses."""

from outlive.core.records import READ
from outlive.parts.limits.used import Used
from outlive.verbs.shared_args import with_those_of_parts
from outlive.verbs.spec import JOB, Verb

USAGE = Verb(
    "usage",
    "Show what a job uses: time, memory, processes, output.",
    "outlive.parts.limits.usage:usage",
    group="Read and wait",
    args=(*with_those_of_parts((JOB,)),),
    right=READ,
    result=Used,
    detail="Each figure names its source: cgroup is exact, rusage is the kernel's sum over ended processes, sampled "
    "is a look at the living ones, made by this call.",
)
