"""What a caller may say of groups."""

from outlive.parts.groups import GROUP
from outlive.verbs.spec import STR, Arg

OF_JOB = (
    Arg(GROUP, STR, "Name of a group of jobs that the job is in: wait, list, log, usage, kill and remove take it in place of "
        "a job.", metavar="NAME", hidden="mcp"),
)  # fmt: skip
OF_JOBS = (
    Arg(GROUP, STR, "The jobs of yours that are in this group (CLI: of this directory).", metavar="NAME", hidden="mcp",
        stands_for="job"),
)  # fmt: skip
