"""The MCP server: our handlers on the SDK's low-level `Server`, which speaks the protocols of both
eras.

Handlers are async, and raise nothing but the error for an unknown tool. A client's timeout or
cancellation ends a call, a fault of ours becomes an answer, and neither touches a job.
"""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp import MCPError, types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import outlive
from outlive.errors import OutliveError
from outlive.mcp import instructions
from outlive.mcp.caller import on_stdio
from outlive.mcp.json_safe import encodable
from outlive.mcp.own_code import OwnCode, log_to_stderr
from outlive.mcp.push import progress, tasks
from outlive.mcp.push import subscriptions as subscriptions_module
from outlive.mcp.push.channel import CAPABILITY, Channel
from outlive.mcp.push.resources import Resources
from outlive.mcp.tools import schemas
from outlive.mcp.tools.call import EXEC, PROCESS, WAIT_ARGUMENTS, Calls, Tools, defaults_of
from outlive.mcp.tools.text import answers, sentences
from outlive.verbs import envelope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import NotificationOptions

    from outlive.config import Config
    from outlive.jobs.context import Context
    from outlive.mcp.caller import Caller, CallerOf
    from outlive.mcp.job_environment import JobEnvironment
    from outlive.mcp.tools.call import Alongside
    from outlive.verbs.spec import Verb

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"  # in the _meta of each request, from protocol 2026-07-28 on
_DAY_MS = 86_400_000
_BUG = "This is a bug in outlive; its log (stderr) has the details. Jobs are not affected."


class Handlers:
    """The handlers of tool calls and lists."""

    def __init__(self, calls: Calls, config: Config, caller_of: CallerOf, channel: Channel | None) -> None:
        self._calls = calls
        self._caller_of = caller_of
        self._channel = channel
        self._tools = tool_list(calls.tools, config)

    async def list_tools(
        self, _ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools)

    async def list_prompts(
        self, _ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in self._calls.tools.offers:
            known = ", ".join(sorted(self._calls.tools.offers))
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}. Tools: {known}.")
        caller = self._caller_of(ctx)
        found = await self._answer(ctx, params, caller)
        # An answer that becomes a task is not shown: its notices come with the next answer
        becomes_task = found.get("state") == "running" and params.name == EXEC and tasks.declared(ctx)
        notices = [] if becomes_task else self._calls.notices(caller, found.get("job_id"))
        found |= {"notices": notices} if notices else {}
        if self._channel is not None:
            self._channel.told(ctx, caller, found)
        return _result(found, process=PROCESS in self._calls.tools.offers)

    async def _answer(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams, caller: Caller
    ) -> dict[str, Any]:
        try:
            alongside, handle = self._alongside(ctx, caller), tasks.declared(ctx)
            return await self._calls.run(
                params.name, params.arguments or {}, caller, handle=handle, alongside=alongside
            )
        except OutliveError as error:
            if error.code == "internal_error":
                traceback.print_exc(file=sys.stderr)
            return envelope.failure(error)
        except Exception as error:  # noqa: BLE001 - the server outlives its own faults
            traceback.print_exc(file=sys.stderr)
            return envelope.failure(OutliveError("internal_error", f"{type(error).__name__}: {error}", hint=_BUG))

    def _alongside(self, ctx: ServerRequestContext[Any], caller: Caller) -> Alongside | None:
        """Return what notifies the client while a call runs, None if it wants no notifications."""
        report = progress.reporter(ctx)
        if report is None and self._channel is None:
            return None

        @asynccontextmanager
        async def alongside(verb: Verb, call: Context, args: dict[str, Any]) -> AsyncIterator[None]:
            async with AsyncExitStack() as stack:
                if self._channel is not None:
                    stack.enter_context(self._channel.starting(ctx, caller, verb, call))
                if report is not None:
                    await stack.enter_async_context(progress.reported(report, verb, call, args))
                yield

        return alongside


def tool_list(tools: Tools, config: Config) -> list[types.Tool]:
    """Return the tools for `tools/list`."""
    found = []
    if EXEC in tools.offers:
        without = WAIT_ARGUMENTS if tools.exec_alone else ()
        found.append(
            types.Tool(
                name=EXEC,
                title="Run a command",
                description=instructions.EXEC_ALONE_DESCRIPTION if tools.exec_alone else instructions.EXEC_DESCRIPTION,
                input_schema=schemas.of_verb(tools.run, defaults_of(tools.run, config), without=without),
                output_schema=schemas.of_answer(),
                annotations=_annotations(open_world=True),
            )
        )
    if PROCESS in tools.offers:
        found.append(
            types.Tool(
                name=PROCESS,
                title="Follow and control jobs",
                description=instructions.PROCESS_DESCRIPTION,
                input_schema=schemas.of_actions(tools.process, tools.run if EXEC in tools.offers else None),
                output_schema=schemas.of_answer(),
                annotations=_annotations(open_world=False),
            )
        )
    return found


def _annotations(*, open_world: bool) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=open_world
    )


class OutliveServer(Server[Any]):
    """Corrects the capabilities that the SDK derives, so that they are the same in every revision
    of the protocol.

    The SDK assumes that a server with `subscriptions/listen` notifies of changed lists; ours does
    so of resources only. And it leaves `experimental` out of `server/discover`.
    """

    experimental: dict[str, dict[str, Any]] | None = None

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        found = super().get_capabilities(
            notification_options,
            experimental_capabilities or self.experimental,
            extensions,
            protocol_version=protocol_version,
        )
        for part in (found.tools, found.prompts, found.resources):
            if part is not None:
                part.list_changed = False
        return found


def client_name(ctx: ServerRequestContext[Any]) -> str | None:
    """Return the client's name from the handshake, or from this request's own metadata."""
    if ctx.session.client_params is not None:
        return ctx.session.client_params.client_info.name
    # The SDK keeps neither name nor capabilities of a client that sends its name alone
    info: Any = (ctx.meta or {}).get(CLIENT_INFO)
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


def _result(found: dict[str, Any], *, process: bool) -> types.CallToolResult:
    safe = encodable(found)
    if not process and safe.get("hint"):
        safe["hint"] = sentences.without_process(safe["hint"])
    try:
        words = answers.render(safe, process=process)
    except Exception:  # noqa: BLE001 - the job may run: no fault in a sentence may hide that
        traceback.print_exc(file=sys.stderr)
        words = json.dumps(safe)
    return types.CallToolResult(
        content=[types.TextContent(text=words)],
        structured_content=safe,
        is_error=not safe["ok"],
    )


def build(
    calls: Calls,
    config: Config,
    env: Mapping[str, str],
    *,
    channel: bool = False,
    isolate: bool = False,
    caller_of: CallerOf | None = None,
    workdir_required: bool = False,
) -> Server[Any]:
    """Return the server, ready to run over any transport.

    `caller_of` tells the caller of a request. By default it is the client that started us, with the
    session or project in `env`; with `isolate` that client sees its own jobs only. `channel` adds
    `notifications/claude/channel`. `workdir_required`: each job has to say where it runs.
    """
    caller_of = caller_of or (lambda ctx: on_stdio(client_name(ctx), env, isolate=isolate))
    handlers = Handlers(calls, config, caller_of, Channel(calls) if channel else None)
    resources = Resources(calls, caller_of)
    followers = subscriptions_module.Followers(calls)
    subscriptions = subscriptions_module.Subscriptions(followers, caller_of)
    fixed = CacheHint(ttl_ms=_DAY_MS, scope="public")
    server = OutliveServer(
        "outlive",
        version=outlive.__version__,
        title="outlive",
        instructions=(instructions.WITH_EXEC_ALONE if calls.tools.exec_alone else instructions.INSTRUCTIONS)
        + (instructions.WITHOUT_DIRECTORY if workdir_required else ""),
        # For everything else the SDK's hint stands: private, stale at once
        cache_hints={"tools/list": fixed, "prompts/list": fixed, "resources/templates/list": fixed},
        lifespan=subscriptions_module.BackgroundTasks(),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_prompts=handlers.list_prompts,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_subscribe_resource=subscriptions.subscribe,
        on_unsubscribe_resource=subscriptions.unsubscribe,
        on_subscriptions_listen=subscriptions_module.ListenRequests(followers, caller_of),
    )
    if channel:
        server.experimental = {CAPABILITY: {}}
    result = partial(_result, process=PROCESS in calls.tools.offers)
    tasks.install(server, calls, result=result, caller_of=caller_of)
    return server


async def serve(server: Server[Any], environment: JobEnvironment) -> None:
    """Serve stdin and stdout until the client closes them."""
    server.middleware.append(OwnCode(log_to_stderr))
    async with anyio.create_task_group() as group:
        group.start_soon(environment.read_login_path)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()
