"""Start a command as a job."""

from __future__ import annotations

from outlive.answers.starting import Started
from outlive.verbs import shared_args
from outlive.verbs.spec import Verb

VERB = Verb(
    "run",
    "Start a command as a job. Answer when it has ended, or after a while with its output so far.",
    "outlive.verbs.run:run",
    args=(*shared_args.DEFINITION, *shared_args.WAITING, *shared_args.SHOWN),
    result=Started,
    detail="One word is a shell string (sh -lc); two or more are a program and its arguments, run as they stand. "
    "The job goes on whatever happens to this command.",
)
