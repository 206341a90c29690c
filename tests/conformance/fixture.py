"""The server that the official conformance suite is run against: the product's own, with what the scenarios call added.

    python tests/conformance --serve 8931

The server object, its transport, capabilities, cache hints, resources, subscriptions and tasks are the product's. Laid over
it are tools, resources and prompts with the names that the suite knows; everything else goes on to the product's handler.
"""

from __future__ import annotations

import signal
import socket
import sys
import tempfile
import warnings
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp import MCPDeprecationWarning, types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from starlette.types import ASGIApp, Receive, Scope, Send

from conformance import asking, content, job_tools
from conformance.content import Request
from outlive.config import Config
from outlive.launch import fork_server_client
from outlive.mcp import server as outlive_server
from outlive.mcp.caller import Caller
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.call import Calls
from outlive.mcp.tools.offer import EXEC, PROCESS
from outlive.parts.http import app
from outlive.parts.http.allowed_hosts import AllowedHosts
from outlive.parts.http.connections import Connection
from outlive.parts.http.serving import by_token
from outlive.parts.http.tokens import EVERYTHING, Tokens
from outlive.store.root import Store

HOST = "127.0.0.1"
LOCAL_HOSTS = ("localhost", HOST, "[::1]")
CALLER = Caller("conformance", "token:conformance", f"token:{EVERYTHING}")
OFFERED = {one.tool.name: one for one in (*content.TOOLS, *asking.TOOLS)}


def http_app(server: Server[Any], store: Store) -> ASGIApp:
    """The HTTP face of a server: the product's, with its door. The suite has no way to show a token, so each of its
    requests gets one before it comes there."""
    tokens = Tokens(store)
    key = (b"authorization", f"Bearer {tokens.add(CALLER.owner, EVERYTHING)[1]}".encode())
    door = app.app(server, tokens, AllowedHosts(LOCAL_HOSTS))

    async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], key]}
        await door(scope, receive, send)

    return with_token


class Fixture:
    """The product's server with the suite's tools over it, and the jobs behind both."""

    def __init__(self, root: str, launcher: Any) -> None:
        # Scenarios compare the whole text of an answer: it has no word on how an earlier scenario's job ended
        found = Config({("exec", "notify_on_exit"): False}, None)
        self.environment = JobEnvironment({"PATH": "/usr/local/bin:/usr/bin:/bin"})
        offered = Tools((EXEC, PROCESS), found)
        self.calls = Calls(offered, found, self.environment, root=root, launcher=launcher)
        self.root = Path(root)
        self.server = outlive_server.build(self.calls, found, by_token)
        self.server.middleware.append(
            RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=CALLER.owner)
        )
        self._lay_over()

    def _lay_over(self) -> None:
        self._over("tools/list", self._list_tools)
        self._over("tools/call", self._call)
        self._over("tasks/get", self._task)
        self._over("resources/list", self._list_resources)
        self._over("resources/templates/list", self._list_templates)
        self._over("resources/read", self._read)
        self._over("resources/subscribe", self._subscribe)
        self._over("resources/unsubscribe", self._subscribe)
        add = self.server.add_request_handler
        add("prompts/list", types.PaginatedRequestParams, self._list_prompts)
        add("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        add("completion/complete", types.CompleteRequestParams, self._complete)
        add("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        more = {"prompts": {"listChanged": False}, "completions": {}, "logging": {}}
        self.server.declared = {**self.server.declared, **more}

    def _over(self, method: str, handle: Callable[[Request, Any, Any], Awaitable[Any]]) -> None:
        """`handle` gets what comes, and the product's handler as its third argument."""
        entry = self.server.get_request_handler(method)
        assert entry is not None, f"the product has no {method}"
        product = entry.handler

        async def over(ctx: Request, params: Any) -> Any:
            return await handle(ctx, params, product)

        self.server.add_request_handler(method, entry.params_type, over)

    async def _list_tools(self, ctx: Request, params: Any, product: Any) -> types.ListToolsResult:
        found: types.ListToolsResult = await product(ctx, params)
        ours = [*(one.tool for one in OFFERED.values()), *job_tools.TOOLS]
        return found.model_copy(update={"tools": [*found.tools, *ours]})

    async def _call(self, ctx: Request, params: types.CallToolRequestParams, product: Any) -> Any:
        if params.name in job_tools.JOBS:
            return await job_tools.called(ctx, params, product, self.root)
        if params.name in OFFERED:
            return await OFFERED[params.name].call(ctx, params)
        return await product(ctx, params)

    async def _task(self, ctx: Request, params: Any, product: Any) -> Any:
        return job_tools.judged(await product(ctx, params))

    async def _list_resources(self, ctx: Request, params: Any, product: Any) -> types.ListResourcesResult:
        found: types.ListResourcesResult = await product(ctx, params)
        return found.model_copy(update={"resources": [*found.resources, *content.RESOURCES]})

    async def _list_templates(self, ctx: Request, params: Any, product: Any) -> types.ListResourceTemplatesResult:
        found: types.ListResourceTemplatesResult = await product(ctx, params)
        return found.model_copy(update={"resource_templates": [*found.resource_templates, content.TEMPLATE]})

    async def _read(self, ctx: Request, params: types.ReadResourceRequestParams, product: Any) -> Any:
        found = content.resource(params.uri)
        return await product(ctx, params) if found is None else types.ReadResourceResult(contents=[found])

    async def _subscribe(self, ctx: Request, params: Any, product: Any) -> Any:
        """What never changes is never told of."""
        return await product(ctx, params) if content.resource(params.uri) is None else types.EmptyResult()

    async def _list_prompts(self, _ctx: Request, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[*content.PROMPTS, asking.PROMPT])

    async def _get_prompt(self, _ctx: Request, params: types.GetPromptRequestParams) -> Any:
        if params.name == asking.PROMPT.name:
            return asking.asked_prompt(params)
        return content.got_prompt(params.name, params.arguments or {})

    async def _complete(self, _ctx: Request, _params: Any) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))

    async def _set_level(self, _ctx: Request, _params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    async def end(self) -> None:
        """Kill and delete every job."""
        listed: dict[str, Any] = await self.calls.run(PROCESS, {"action": "list", "all": True, "limit": 0}, CALLER)
        for job in listed["jobs"]:
            await self.calls.run(PROCESS, {"action": "remove", "job_id": job["job_id"]}, CALLER)
        self.calls.close()


async def _serve(fixture: Fixture, port: int) -> None:
    """Serve until SIGINT or SIGTERM. The URL goes to stdout once the server listens there."""
    listener = socket.create_server((HOST, port))
    sys.stdout.write(f"http://{HOST}:{listener.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    with closing(Store.open(str(fixture.root), {})) as store:
        application = http_app(fixture.server, store)
        about = uvicorn.Config(application, http=Connection, ws="none", lifespan="on", log_level="warning")
        await uvicorn.Server(about).serve(sockets=[listener])
    await fixture.end()


def serve(port: int = 0) -> None:
    """Serve on this port of the loopback interface; 0: on any that is free."""
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # the scenarios of 2025-11-25 want logging and sampling
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn ends by them, and then raises them again
    # Closed first: a pair that waits may be making a directory for the next job
    with (
        tempfile.TemporaryDirectory(prefix="outlive-conformance-") as root,
        closing(fork_server_client.start()) as launcher,
    ):
        anyio.run(_serve, Fixture(root, launcher), port)
