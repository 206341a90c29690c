"""Notify clients of changed resources: `resources/subscribe` up to protocol 2025-11-25,
`subscriptions/listen` since.

An update says only that the resource should be read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import anyio
from mcp import MCPError, types
from mcp.server.connection import Connection
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY

from outlive import limits
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.mcp import threads
from outlive.mcp.caller import Caller, Request
from outlive.mcp.extension import Front, Handler
from outlive.parts.push import follow
from outlive.parts.push.private_parts import connection_of
from outlive.parts.push.resources import EVENTS, OUTPUT, refusing, target_of
from outlive.store import history
from outlive.store.job_dir import JobDir

UPDATE_EVERY_S = 0.25  # updates of one resource are at least this far apart


class Subscriptions:
    """`resources/subscribe` and `resources/unsubscribe`, whose subscriptions end with their connection, and
    `subscriptions/listen`, whose end with their stream. Each subscription follows its resource by itself."""

    def __init__(self, front: Front) -> None:
        self._calls = front.calls
        self._caller_of = front.caller_of
        self._followed: Counter[str | None] = Counter()  # by wall: each side has a share of its own
        self._ends: dict[Connection, dict[str, Callable[[], None]]] = {}  # what ends each subscription, by URI

    def handlers(self) -> dict[str, Handler]:
        return {
            "resources/subscribe": Handler(types.SubscribeRequestParams, self.subscribe),
            "resources/unsubscribe": Handler(types.UnsubscribeRequestParams, self.unsubscribe),
        }

    async def subscribe(self, ctx: Request, params: types.SubscribeRequestParams) -> types.EmptyResult:
        connection = connection_of(ctx)
        if params.uri not in self._ends.get(connection, {}):
            end = self._begin(ctx, params.uri, partial(ctx.session.send_resource_updated, params.uri))
            if connection not in self._ends:
                self._ends[connection] = {}
                connection.exit_stack.callback(self._forget, connection)
            self._ends[connection][params.uri] = end
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Request, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        end = self._ends.get(connection_of(ctx), {}).pop(params.uri, None)
        if end is not None:
            end()
        return types.EmptyResult()

    def _forget(self, connection: Connection) -> None:
        for end in self._ends.pop(connection).values():
            end()

    async def listen(
        self,
        ctx: Request,
        params: types.SubscriptionsListenRequestParams,
        tasks: Mapping[str, Any] = {},
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Follow the resources that a stream asks for until it is closed. The acknowledgement, behind which `then` is
        called, names only what will be told: no lists, which we do not follow, and no job that does not exist. `tasks`
        is what it says besides."""
        acknowledged = anyio.Event()
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        ends: dict[str, Callable[[], None]] = {}

        async def tell(uri: str) -> None:
            await acknowledged.wait()
            about = types.ResourceUpdatedNotificationParams(uri=uri, _meta=meta)
            await ctx.session.send_notification(types.ResourceUpdatedNotification(params=about), ctx.request_id)

        try:
            for uri in dict.fromkeys(params.notifications.resource_subscriptions or ()):
                try:
                    ends[uri] = self._begin(ctx, uri, partial(tell, uri))
                except MCPError as error:
                    if error.error.code != types.INVALID_PARAMS:
                        raise
            honored = types.SubscriptionFilter(resource_subscriptions=list(ends) or None, **tasks)
            about = types.SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
            acknowledgement = types.SubscriptionsAcknowledgedNotification(params=about)
            await ctx.session.send_notification(acknowledgement, ctx.request_id)
            acknowledged.set()
            then()
            await anyio.sleep_forever()
        finally:
            for end in ends.values():
                end()

    def _begin(self, ctx: Request, uri: str, tell: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Follow a resource until what is returned is called. Errors: MCPError if the URI names no resource or no job,
        or if too many resources are followed."""
        caller = self._caller_of(ctx)
        target = target_of(uri)
        if self._followed[caller.wall] >= limits.FOLLOWED_RESOURCES:
            raise MCPError(types.INTERNAL_ERROR, f"{limits.FOLLOWED_RESOURCES} resources are followed already")
        with refusing(uri):
            job = lookup.open_by_id(self._calls.observer(caller), target.job)
        self._followed[caller.wall] += 1
        scope = anyio.CancelScope()
        ctx.lifespan_context.start_soon(threads.logged, self._follow, job, target.part, caller, tell, scope)
        return scope.cancel

    async def _follow(
        self, job: JobDir, part: str, caller: Caller, tell: Callable[[], Awaitable[None]], scope: anyio.CancelScope
    ) -> None:
        known: object = None
        try:
            with scope, job:
                changes = follow.changes(job, output=part == OUTPUT, every_s=UPDATE_EVERY_S)
                async with aclosing(changes):
                    async for _ in changes:
                        now, over = self._inspect(job, part, caller)
                        # A client reads the resource when it subscribes; but the job may have ended since then
                        if over if known is None else now != known:
                            await tell()
                        known = now
        finally:
            self._followed[caller.wall] -= 1

    def _inspect(self, job: JobDir, part: str, caller: Caller) -> tuple[object, bool]:
        """Return a value that differs after a change, and whether the job is over. A job that has lost its supervisor
        gets a new one by this."""
        if not job.is_in_place():
            return "removed", True
        try:
            inspection = adoption.inspect_and_adopt(self._calls.observer(caller), job)
            state = inspection.state
            if part == OUTPUT:
                return (job.log_size(0), job.log_size(1), state.finished), state.finished
            if part == EVENTS:
                return (history.size(job), state.state), state.finished
            return (state.to_dict(), inspection.definition.to_dict(), inspection.supervised), state.finished
        except (OSError, OutliveError):  # removed or damaged meanwhile
            return "unreadable", True
