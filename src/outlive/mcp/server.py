"""The MCP server: our handlers on the SDK's low-level `Server`, which speaks the protocols of both eras. Handlers raise
nothing but the error for an unknown tool. A client's timeout or cancellation ends a call, a fault of ours becomes an
answer, and neither touches a job."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp import MCPError, types
from mcp.server.caching import CacheHint
from mcp.server.context import HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from outlive import parts
from outlive.answers import advice
from outlive.config import Config
from outlive.core.object_reference import resolve_name
from outlive.errors import OutliveError
from outlive.mcp import private_parts, shown, threads
from outlive.mcp.caller import DELIVERY, CallerOf, Request, client_of, on_stdio
from outlive.mcp.extension import Answer, Call, Extension, Front, Handler, Instead
from outlive.mcp.introduction import TOOLS_CACHE, Introduction
from outlive.mcp.json_safe import encodable_members
from outlive.mcp.masking import Masking
from outlive.mcp.tools import answer_text, listing
from outlive.mcp.tools.call import Around, Calls
from outlive.mcp.tools.offer import PROCESS
from outlive.system.waiting import in_turn
from outlive.verbs import envelope
from outlive.verbs.spec import BRIEF, FULL


class BackgroundTasks:
    """The lifespan of the SDK's server: the task group of what goes on between calls. The SDK enters a lifespan once for
    the server, and once more for each SSE stream; all of them share the group of the first, which ends with the
    server."""

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


_LARGE_CHARS = 65_536  # of an answer that is rendered in a thread: it would keep all other calls waiting
_BUG = "This is a bug in outlive; its log (stderr) has the details. Jobs are not affected."


class Handlers:
    """The handlers of tool calls and lists."""

    def __init__(
        self,
        calls: Calls,
        caller_of: CallerOf,
        results: Results,
        extensions: Sequence[Extension],
        *,
        workdir_required: bool,
    ) -> None:
        self._calls = calls
        self._results = results
        self._workdir_required = workdir_required
        self._caller_of = caller_of
        self._extensions = extensions

    async def list_tools(self, ctx: Request, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        rights = self._caller_of(ctx).rights
        audience = listing.Audience(
            output_schema=shown.has_output_schema(client_of(ctx), self._results.answers),
            level=rights.level,
            limited=("sandbox",) if rights.sandbox is not None else (),
            capabilities=capabilities_of(ctx),
            workdir_required=self._workdir_required,
        )
        tools = listing.tools(self._calls.tools.offers, self._calls.config, audience)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools])

    async def call_tool(self, ctx: Request, params: types.CallToolRequestParams) -> HandlerResult:
        for extension in self._extensions:
            if params.name in extension.tools:
                return await extension.call(params, self._caller_of(ctx))
        if params.name not in self._calls.tools.offers:
            known = ", ".join(sorted(self._calls.tools.offers))
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}. Tools: {known}.")
        caller = self._caller_of(ctx)
        call = Call(ctx, params, caller)
        answer = await self._ran(call, self._extensions, Around())
        if isinstance(answer, Instead):
            self._note(ctx, answer.sent)
            return answer.result
        sent = self._calls.notices(caller, answer)
        answer |= {"notices": sent.notices} if sent.notices else {}
        for extension in self._extensions:
            extension.answered(call, answer)
        detail = self._calls.tools.detail(params.arguments or {})
        made = partial(self._results.of, answer, client_of(ctx), detail=detail, capabilities=capabilities_of(ctx))
        try:
            few = sum(len(value) for value in answer.values() if isinstance(value, str)) < _LARGE_CHARS
            result = made() if few else await threads.run(partial(in_turn, made), caller=caller.owner)
        except BaseException:  # the call was cancelled
            sent(False)
            raise
        self._note(ctx, sent)
        return result

    def _note(self, ctx: Request, sent: Callable[[bool], None] | None) -> None:
        """Have `sent` called when the answer has been written, or never will be. Nothing is waited for from here to the
        end of the handler."""
        if not sent:
            return
        if private_parts.is_cancelled(ctx):  # it crossed the answer, which the SDK drops
            sent(False)
        elif ctx.request is None and ctx.request_id is not None:
            self._calls.when_sent(ctx.request_id, sent)
        elif ctx.request is not None:
            ctx.request.scope["state"][DELIVERY].when_over(ctx.request_id, sent)

    async def _ran(self, call: Call, extensions: Sequence[Extension], around: Around) -> Answer | Instead:
        """Return the answer of a call, which goes through these extensions."""
        if extensions:
            return await extensions[0].run(call, around, partial(self._ran, call, extensions[1:]))
        return await self._answer(call, around)

    async def _answer(self, call: Call, around: Around) -> Answer:
        ctx, params = call.ctx, call.params
        try:
            if around.goes_on is not None:
                return await around.goes_on()
            within = around.changed(
                cancelled=partial(self._is_cancelled, ctx), start_soon=ctx.lifespan_context.start_soon
            )
            return await self._calls.run(params.name, params.arguments or {}, call.caller, within)
        except OutliveError as error:
            if error.code == "internal_error":
                traceback.print_exc(file=sys.stderr)
            return envelope.failure(error)
        except Exception as error:  # noqa: BLE001 - the server outlives its own faults
            traceback.print_exc(file=sys.stderr)
            return envelope.failure(OutliveError("internal_error", f"{type(error).__name__}: {error}", hint=_BUG))

    def _is_cancelled(self, ctx: Request) -> bool:
        """Return whether the client has taken back the call whose handler is being cancelled."""
        if ctx.request is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return not self._calls.is_stopping()  # its request was dropped, which is how it is done there
        return private_parts.is_cancelled(ctx)


class OutliveServer(Server[TaskGroup]):
    """Says of itself what the introduction declares, and not what the SDK derives from handlers. The SDK assumes that a
    server with `subscriptions/listen` notifies of changed lists; ours does so of resources only. And it leaves
    `experimental` out of `server/discover`."""

    declared: Mapping[str, object]

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, object]] | None = None,
        extensions: dict[str, dict[str, object]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        return types.ServerCapabilities.model_validate(self.declared)


def capabilities_of(ctx: Request) -> dict[str, object]:
    """Return the capabilities of the client that parts know."""
    capabilities = ctx.session.client_capabilities
    return {} if capabilities is None else {"extensions": capabilities.extensions}


def _is_read(capabilities: Mapping[str, object]) -> bool:
    """Return whether a client with these capabilities reads the object of an answer in `_meta`."""
    return any(reads(capabilities) for reads in parts.functions("reads_object"))


class Results:
    """Makes results of tool calls of full answers. `answers`: what they are sent as (shown.py); None leaves it to the name
    of the client."""

    def __init__(self, calls: Calls, answers: str | None) -> None:
        self._calls = calls
        self.answers = answers

    def of(
        self,
        answer: dict[str, object],
        client: str | None,
        *,
        detail: str = BRIEF,
        capabilities: Mapping[str, object] = {},
    ) -> types.CallToolResult:
        """Return the result for the client of this name. The text says the same in both sizes, unless it is all that is
        sent: then the text of a full answer has its members too, and a program finds the object in `_meta`.
        `capabilities`: of the client."""
        process = PROCESS in self._calls.tools.offers
        safe = self._calls.secrets.masked_answer(encodable_members(answer))
        if not process:
            advice.leave_out_kill(safe)
        sized = envelope.sized(safe, detail)
        sent_as = (shown.answers_of if safe["ok"] else shown.error_of)(client, self.answers)
        alone = sent_as == shown.TEXT
        members, job_word = sized if alone and detail == FULL else None, shown.job_word(client)
        try:
            words = (
                json.dumps(sized)
                if sent_as == shown.JSON
                else answer_text.render(safe, process=process, members=members, job_word=job_word)
            )
        except Exception:  # noqa: BLE001 - the job may run: no fault in a sentence may hide that
            traceback.print_exc(file=sys.stderr)
            words = json.dumps(safe)
        return types.CallToolResult(
            content=[types.TextContent(text=words)],
            structured_content=None if alone else sized,
            is_error=not safe["ok"],
            _meta={shown.ANSWER: sized} if alone and (shown.in_meta(client) or _is_read(capabilities)) else None,
        )


def of_client(env: Mapping[str, str], *, isolate: bool) -> CallerOf:
    """Return what tells the caller of a request: the client that started us, with the session or project in `env`. With
    `isolate` that client sees its own jobs only."""
    return lambda ctx: on_stdio(client_of(ctx), env, isolate=isolate, meta=ctx.meta)


def build(
    calls: Calls,
    config: Config,
    caller_of: CallerOf,
    *,
    channel: bool = False,
    workdir_required: bool = False,
    answers: str | None = None,
) -> OutliveServer:
    """Return the server, ready to run over any transport. `caller_of` tells the caller of a request. `channel`: parts
    wake the model of the client. `workdir_required`: each job has to say where it runs. `answers`: what answers are
    sent as (shown.py); None leaves it to the name of the client."""
    results = Results(calls, answers)
    front = Front(calls, caller_of, results.of, channel)
    extensions: list[Extension] = [resolve_name(part.extension)(front) for part in parts.every() if part.extension]
    handlers = Handlers(calls, caller_of, results, extensions, workdir_required=workdir_required)
    about = Introduction(calls.tools.offers, channel=channel, workdir_required=workdir_required)
    server = OutliveServer(
        about.server["name"],
        title=about.server["title"],
        version=about.server["version"],
        instructions=about.instructions,
        cache_hints={
            "tools/list": CacheHint(*TOOLS_CACHE)
        },  # for everything else the SDK's hint: private, stale at once
        lifespan=BackgroundTasks(),
        on_list_tools=handlers.list_tools,
    )
    server.declared = about.capabilities
    # What may be answered with something else than a result, which the arguments above do not know
    call_tool = partial(_with_masked_errors, calls.secrets, handlers.call_tool)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    of_method: dict[str, list[Handler]] = {}
    for extension in extensions:
        for method, handler in extension.handlers().items():
            of_method.setdefault(method, []).append(handler)
    for method, several in of_method.items():
        answer = partial(_first_answer, several)
        server.add_request_handler(method, several[0].params, partial(_with_masked_errors, calls.secrets, answer))
    return server


async def _with_masked_errors(
    secrets: Masking, answer: Callable[[Request, Any], Awaitable[HandlerResult]], ctx: Request, params: Any
) -> HandlerResult:
    """Answer a request; an error of the protocol quotes what a client is not shown as little as an answer does."""
    try:
        return await answer(ctx, params)
    except MCPError as error:
        about = error.error
        data = secrets.masked_members(about.data, about.data) if isinstance(about.data, dict) else about.data
        raise MCPError(about.code, secrets.masked(about.message, about.data), data) from error


async def _first_answer(handlers: Iterable[Handler], ctx: Request, params: types.RequestParams) -> HandlerResult:
    for handler in handlers:
        result = await handler.answer(ctx, params)
        if result is not None:
            return result
    raise MCPError(types.INVALID_PARAMS, f"Nothing here answers this request of {ctx.method}.")
