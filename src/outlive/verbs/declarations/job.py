"""What a job is."""

from outlive.answers.job import Status
from outlive.core.records import READ
from outlive.verbs.spec import JOB, Verb

STATUS = Verb(
    "status",
    "Show what a job is and how it is doing.",
    "outlive.verbs.status:status",
    group="Read and wait",
    reports_end=True,
    args=(JOB,),
    right=READ,
    result=Status,
)
