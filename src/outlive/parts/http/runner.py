"""The HTTP server that `outlive serve` and `outlive ui` run."""

from __future__ import annotations

from functools import partial

import uvicorn
from starlette.types import ASGIApp

from outlive import limits
from outlive.errors import invalid
from outlive.mcp.private_parts import terminate_tls_with
from outlive.parts.http.connections import Connection, SecureConnection, Server


def server(
    application: ASGIApp,
    *,
    lifespan: bool,
    prefix: str = "",
    certfile: str | None = None,
    keyfile: str | None = None,
) -> Server:
    """Return a server of an application. `lifespan`: it wants to know of its start and end. Errors: invalid_argument
    for a certificate that cannot be read."""
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,  # it would log query strings
        proxy_headers=False,  # any client can send them
        server_header=False,
        date_header=False,
        root_path=prefix,
        ssl_certfile=certfile,
        ssl_keyfile=keyfile,
        h11_max_incomplete_event_size=limits.HTTP_HEADER_BYTES,
        timeout_keep_alive=int(limits.HTTP_IDLE_S),
        timeout_graceful_shutdown=limits.HTTP_SHUTDOWN_S,
    )
    try:
        config.load()
    except OSError as error:  # ssl.SSLError is one
        raise invalid("certfile", f"while reading the certificate: {error}") from error
    if config.ssl is not None:
        terminate_tls_with(config, lambda context: partial(SecureConnection, context))
    return Server(config)
