"""Tell what a job uses."""

from __future__ import annotations

from outlive.answers.reading import Used
from outlive.core.records import READ
from outlive.verbs.spec import JOB, Verb

VERB = Verb(
    "usage",
    "Show what a job uses: time, memory, processes, output.",
    "outlive.verbs.usage:usage",
    args=(JOB,),
    right=READ,
    result=Used,
    detail="Each figure names its source: cgroup is exact, rusage is the kernel's sum over ended processes, sampled "
    "is a look at the living ones, made by this call.",
)
