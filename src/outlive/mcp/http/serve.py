"""`outlive serve`: the MCP server of many clients over HTTP."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from outlive import config, limits, verbs
from outlive.config import Config
from outlive.errors import invalid
from outlive.launch.fork_server_client import Launcher, start
from outlive.mcp.caller import Caller, Request, session_of
from outlive.mcp.http import greeting
from outlive.mcp.http import listener as listener_module
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.offer import offered, process_verbs
from outlive.store.root import Store
from outlive.store.tokens import EVERYTHING, Tokens
from outlive.system import pid1 as first_process
from outlive.verbs.spec import GlobalOptions

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from outlive.mcp.http.allowed_hosts import AllowedHosts
    from outlive.mcp.tools.call import Calls

    # Takes the application for MCP, calls, store, tokens, hosts, and whether TLS is used
    Beside = Callable[[ASGIApp, Calls, Store, Tokens, AllowedHosts, bool], ASGIApp]


class Settings(NamedTuple):
    """What a server is started with. `beside` puts another application beside the one for MCP."""

    address: listener_module.Address
    keyfile: str | None
    allow_host: Sequence[str]
    prefix: str
    workdir: str | None
    tools: frozenset[str]
    answers: str | None
    stateless: bool
    options: GlobalOptions
    beside: Beside | None


def main(values: dict[str, Any], options: GlobalOptions, beside: Beside | None = None) -> int:
    """Serve until a signal ends the process. `values` are the arguments of the verb, `options` the
    global ones.

    Errors: invalid_argument, config_error, io_error, store_unsafe.
    """
    return _serve(_checked(values, options, beside))


def _checked(values: dict[str, Any], options: GlobalOptions, beside: Beside | None) -> Settings:
    """Return the arguments, checked against each other and with defaults. Errors:
    invalid_argument."""
    for name in ("host", "socket", "allow_host"):
        given = values[name]
        if "" in (given if isinstance(given, list) else [given]):
            raise invalid(name, f"--{name.replace('_', '-')} has an empty value", usage=True)
    if values["socket"] and (values["host"] or values["port"] is not None):
        raise invalid("socket", "--socket goes without --host and --port", usage=True)
    if values["keyfile"] and not values["certfile"]:
        raise invalid("keyfile", "--keyfile needs --certfile", usage=True)
    prefix = values["prefix"]
    if prefix and (not prefix.startswith("/") or prefix.endswith("/") or "?" in prefix or "#" in prefix):
        raise invalid("prefix", f"not the beginning of a path: {prefix}", hint="For example /outlive.", usage=True)
    if values["workdir"] and not os.path.isdir(values["workdir"]):
        raise invalid("workdir", f"not a directory: {values['workdir']}", usage=True)
    port = limits.SERVE_PORT if values["port"] is None else values["port"]
    where = {name: values[name] for name in ("host", "socket", "certfile", "plaintext")}
    names = ("keyfile", "allow_host", "prefix", "workdir", "answers", "stateless")
    return Settings(
        address=listener_module.Address(port=port, **where),
        tools=offered(values["tools"]),
        options=options,
        beside=beside,
        **{name: values[name] for name in names},
    )


def _serve(settings: Settings) -> int:
    first_process.leave_it()
    configuration = config.load(os.environ, settings.options.config)
    for line in configuration.ignored:
        greeting.log(line)
    ended_by: int | None = None
    try:
        with ExitStack() as stack:
            store = stack.enter_context(closing(Store.open(settings.options.root, os.environ)))
            tokens = Tokens(store)
            tokens.all()  # an error now, if they cannot be read
            listener = _listen(settings.address, stack)
            # Before the limit of open files is raised: jobs inherit the limit that we were given
            launcher = start()
            stack.callback(launcher.close)
            listener_module.more_files()
            ended_by = _run(settings, configuration, store, tokens, listener, launcher)
    except* _Terminated:
        ended_by = signal.SIGTERM
    sys.stderr.flush()
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    if ended_by is not None:
        signal.signal(ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), ended_by)
    os._exit(0)  # the interpreter would wait for a thread that walks thousands of files


class _Terminated(BaseException):
    """SIGTERM came while the server was being started."""


def _listen(address: listener_module.Address, stack: ExitStack) -> socket.socket:
    """Return the listening socket; `stack` closes it and deletes its file, and from here on
    SIGTERM runs `stack`."""

    def terminated(_number: int, _frame: FrameType | None) -> None:
        raise _Terminated

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGTERM, terminated)
    try:
        listener = listener_module.listen(address)
        if address.socket:
            stack.callback(_unlink, address.socket)
        stack.enter_context(listener)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    return listener


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


# --- serving ---------------------------------------------------------------------------------------------------------


def _run(
    settings: Settings,
    configuration: Config,
    store: Store,
    tokens: Tokens,
    listener: socket.socket,
    launcher: Launcher,
) -> int | None:
    """Serve until a signal comes, and return its number."""
    environment = JobEnvironment(os.environ)
    environment.start()
    gc.disable()  # as in `outlive mcp`
    import anyio  # late, as the next: loading the SDK takes long, and clients can connect meanwhile

    from outlive.mcp import server
    from outlive.mcp.http import app, logging, runner
    from outlive.mcp.http.allowed_hosts import LOCAL, AllowedHosts
    from outlive.mcp.tools.call import Calls, Tools

    gc.enable()
    gc.freeze()
    logging.keep_mistakes(greeting.log)
    tools = Tools(verbs.load("run"), process_verbs(), settings.tools, configuration)
    workdir = settings.workdir or configuration.get("serve", "workdir")
    calls = Calls(
        tools, configuration, environment, root=settings.options.root, launcher=launcher, directory=lambda env: workdir
    )
    try:
        hosts = AllowedHosts([*(name if ":" not in name else f"[{name}]" for name in LOCAL), *settings.allow_host])
    except ValueError as error:
        raise invalid("allow_host", str(error)) from error
    application: ASGIApp = app.app(
        server.build(
            calls,
            configuration,
            by_token,
            workdir_required=workdir is None,
            answers=settings.answers,
        ),
        tokens,
        hosts,
        stateless=settings.stateless,
        ended=calls.end_session,
        log=greeting.log,
        verbose=bool(settings.options.verbose),
    )
    certfile = settings.address.certfile
    if settings.beside is not None:
        application = settings.beside(application, calls, store, tokens, hosts, bool(certfile))
    serving = runner.server(
        application, lifespan=True, prefix=settings.prefix, certfile=certfile, keyfile=settings.keyfile
    )
    calls.is_stopping = lambda: serving.should_exit
    # An exception would be lost in the loop, whose callbacks raise none of ours
    signal.signal(signal.SIGTERM, serving.handle_exit)
    # Last of all: a token made before a fault was found would never be shown
    url = greeting.url(settings.address, listener)
    greeting.greet(
        url, greeting.client_url(url, settings.prefix, settings.allow_host), store, tokens, greeting.first_token(tokens)
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
    """Return the caller that a request's token names. What the client says of itself does not
    count."""
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
