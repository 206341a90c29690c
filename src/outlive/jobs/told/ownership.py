"""Whose a job is: for words and for titles. (Which jobs a caller may see at all: lookup.py.)

A job belongs to the session that started it: two windows of one client are two sessions. What an
ended session leaves belongs to every live session of the same client in the same directory. A
person, who has no session, may name every job.
"""

from __future__ import annotations

from typing import Protocol

from outlive.core.labels import SESSION_VARIABLE
from outlive.jobs.context import Context, Principal
from outlive.store.inbox import Inbox, has_connection


class Owned(Protocol):
    """What tells whose a job is (core/records.py, core/labels.py)."""

    @property
    def owner(self) -> str: ...
    @property
    def session(self) -> str | None: ...


_SHOWN_CHARS = 8


def session_of(caller: Principal) -> str | None:
    """Return the caller's session, by the name of its inbox; None for a person: in a shell that no
    agent started, or at the page."""
    if caller.inbox is not None:
        return caller.inbox.name
    if caller.face == "cli" and caller.env.get(SESSION_VARIABLE):
        inbox = Inbox.of_shell(caller.store, caller.env, caller.cwd)
        return None if inbox is None else str(inbox.name)
    return None


def is_own(ctx: Context, job: Owned) -> bool:
    """Return whether a job is the caller's own: of its session, or of an ended session of its client
    in its directory."""
    mine = session_of(ctx.caller)
    if mine is None:
        return True
    if job.session is None:
        return False
    return _is_same(mine, job.session) or follows(ctx, job.session)


def follows(ctx: Context, session: str) -> bool:
    """Return whether the caller's session goes on for this one: an ended one of its client in its
    directory."""
    mine = session_of(ctx.caller)
    return mine is not None and _family(mine) == _family(session) and _has_ended(ctx, session)


def whose(ctx: Context, job: Owned) -> str | None:
    """Return whose a job is, for a sentence; None if it is the caller's own."""
    if is_own(ctx, job):
        return None
    if job.session is None:
        return "the command line" if job.owner == "cli" else job.owner
    return _named(job.owner, job.session)


def actor(caller: Principal, job: Owned) -> str:
    """Return the name under which the end of a job is recorded that this caller asks for: it tells
    the session that lost the job from the session that ended it: both may have the same owner."""
    mine = session_of(caller)
    if mine is None or job.session is None or _is_same(mine, job.session):
        return caller.owner
    return _named(caller.owner, mine)


def shown(session: str | None) -> str | None:
    """Return the part of a session's name that answers show."""
    return None if session is None else session.partition(".")[2][:_SHOWN_CHARS]


def _named(owner: str, session: str) -> str:
    return f"{owner.partition('/')[0]} (session {shown(session)})"


def _family(session: str) -> str:
    """Return what the sessions of one client in one directory have in common."""
    return session.partition(".")[0]


def _is_same(one: str, other: str) -> bool:
    """Return whether two inboxes are of one session, which may have started jobs in several
    directories."""
    return one.partition(".")[2] == other.partition(".")[2]


def _has_ended(ctx: Context, session: str) -> bool:
    """Return whether a session has no live connection. What is so is found out once in a call."""
    ended = ctx.ended_sessions.get(session)
    if ended is None:
        ended = ctx.ended_sessions[session] = not has_connection(ctx.store, session)
    return ended
