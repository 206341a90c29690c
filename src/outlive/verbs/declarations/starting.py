"""What starts a job, or defines one to start."""

from outlive.answers.starting import Created, Started
from outlive.core.records import EXEC
from outlive.verbs import shared_args
from outlive.verbs.spec import ENV, JOB, Arg, Verb

RUN = Verb(
    "run",
    "Start a command as a job. Answer when it has ended, or after a while with its output so far.",
    "outlive.verbs.run:run",
    group="Start",
    waits=True,
    args=(*shared_args.DEFINITION, *shared_args.with_those_of_parts(shared_args.WAITING), *shared_args.SHOWN),
    right=EXEC,
    result=Started,
    detail="One word is a shell string (sh -lc); two or more are a program and its arguments, run as they stand. "
    "The job goes on whatever happens to this command.",
)
CREATE = Verb(
    "create",
    "Define a job without starting it.",
    "outlive.verbs.start:create",
    group="Start",
    args=shared_args.DEFINITION,
    right=EXEC,
    result=Created,
)
START = Verb(
    "start",
    "Start a job that create defined.",
    "outlive.verbs.start:start",
    group="Start",
    waits=True,
    args=(JOB, *shared_args.WAITING, *shared_args.SHOWN),
    right=EXEC,
    result=Started,
)
RESTART = Verb(
    "restart",
    "Run a job again, as a new job; a running one is ended first.",
    "outlive.verbs.restart:restart",
    group="Start",
    waits=True,
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
        *shared_args.WAITING_AGAIN,
        *shared_args.SHOWN,
    ),
    right=EXEC,
    result=Started,
)
