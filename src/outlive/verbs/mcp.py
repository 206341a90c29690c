"""Serve MCP to one client on stdin and stdout."""

from __future__ import annotations

from outlive.verbs.spec import ANSWERS, BOOL, TOOLS, Arg, Verb

VERB = Verb(
    "mcp",
    "Serve MCP on stdin and stdout, to the client that starts this command.",
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
    mcp=False,
    program=True,
    detail="Jobs outlive the server: they go on when the client closes it.",
)
