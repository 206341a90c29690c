"""Tell what happened to the jobs of a session."""

from __future__ import annotations

from outlive.answers.reading import Notices
from outlive.jobs.context import Context
from outlive.jobs.told.notices import of_session
from outlive.verbs.spec import STR, Arg, Verb


def notices(ctx: Context, *, session: str | None = None) -> Notices:
    """Return the notices that the session has not been told yet."""
    receipt = ctx.sent = of_session(ctx, session)
    return Notices(notices=receipt.notices)


NOTICES = Verb(
    "notices",
    "Show what happened to the jobs of an agent's session since the last report.",
    notices,
    group="Tell agents",
    args=(
        Arg("session", STR, "The session (default: what CLAUDE_CODE_SESSION_ID names).", metavar="ID"),
    ),
    result=Notices,
    detail="Each event is reported once, here or with the next answer of the session's MCP server, whichever comes first. `outlive "
    "hook` reports them to the agent by itself.",
)  # fmt: skip
