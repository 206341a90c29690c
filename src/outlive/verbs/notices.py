"""Tell what happened to the jobs of a session."""

from __future__ import annotations

from outlive.verbs.spec import STR, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def notices(ctx: Context, *, session: str | None = None) -> dict[str, Any]:
    """Return the notices that the session has not been told yet."""
    from outlive.jobs.news.session import News

    news = News(ctx, session)
    ctx.sent = news.told
    return {"notices": news.notices}


VERB = Verb(
    "notices",
    "Tell what happened to the jobs of an agent's session since it was last told.",
    notices,
    args=(
        Arg("session", STR, "The session (default: what CLAUDE_CODE_SESSION_ID names).", metavar="ID"),
    ),
    result="notices",
    detail="Each is told once, here or with the next answer of the session's MCP server, whichever comes first. `outlive "
    "hook` tells them to the agent by itself.",
    mcp=False,
)  # fmt: skip
