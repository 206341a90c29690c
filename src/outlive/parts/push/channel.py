"""`--channel`: wake a client with `notifications/claude/channel` when one of its jobs ends or hits a watch. Nothing is
stored: a client that does not listen loses nothing, since its next call tells the same.
"""

from __future__ import annotations

from contextlib import aclosing, suppress

import anyio
from mcp import types
from mcp.server.session import ServerSession

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.members import entries_of, text_of
from outlive.core.records import FINISHED, READ
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.told import known_to_session, ownership
from outlive.mcp import threads
from outlive.mcp.caller import Caller, Request
from outlive.mcp.json_safe import encodable_members
from outlive.mcp.tools import sentences
from outlive.mcp.tools.call import Calls
from outlive.parts.push import CHANNEL, follow
from outlive.render import ends
from outlive.store import history
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

Answer = dict[str, object]

_CHANNEL_EVERY_S = 0.5  # a message waits this long for an answer that says the same

METHOD = f"notifications/{CHANNEL}"
REMOVED = "removed"  # instead of a state: the job does not exist


class _Followed:
    """A job whose end its client does not know yet. `signalled`: the client itself sent it a signal."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.scope = anyio.CancelScope()
        self.signalled = False
        self.offset = 0  # in its history, up to which events were read


class Channel:
    """Follows the jobs that clients start through this server, until each client knows of the end."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._followed: dict[tuple[Caller, str], _Followed] = {}

    def answered(self, ctx: Request, caller: Caller, answer: Answer) -> None:
        """Take note of an answer: an end that it tells needs no message."""
        if answer.get("deduplicated") and answer.get("state") not in FINISHED:
            self.begin(ctx, caller, text_of(answer, "job_id"))
        for job in (answer, *entries_of(answer, "jobs"), *entries_of(answer, "notices")):
            followed = self._followed.get((caller, str(job.get("job_id"))))
            if followed is None:
                continue
            if job.get("state") in FINISHED or (job is answer and answer["type"] == "remove"):
                followed.scope.cancel()
            elif job is answer and answer["type"] == "kill":
                followed.signalled = True

    def begin(self, ctx: Request, caller: Caller, job_id: str) -> None:
        if (caller, job_id) not in self._followed:
            followed = self._followed[caller, job_id] = _Followed(ctx.session)
            ctx.lifespan_context.start_soon(threads.logged, self._follow, caller, job_id, followed)

    async def _follow(self, caller: Caller, job_id: str, followed: _Followed) -> None:
        try:
            with followed.scope, suppress(OutliveError):  # the job is gone already
                await self._until_its_end(caller, job_id, followed)
        finally:
            self._followed.pop((caller, job_id), None)

    async def _until_its_end(self, caller: Caller, job_id: str, followed: _Followed) -> None:
        status: Answer = {}
        with lookup.open_by_id(self._calls.observer(caller), job_id) as job:
            async with aclosing(follow.changes(job, output=False, every_s=_CHANNEL_EVERY_S)) as changes:
                async for _ in changes:
                    now = await self._status(caller, job)
                    status |= now
                    if now["state"] == REMOVED:
                        break
                    await self._tell_hits(caller, status, job, followed)
                    if status["state"] in FINISHED:
                        break
            # Another session of the client has the same name as owner
            ctx = self._calls.observer(caller)
            inbox = ctx.inbox
            followed.signalled |= inbox is not None and job.job_id in inbox.killed
            # A call that waits for the job is answered in this moment; `answered` then cancels this
            # task
            await anyio.sleep(_CHANNEL_EVERY_S)
            asked = (
                (
                    status.get("ended_by") is not None
                    and status["ended_by"] == ownership.actor(ctx.caller, job.read_meta())
                )
                or status.get("reason") == "signal"
                or status.get("state") == REMOVED
            )
            if "name" in status and not (followed.signalled and asked):
                await self._send(followed.session, job, self._words(status, job), _meta(status, history.FINISHED))

    async def _status(self, caller: Caller, job: JobDir) -> Answer:
        """Return the answer of status, or the state REMOVED alone if the job was removed before or during the look."""
        try:
            status = await self._calls.show("status", caller, job_id=job.job_id)
        except OutliveError:
            if job.is_in_place():
                raise
            return {"state": REMOVED}
        return status if job.is_in_place() else {"state": REMOVED}

    def _words(self, status: Answer, job: JobDir) -> str:
        if status["state"] == REMOVED:
            return f"{_name(status)} was removed, with its output."
        return (
            f"{_name(status)}: {sentences.ending(status).rstrip('.')}.{self._last_line(job)} {self._next(job.job_id)}"
        )

    async def _tell_hits(self, caller: Caller, status: Answer, job: JobDir, followed: _Followed) -> None:
        """Send one message for all watch hits since the last look, except lines that the client has read itself."""
        ctx = self._calls.context(caller, READ, "this")
        fresh, followed.offset = history.read(job, offset=followed.offset)
        unread = known_to_session.seen(ctx, job)
        hits = [event for event in fresh if event["type"] == history.WATCH_HIT and event["seq"] >= unread]
        if not hits:
            return
        last = hits[-1]
        more = f", {len(hits)} times" if len(hits) > 1 else ""
        line = repr(self._calls.secrets.masked(str(last["line"]), job.job_id)[: limits.LAST_LINE_CHARS])
        words = f"{_name(status)} printed what {last['watch']} watches for{more}: {line}. {self._next(job.job_id)}"
        meta = {"watch": last["watch"], "seq": str(last["seq"]), "hits": str(len(hits))}
        await self._send(followed.session, job, words, _meta(status, history.WATCH_HIT) | meta)

    async def _send(self, session: ServerSession, job: JobDir, content: str, meta: dict[str, str]) -> None:
        params = self._calls.secrets.masked_members(encodable_members({"content": content, "meta": meta}), job.job_id)
        await session.send_notification(types.Notification[dict[str, object], str](method=METHOD, params=params))  # type: ignore[arg-type]

    def _last_line(self, job: JobDir) -> str:
        try:
            with Output(job) as output:
                last = self._calls.secrets.masked(ends.last_line(output) or "", job.job_id)
        except OSError:  # removed since it ended
            return ""
        return f" Last line: {last!r}." if last else " It printed nothing."

    def _next(self, job_id: str) -> str:
        if self._calls.tools.exec_alone:
            return f"`outlive log {short_id(job_id)}` in a shell shows its output."
        return f"process action=poll job_id={job_id} shows what is new."


def _name(status: Answer) -> str:
    return f"Job {status['short_id']} ({status['name']})"


def _meta(status: Answer, event: str) -> dict[str, str]:
    """Return the metadata of a message. Clients make attributes of it: names are plain, values are strings."""
    names = ("job_id", "name", "state", "reason", "exit_code", "signal")
    values = {name: status[name] for name in names if status.get(name) is not None}
    return {"event": event} | {name: str(value) for name, value in values.items()}
