"""The session of an agent host to which a command line belongs.

The host names its session in a variable of the shells and servers that it starts. A job that such a
shell starts is entered in the inbox of that session (`store/inbox.py`), which the session's MCP server and its
hooks read too: whichever comes first tells what happened, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from outlive.core.labels import SESSION_VARIABLE
from outlive.errors import invalid
from outlive.jobs.context import Context
from outlive.jobs.news import notices
from outlive.store.inbox import Inbox, family_of
from outlive.store.root import Store
from outlive.system import host_process


def answered(ctx: Context, answer: dict[str, object]) -> None:
    """Note that this answer of the command line was printed, and with it how its jobs ended."""
    if ctx.inbox is None:
        return
    receipt = notices.known(ctx, answer)
    if receipt is not None:
        receipt(True)
    ctx.inbox.close()


def of_window(store: Store, client: str, directories: Iterable[str]) -> list[Inbox]:
    """Return the inboxes of the client's window that called this process, whatever its session is called now,
    and of windows of this client in these directories that are closed."""
    families = {family_of(client, directory) for directory in directories}
    mine = host_process.own()
    inboxes = []
    for inbox in Inbox.every(store):
        host = inbox.host()  # None: of a shell, or of a server for several clients
        if host is None:
            continue
        is_left = inbox.name.partition(".")[0] in families and not host_process.is_there(host)
        if host == mine or is_left:
            inboxes.append(inbox)
    return inboxes


class News:
    def __init__(self, ctx: Context, session: str | None, window: Sequence[Inbox] = ()) -> None:
        """`window`: further inboxes of the caller (`of_window`). Errors: invalid_argument if no session is
        named."""
        session = session or ctx.env.get(SESSION_VARIABLE)
        if not session:
            hint = f"Claude Code names its own in {SESSION_VARIABLE}; give --session elsewhere."
            raise invalid("session", "no session is named", hint=hint, usage=True)
        self._inboxes = Inbox.all_of(ctx.store, session)
        known = {inbox.name for inbox in self._inboxes}
        self._inboxes += [inbox for inbox in window if inbox.name not in known]
        self._receipts = []
        self.notices: list[dict[str, object]] = []
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
