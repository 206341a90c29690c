"""Start a job that create defined."""

from __future__ import annotations

from outlive.answers.starting import Started
from outlive.verbs import shared_args
from outlive.verbs.spec import JOB, Verb

VERB = Verb(
    "start",
    "Start a job that create defined.",
    "outlive.verbs.start:start",
    args=(JOB, *shared_args.WAITING, *shared_args.SHOWN),
    result=Started,
)
