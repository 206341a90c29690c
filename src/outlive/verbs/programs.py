"""Verbs of the command line alone."""

from outlive.answers.reading import Notices
from outlive.verbs.spec import ANSWERS, BOOL, STR, TOOLS, Arg, Verb

MCP = Verb(
    "mcp",
    "Serve MCP on stdin and stdout, to the client that starts this command.",
    group="Serve",
    program="outlive.mcp.stdio.main:main",
    args=(
        TOOLS,
        ANSWERS,
        Arg(
            "channel",
            BOOL,
            "Wake the client when one of its jobs ends or hits a watch, with notifications/claude/channel. Claude Code "
            "shows them if it was started with --channels, or during its preview with "
            "--dangerously-load-development-channels server:NAME, where NAME is this server's name in its configuration.",
            default=False,
        ),
        Arg(
            "isolate",
            BOOL,
            "Show this client only the jobs that it started over MCP. A client is known by the name it gives itself and "
            "the session or project in its environment. It can neither list nor read nor end the jobs of others.",
            default=False,
        ),
    ),
    detail="Jobs outlive the server: they go on when the client closes it.",
)
NOTICES = Verb(
    "notices",
    "Show what happened to the jobs of an agent's session since the last report.",
    "outlive.verbs.events:notices",
    group="Tell agents",
    args=(
        Arg("session", STR, "The session (default: what CLAUDE_CODE_SESSION_ID names).", metavar="ID"),
    ),
    result=Notices,
    detail="Each event is reported once, here or with the next answer of the session's MCP server, whichever comes first. `outlive "
    "hook` reports them to the agent by itself.",
)  # fmt: skip
