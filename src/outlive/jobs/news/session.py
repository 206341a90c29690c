"""The session of an agent host to which a command line belongs.

The host names its session in a variable of the shells and servers that it starts. A job that such a
shell starts is entered in the book of that session (`store/pending_notices.py`), which the
session's MCP server and its hooks read too: whichever comes first tells what happened, once.
"""

from __future__ import annotations

from outlive.core.ids import new_id
from outlive.errors import invalid
from outlive.jobs.news.notices import Notices
from outlive.store.pending_notices import Inbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.store.root import Store

VARIABLE = "CLAUDE_CODE_SESSION_ID"
_PROGRAM = "claude-code"
_DIRECTORY = "CLAUDE_PROJECT_DIR"


def inbox(store: Store, env: Mapping[str, str], cwd: str | None) -> Inbox:
    """Return the inbox of the session that `env` names, for one call of the command line."""
    directory = env.get(_DIRECTORY) or cwd
    return Inbox(store, _PROGRAM, directory, env[VARIABLE], new_id(), before=_PROGRAM)


def answered(ctx: Context, answer: dict[str, Any]) -> None:
    """Note that this answer of the command line was printed, and with it how its jobs ended."""
    if ctx.inbox is None:
        return
    note = Notices().known(ctx, answer)
    if note is not None:
        note(True)
    ctx.inbox.close()


class News:
    """What happened to the jobs of a session since it was last told."""

    def __init__(self, ctx: Context, session: str | None) -> None:
        """Errors: invalid_argument if no session is named."""
        session = session or ctx.env.get(VARIABLE)
        if not session:
            hint = f"Claude Code names its own in {VARIABLE}; give --session elsewhere."
            raise invalid("session", "no session is named", hint=hint, usage=True)
        self._inboxes = Inbox.of_session(ctx.store, session, new_id())
        self._notes = []
        self.notices: list[dict[str, Any]] = []
        before = ctx.inbox
        for ctx.inbox in self._inboxes:
            told, note = Notices().collect(ctx)
            self.notices += told
            self._notes += [note] if note is not None else []
        ctx.inbox = before

    def told(self, written: bool) -> None:
        """Note that the notices were told, or that they could not be."""
        for note in self._notes:
            note(written)
        for one in self._inboxes:
            one.close()
