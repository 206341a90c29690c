"""What a caller may say of the jobs that a job waits for."""

from outlive.parts.after import AFTER
from outlive.verbs.spec import ITEMS, Arg

OF_JOB = (
    Arg(AFTER, ITEMS, "Start the job when this holds, all of it: JOB (it exited with code 0), {job, exit: 3}, or {job, and a "
        "condition of wait}. CLI: JOB, 'JOB exit=3', 'JOB port=5432', 'JOB regex=ready' and so on.", default=(),
        aliases=("depends_on",), metavar="JOB", hidden="mcp"),
)  # fmt: skip
