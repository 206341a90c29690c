"""Notify clients of changed resources: `resources/subscribe` up to protocol 2025-11-25,
`subscriptions/listen` since.

An update says only that the resource should be read again.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
from anyio.abc import TaskGroup
from mcp import MCPError, types
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from outlive import limits
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.mcp.caller import Caller, CallerOf, Request
from outlive.mcp.private_parts import connection_of
from outlive.mcp.push import follow
from outlive.mcp.push.resources import EVENTS, OUTPUT, place_of, refusing
from outlive.mcp.tools.call import Calls
from outlive.store import history
from outlive.store.job_dir import JobDir


class BackgroundTasks:
    """The lifespan of the SDK's server: the task group of what goes on between calls.

    The SDK enters a lifespan once for the server, and once more for each SSE stream. All of them
    share the group of the first, because what one client subscribed to may be followed for others
    too. The group ends with the server.
    """

    def __init__(self) -> None:
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def __call__(self, _server: Server[TaskGroup]) -> AsyncIterator[TaskGroup]:
        if self._group is not None:
            yield self._group
            return
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield group
            finally:
                self._group = None
                group.cancel_scope.cancel()


class _Follower:
    """The follower of one URI, for `holders` subscriptions."""

    def __init__(self) -> None:
        self.holders = 0
        self.scope: anyio.CancelScope | None = None  # None while nothing is followed


class Followers:
    """Follows each resource once for all its subscriptions, and publishes the changes on a bus. Each wall has a bus of
    its own: the same short URI may name different jobs on its two sides."""

    def __init__(self, calls: Calls) -> None:
        self._buses: dict[str | None, InMemorySubscriptionBus] = {}
        self._calls = calls
        self._held: dict[tuple[str | None, str], _Follower] = {}

    def bus(self, caller: Caller) -> InMemorySubscriptionBus:
        return self._buses.setdefault(caller.wall, InMemorySubscriptionBus())

    def hold(self, group: TaskGroup, uri: str, caller: Caller) -> None:
        """Follow a resource until it was released as often as held. A job that is over gets one update, and is not
        followed. Errors: MCPError if the URI names no resource or no job, or if too many resources are followed."""
        ctx = self._calls.observer(caller)
        with refusing(uri), lookup.open_by_id(ctx, place_of(uri).job) as job:
            inspection = adoption.inspect_and_adopt(ctx, job)
        followed = sum(wall == caller.wall for wall, _ in self._held)  # a share for each side of a wall
        if (caller.wall, uri) not in self._held and followed >= limits.FOLLOWED_RESOURCES:
            raise MCPError(types.INTERNAL_ERROR, f"{limits.FOLLOWED_RESOURCES} resources are followed already")
        follower = self._held.setdefault((caller.wall, uri), _Follower())
        follower.holders += 1
        if inspection.state.finished and not inspection.supervised:
            group.start_soon(self.bus(caller).publish, ResourceUpdated(uri))
        elif follower.scope is None:
            follower.scope = anyio.CancelScope()
            group.start_soon(self._follow, uri, caller, follower, follower.scope)

    def release(self, uri: str, caller: Caller) -> None:
        follower = self._held[caller.wall, uri]
        follower.holders -= 1
        if not follower.holders:
            del self._held[caller.wall, uri]
            if follower.scope is not None:
                follower.scope.cancel()

    async def _follow(self, uri: str, caller: Caller, follower: _Follower, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._publish_changes(uri, caller)
        except OutliveError:  # it was removed before this task ran
            await self.bus(caller).publish(ResourceUpdated(uri))
        except Exception:  # noqa: BLE001 - no subscription may end the server
            traceback.print_exc(file=sys.stderr)
        finally:
            if follower.scope is scope:
                follower.scope = None

    async def _publish_changes(self, uri: str, caller: Caller) -> None:
        place = place_of(uri)
        known: object = None
        with lookup.open_by_id(self._calls.observer(caller), place.job) as job:
            async with aclosing(
                follow.changes(job, output=place.part == OUTPUT, every_s=limits.UPDATE_EVERY_S)
            ) as changes:
                async for _ in changes:
                    now, over = self._inspect(job, place.part, caller)
                    # A client reads the resource when it subscribes; but the job may have ended
                    # since then
                    if over if known is None else now != known:
                        await self.bus(caller).publish(ResourceUpdated(uri))
                    known = now

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


class ListenRequests:
    """`subscriptions/listen`: follows what a stream asks for as long as the stream is open. The acknowledgement names
    only what will be told: no lists, which we do not follow, and no job that does not exist."""

    def __init__(self, followers: Followers, caller_of: CallerOf) -> None:
        self._followers = followers
        self._caller_of = caller_of
        self._handlers: dict[str | None, ListenHandler] = {}  # by wall

    async def __call__(
        self, ctx: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        caller = self._caller_of(ctx)
        held: list[str] = []
        try:
            for uri in dict.fromkeys(params.notifications.resource_subscriptions or ()):
                try:
                    self._followers.hold(ctx.lifespan_context, uri, caller)
                except MCPError as error:
                    if error.error.code != types.INVALID_PARAMS:
                        raise
                else:
                    held.append(uri)
            honest = types.SubscriptionFilter(resource_subscriptions=held)
            if caller.wall not in self._handlers:
                bus = self._followers.bus(caller)
                self._handlers[caller.wall] = ListenHandler(bus, max_subscriptions=limits.FOLLOWED_RESOURCES)
            return await self._handlers[caller.wall](ctx, params.model_copy(update={"notifications": honest}))
        finally:
            for uri in held:
                self._followers.release(uri, caller)


class _Subscription:
    """One resource and one client of the handshake era. One update that waits to be sent stands for all that came
    meanwhile."""

    def __init__(self, followers: Followers, caller: Caller, session: ServerSession, uri: str) -> None:
        self._followers = followers
        self._caller = caller
        self._session = session
        self._uri = uri
        self._scope = anyio.CancelScope()
        self._changed = anyio.Event()
        self._leave = followers.bus(caller).subscribe(
            self._take
        )  # at once: the first update may come before `run` does

    def _take(self, event: object) -> None:
        if event == ResourceUpdated(self._uri):
            self._changed.set()

    async def run(self) -> None:
        try:
            with self._scope:
                while True:
                    await self._changed.wait()
                    self._changed = anyio.Event()
                    await self._session.send_resource_updated(self._uri)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the client went away

    def end(self) -> None:
        self._scope.cancel()
        self._leave()
        self._followers.release(self._uri, self._caller)


class Subscriptions:
    """`resources/subscribe` and `resources/unsubscribe`. A subscription ends with its connection."""

    def __init__(self, followers: Followers, caller_of: CallerOf) -> None:
        self._followers = followers
        self._caller_of = caller_of
        self._of: dict[Connection, dict[str, _Subscription]] = {}

    async def subscribe(self, ctx: Request, params: types.SubscribeRequestParams) -> types.EmptyResult:
        connection = connection_of(ctx)
        if params.uri not in self._of.get(connection, {}):
            caller = self._caller_of(ctx)
            self._followers.hold(ctx.lifespan_context, params.uri, caller)
            if connection not in self._of:
                self._of[connection] = {}
                connection.exit_stack.callback(self._forget, connection)
            subscription = _Subscription(self._followers, caller, ctx.session, params.uri)
            self._of[connection][params.uri] = subscription
            ctx.lifespan_context.start_soon(subscription.run)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Request, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        subscription = self._of.get(connection_of(ctx), {}).pop(params.uri, None)
        if subscription is not None:
            subscription.end()
        return types.EmptyResult()

    def _forget(self, connection: Connection) -> None:
        for subscription in self._of.pop(connection, {}).values():
            subscription.end()
