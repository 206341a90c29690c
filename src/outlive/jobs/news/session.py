"""The session of an agent host to which a command line belongs.

The host names its session in a variable of the shells and servers that it starts. A job that such a
shell starts is entered in the inbox of that session (`store/inbox.py`), which the session's MCP server and its
hooks read too: whichever comes first tells what happened, once.
"""

from __future__ import annotations

from outlive.core.origin import SESSION_VARIABLE
from outlive.errors import invalid
from outlive.jobs.news import notices
from outlive.store.inbox import Inbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def answered(ctx: Context, answer: dict[str, Any]) -> None:
    """Note that this answer of the command line was printed, and with it how its jobs ended."""
    if ctx.inbox is None:
        return
    receipt = notices.known(ctx, answer)
    if receipt is not None:
        receipt(True)
    ctx.inbox.close()


class News:
    """What happened to the jobs of a session since its last report."""

    def __init__(self, ctx: Context, session: str | None) -> None:
        """Errors: invalid_argument if no session is named."""
        session = session or ctx.env.get(SESSION_VARIABLE)
        if not session:
            hint = f"Claude Code names its own in {SESSION_VARIABLE}; give --session elsewhere."
            raise invalid("session", "no session is named", hint=hint, usage=True)
        self._inboxes = Inbox.all_of(ctx.store, session)
        self._receipts = []
        self.notices: list[dict[str, Any]] = []
        before = ctx.inbox
        for ctx.inbox in self._inboxes:
            of_directory, receipt = notices.collect(ctx)
            self.notices += of_directory
            self._receipts += [receipt] if receipt is not None else []
        ctx.inbox = before

    def sent(self, written: bool) -> None:
        """Note whether the notices were printed."""
        for receipt in self._receipts:
            receipt(written)
        for inbox in self._inboxes:
            inbox.close()
