"""Messages of `outlive serve` to the person who starts it: its URL, and the first token."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

from outlive.errors import OutliveError
from outlive.parts.http.listener import Address
from outlive.parts.http.tokens import Tokens
from outlive.store.root import Store

_FIRST = "first"  # name of the token that is made at the first start
_FIRST_FILE = ".first-token"


def first_token(tokens: Tokens) -> str | None:
    """Make a token where there is none, and return its secret; else None. Errors: config_error, io_error."""
    try:
        return None if tokens.all() else tokens.add(_FIRST)[1]
    except OutliveError:
        if tokens.all():
            return None  # another server has just made one, and shows it
        raise


def log(line: str) -> None:
    sys.stderr.write(f"outlive serve: {line}\n")
    sys.stderr.flush()


def url(address: Address, listener: socket.socket) -> str:
    scheme = "https" if address.certfile else "http"
    if address.socket:
        return f"{scheme}://localhost/mcp (socket {address.socket})"
    host, port = listener.getsockname()[:2]
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}:{port}/mcp"


def client_url(url: str, address: Address, prefix: str, names: Sequence[str]) -> str | None:
    """Return the URL for a client's configuration: behind a proxy it is not the one at which we listen. `names`: under
    which clients address this server. None: it is a socket, and a URL would lead to port 80, where any program may listen."""
    if prefix and names:
        return f"https://{names[0]}{prefix}/mcp"
    if address.socket:
        return None
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def greet(url: str, client_url: str | None, store: Store, tokens: Tokens, first: str | None) -> None:
    """Tell of the first token, then where the server listens: a reader of the second line finds the token."""
    if first is not None:
        _show(client_url, store, first)
    count = len(tokens.all())
    log(f"listening on {url}, SSE at /sse; root {store.path}; {count} token{'s' * (count != 1)}")


def _show(client_url: str | None, store: Store, first: str) -> None:
    if sys.stderr.isatty():
        log(f"a first token was made, named {_FIRST}. It is shown this once:\n\n{_snippet(client_url, first)}\n")
        return
    # Standard error that is no terminal is a log, and must not contain a token
    path = os.path.join(store.path, _FIRST_FILE)
    with suppress(FileNotFoundError):
        os.unlink(path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(_snippet(client_url, first) + "\n")
    log(f"a first token was made, named {_FIRST}. Client configuration: {path} (read it, then delete it)")


def _snippet(url: str | None, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    if url is None:
        return json.dumps({"headers": headers}, indent=2)
    entry = {"type": "http", "url": url, "headers": headers}
    return json.dumps({"mcpServers": {"outlive": entry}}, indent=2)
