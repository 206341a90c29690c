"""What a caller may say of the queue of a job, and of a list."""

from outlive.parts.queues import QUEUE
from outlive.parts.queues.asked import PRIORITIES
from outlive.verbs.spec import INT, STR, Arg

OF_JOB = (
    Arg(QUEUE, STR, "Start the job when the queue of this name, [queue.NAME] of the configuration, has a slot free; none: at "
        "once, whatever [exec] queue says.", metavar="NAME", hidden="mcp"),
    Arg("priority", INT, "Its place in the queue: before jobs with a lower one.", default=0, minimum=PRIORITIES[0],
        maximum=PRIORITIES[-1], metavar="N", hidden="mcp"),
)  # fmt: skip
OF_LIST = (
    Arg(QUEUE, STR, "Only the jobs that run or wait in this queue, in the order in which they started or will, of any directory "
        "and client.", metavar="NAME", hidden="mcp"),
)  # fmt: skip
