"""What a caller may say of what a job may reach."""

from __future__ import annotations

from outlive.core.records import GIT, NETWORKS, SANDBOXES
from outlive.verbs.spec import BOOL, STR, Arg

ARGUMENTS = (
    Arg("sandbox", STR, "What the job may change: read-only nothing, workspace-write the directory that outlive was started in "
        "and configured ones, off all that you may (default: the configuration's, off).", choices=SANDBOXES,
        section="sandbox", mcp_help="what it may write"),
    Arg("network", STR, "What the job reaches in a sandbox: none; loopback, a loopback of its own; open.", choices=NETWORKS,
        section="sandbox", mcp_help="in a sandbox"),
    Arg("git", STR, "In a sandbox: read keeps .git read-only; write lets the job commit, and then nothing keeps it from making "
        "the user's git run programs.", choices=GIT, section="sandbox", hidden="mcp"),
    Arg("elevated", BOOL, "Run outside the sandbox, where the configuration allows it.", default=False,
        section="sandbox", mcp_help=""),
)  # fmt: skip
