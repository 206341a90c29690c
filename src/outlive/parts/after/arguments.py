"""What a caller may say of the jobs that a job waits for."""

from outlive.parts.after import AFTER, CHAIN, CHAIN_FILE
from outlive.verbs.spec import ITEMS, PATH, Arg

OF_JOB = (
    Arg(AFTER, ITEMS, "Start the job when this holds, all of it: JOB (it exited with code 0), {job, exit: 3}, or {job, and a "
        "condition of wait}. CLI: JOB, 'JOB exit=3', 'JOB port=5432', 'JOB regex=ready' and so on.", default=(),
        aliases=("depends_on",), metavar="JOB", hidden="mcp"),
)  # fmt: skip
OF_CHAIN = (
    Arg(CHAIN, ITEMS, "A chain in place of a command: jobs as {name, command, after: [names], and other arguments of exec}. "
        "Either all are started, or none.", cli="", hidden="mcp", stands_for="command"),
    Arg(CHAIN_FILE, PATH, "Start the jobs of a TOML file, in place of a command: tables [[jobs]] with name, command, after, and what "
        "else exec takes over MCP. Either all are started, or none.", mcp="", metavar="FILE", stands_for="command"),
)  # fmt: skip
