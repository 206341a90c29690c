"""Run a finished job again, as a new one."""

from __future__ import annotations

from outlive.answers.starting import Started
from outlive.verbs import shared_args
from outlive.verbs.spec import ENV, JOB, Arg, Verb

VERB = Verb(
    "restart",
    "Run a finished job again, as a new job.",
    "outlive.verbs.restart:restart",
    args=(
        JOB,
        Arg(
            "env",
            ENV,
            "Variables to set or change; masked ones must be given again.",
            metavar="NAME=VALUE",
            hidden="mcp",
        ),
        shared_args.HOST,
        *shared_args.WAITING,
        *shared_args.SHOWN,
    ),
    result=Started,
)
