"""What a caller may say of the ports of a job, and of a list."""

from outlive.parts.ports import PORTS
from outlive.verbs.spec import INT, STRS, Arg

OF_JOB = (
    Arg(PORTS, STRS, "Names of free ports for the job, such as web: they are its own while it lives, as PORT_WEB in its "
        "environment, {port:web} in the command, and in the answer. The same name in the same worktree gets the same port "
        "again.", default=(), cli="--port", aliases=("port",), section=PORTS, metavar="NAME",
        mcp_help="names: free ports, as PORT_NAME and {port:name}"),
)  # fmt: skip
OF_LIST = (
    Arg("port", INT, "Only the job that listens on this port or leases it, of any directory and client.", minimum=1,
        maximum=65_535, metavar="PORT", hidden="mcp"),
)  # fmt: skip
