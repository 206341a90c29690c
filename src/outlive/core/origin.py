"""Where a job comes from: the part of its definition that decides who may reach it."""

from __future__ import annotations

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"  # in the shells and servers that a client starts for its agent


class Origin:
    """Scope, owner, directory and session of a job, as in `core/records.py`."""

    __slots__ = ("cwd", "owner", "scope", "session")

    def __init__(self, scope: str | None, owner: str, cwd: str, session: str | None) -> None:
        self.scope = scope
        self.owner = owner
        self.cwd = cwd
        self.session = session
