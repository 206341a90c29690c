"""`outlive serve`: the MCP server of many clients over HTTP."""

from __future__ import annotations

import gc
import os
import socket
import sys
from contextlib import closing, suppress
from functools import partial

from outlive import limits
from outlive.errors import OutliveError, invalid
from outlive.mcp import flags
from outlive.mcp.http import greeting
from outlive.mcp.http import listener as listener_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import uvicorn
    from mcp.server.context import ServerRequestContext

    from outlive.config import Config
    from outlive.mcp.caller import Caller
    from outlive.mcp.job_environment import JobEnvironment
    from outlive.store.root import Store
    from outlive.store.tokens import Tokens

USAGE = f"""\
Usage: outlive serve [--host ADDRESS] [--port N] [OPTION…]
       outlive serve --socket PATH [OPTION…]

Serve MCP over HTTP: streamable HTTP at /mcp, SSE at /sse. Every request needs a token, as `Authorization: Bearer TOKEN`;
the first one is made at the first start, more with `outlive token add NAME`. Jobs outlive the server.

  --host ADDRESS      Where to listen (127.0.0.1). Anything but this machine itself needs --certfile, or --plaintext.
  --port N            The port ({limits.SERVE_PORT}); 0 takes a free one, and says which.
  --socket PATH       Listen on a Unix socket instead (mode 0600).
  --certfile PATH     Serve HTTPS with this certificate (PEM, with its chain).
  --keyfile PATH      Its key, if that is in a file of its own.
  --plaintext         Listen on other addresses without TLS: who can see the network can then read every token. For a
                      network that encrypts, or behind a proxy on another machine.
  --allow-host NAME   A name under which clients address this server, besides localhost and the address itself; again for
                      more. NAME:PORT allows that port only.
  --prefix PATH       What a reverse proxy has taken off the URL: /outlive.
  --workdir PATH      Where a job runs that names no directory. Without it each has to name one.
  --tools LIST        The tools to offer: exec, process, or both (default).
  --stateless         No sessions for clients of protocols before 2026-07-28: replicas over one root can share them, but they
                      cannot subscribe to resources.
  --root PATH         The job root, instead of OUTLIVE_ROOT or the platform's place.
  --config PATH       The configuration file, instead of the one in the configuration directory.
  -v, --verbose       Log a line for each request to stderr, without tokens.
  -h, --help          Print this help.
"""
_VALUES = (
    "--host",
    "--port",
    "--socket",
    "--certfile",
    "--keyfile",
    "--allow-host",
    "--prefix",
    "--workdir",
    "--tools",
    "--root",
    "--config",
)
_SWITCHES = ("--plaintext", "--stateless")


def main(argv: list[str], options: dict[str, Any]) -> int:
    """`options`: the global options given before the verb. Errors: config_error, io_error, store_unsafe."""
    try:
        asked = flags.read("serve", argv, _VALUES, _SWITCHES, options, repeated=("--allow-host",))
        if asked is None:
            os.write(1, USAGE.encode())
            return 0
        _check(asked)
    except OutliveError as error:
        return flags.usage_error(error, USAGE)
    return _serve(asked, verbose=bool(options.get("verbose")))


def _check(asked: dict[str, Any]) -> None:
    """Errors: invalid_argument."""
    asked["tools"] = flags.tools(asked["tools"])
    port = asked["port"]
    if port is not None and not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise invalid("port", f"not a port: {port}", hint="A number from 0 to 65535.", usage=True)
    asked["port"] = limits.SERVE_PORT if port is None else int(port)
    if asked["socket"] and (asked["host"] or port is not None):
        raise invalid("socket", "--socket goes without --host and --port", usage=True)
    if asked["keyfile"] and not asked["certfile"]:
        raise invalid("keyfile", "--keyfile needs --certfile", usage=True)
    prefix = asked["prefix"] or ""
    if prefix and (not prefix.startswith("/") or prefix.endswith("/") or "?" in prefix or "#" in prefix):
        raise invalid("prefix", f"not the beginning of a path: {prefix}", hint="As in /outlive.", usage=True)
    asked["prefix"] = prefix
    if asked["workdir"]:
        asked["workdir"] = _directory("workdir", asked["workdir"])


def _directory(field: str, path: str) -> str:
    if not os.path.isdir(path):
        raise invalid(field, f"not a directory: {path}", usage=True)
    return os.path.abspath(path)


def _serve(asked: dict[str, Any], *, verbose: bool) -> int:
    from outlive import config
    from outlive.launch.fork_server_client import start
    from outlive.store.root import Store
    from outlive.store.tokens import Tokens
    from outlive.system import pid1 as first_process

    first_process.leave_it()
    found = config.load(os.environ, asked["config"])
    with closing(Store.open(asked["root"], os.environ)) as store:
        tokens = Tokens(store)
        tokens.all()  # whether they can be read
        listener = listener_module.listen(asked)
        # Before more open files are asked for: jobs get what we were given
        launcher = start()
        listener_module.more_files()
        try:
            _run(asked | {"verbose": verbose}, found, store, tokens, listener, launcher)
        finally:
            launcher.close()
            listener.close()
            if asked["socket"]:
                with suppress(OSError):
                    os.unlink(asked["socket"])
    sys.stderr.flush()
    os._exit(0)  # a thread that walks thousands of files would be waited for


# --- serving ---------------------------------------------------------------------------------------------------------


def _run(
    asked: dict[str, Any],
    found: Config,
    store: Store,
    tokens: Tokens,
    listener: socket.socket,
    launcher: Any,
) -> None:
    from outlive.mcp.job_environment import JobEnvironment

    environment = JobEnvironment(os.environ)
    environment.start()
    gc.disable()  # as in `outlive mcp`
    import anyio

    from outlive import verbs
    from outlive.mcp import server
    from outlive.mcp.http import app, logging
    from outlive.mcp.http.auth import LOCAL, AllowedHosts
    from outlive.mcp.tools.call import Calls, Tools, process_verbs

    gc.enable()
    gc.freeze()
    logging.keep_mistakes(greeting.log)
    tools = Tools(verbs.load("run"), process_verbs(), asked["tools"], found)
    workdir = asked["workdir"] or found.get("serve", "workdir")
    calls = Calls(tools, found, environment, root=asked["root"], launcher=launcher, directory=lambda env: workdir)
    try:
        hosts = AllowedHosts([*(name if ":" not in name else f"[{name}]" for name in LOCAL), *asked["allow-host"]])
    except ValueError as error:
        raise invalid("allow-host", str(error)) from error
    application = app.app(
        server.build(calls, found, os.environ, caller_of=by_token, workdir_required=workdir is None),
        tokens,
        hosts,
        stateless=asked["stateless"],
        log=greeting.log,
        verbose=asked["verbose"],
    )
    serving = _serving(asked, application)
    # Last of all: a token that was made before a mistake was found would be shown to nobody, ever
    url = greeting.url(asked, listener)
    greeting.greet(url, greeting.client_url(asked, url), store, tokens, greeting.first_token(tokens))
    try:
        anyio.run(_until_stopped, serving, listener, environment)
    finally:
        calls.close()


def _serving(asked: dict[str, Any], application: Any) -> uvicorn.Server:
    """Errors: invalid_argument for a certificate that cannot be read."""
    import uvicorn

    from outlive.mcp.http.connections import Connection, SecureConnection, Server

    found = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,  # it would log query strings
        proxy_headers=False,  # whose claim is it?
        server_header=False,
        date_header=False,
        root_path=asked["prefix"],
        ssl_certfile=asked["certfile"],
        ssl_keyfile=asked["keyfile"],
        h11_max_incomplete_event_size=limits.HTTP_HEADER_BYTES,
        timeout_keep_alive=int(limits.HTTP_IDLE_S),
        timeout_graceful_shutdown=limits.HTTP_SHUTDOWN_S,
    )
    try:
        found.load()
    except OSError as error:  # ssl.SSLError is one
        raise invalid("certfile", f"while reading the certificate: {error}") from error
    if found.ssl is not None:
        found.http_protocol_class = partial(SecureConnection, found.ssl)  # type: ignore[assignment]  # it is only called
        found.ssl = None
    return Server(found)


async def _until_stopped(serving: uvicorn.Server, listener: socket.socket, environment: JobEnvironment) -> None:
    import anyio

    async with anyio.create_task_group() as group:
        group.start_soon(environment.read_login_path)
        await serving.serve(sockets=[listener])
        group.cancel_scope.cancel()


def by_token(ctx: ServerRequestContext[Any]) -> Caller:
    """The caller as its token names it; what the client says of itself does not count here."""
    from outlive.mcp.caller import Caller
    from outlive.store.tokens import EVERYTHING

    user: Any = ctx.request.user  # type: ignore[union-attr]  # put there by the door, which lets nobody in without
    (scope,) = user.access_token.scopes
    # No name holds a colon: what a client of another kind of door is called is never one of these
    return Caller(user.username, f"token:{user.username}", f"token:{scope}", walled=scope != EVERYTHING)
