"""What `outlive serve` does once it listens: answer MCP over HTTP. Loading this loads the SDK."""

from __future__ import annotations

import signal
import socket

import anyio
import uvicorn
from starlette.types import ASGIApp

from outlive import parts
from outlive.config import Config
from outlive.core.object_reference import resolve_name
from outlive.errors import invalid
from outlive.launch.fork_server_client import Launcher
from outlive.mcp import server
from outlive.mcp.caller import Caller, Request, session_of
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.call import Calls
from outlive.parts.http import app, connections, greeting, logging
from outlive.parts.http.allowed_hosts import LOCAL, AllowedHosts
from outlive.parts.http.listener import Settings
from outlive.parts.http.tokens import EVERYTHING, Tokens
from outlive.store.root import Store


def run(
    settings: Settings,
    configuration: Config,
    store: Store,
    tokens: Tokens,
    listener: socket.socket,
    launcher: Launcher,
    environment: JobEnvironment,
) -> int | None:
    """Serve until a signal comes, and return its number."""
    logging.keep_mistakes(greeting.log)
    tools = Tools(settings.tools, configuration)
    workdir = settings.workdir or configuration.get("serve", "workdir")
    calls = Calls(
        tools, configuration, environment, root=settings.options.root, launcher=launcher, directory=lambda env: workdir
    )
    try:
        hosts = AllowedHosts([*(name if ":" not in name else f"[{name}]" for name in LOCAL), *settings.allow_host])
    except ValueError as error:
        raise invalid("allow_host", str(error)) from error
    application: ASGIApp = app.app(
        server.build(calls, configuration, by_token, workdir_required=workdir is None, answers=settings.answers),
        tokens,
        hosts,
        stateless=settings.stateless,
        ended=calls.end_session,
        log=greeting.log,
        verbose=bool(settings.options.verbose),
    )
    for part in parts.every():
        if part.beside_mcp:
            application = resolve_name(part.beside_mcp)(application, calls, tokens, hosts)
    certfile = settings.address.certfile
    serving = connections.server(
        application, lifespan=True, prefix=settings.prefix, certfile=certfile, keyfile=settings.keyfile
    )
    calls.is_stopping = lambda: serving.should_exit
    # An exception would be lost in the loop, whose callbacks raise none of ours
    signal.signal(signal.SIGTERM, serving.handle_exit)
    # Last of all: a token made before a fault was found would never be shown
    url = greeting.url(settings.address, listener)
    greeting.greet(
        url,
        greeting.client_url(url, settings.address, settings.prefix, settings.allow_host),
        store,
        tokens,
        greeting.first_token(tokens),
    )
    try:
        anyio.run(_until_stopped, serving, listener, environment)
    finally:
        calls.close()
    return serving.ended_by


async def _until_stopped(serving: uvicorn.Server, listener: socket.socket, environment: JobEnvironment) -> None:
    try:
        await serving.serve(sockets=[listener])
    finally:
        environment.close()


def by_token(ctx: Request) -> Caller:
    """Return the caller that a request's token names. What the client says of itself does not count."""
    assert ctx.request is not None
    user = ctx.request.user  # set by the token check
    (scope,) = user.access_token.scopes
    # No name of a token contains a colon, so no caller of another transport is called like this
    client = f"token:{user.username}"
    # A protocol without sessions has no connections either: then the token is the session
    session = session_of(ctx.meta) or ctx.request.headers.get("mcp-session-id") or client
    return Caller(
        user.username,
        client,
        f"token:{scope}",
        walled=scope != EVERYTHING,
        program=client,
        session=session,
        rights=user.access_token.rights,
    )
