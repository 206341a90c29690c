"""The host names under which an HTTP server may be addressed: the defence against DNS rebinding."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import Scope

from outlive import limits

LOCAL = ("localhost", "127.0.0.1", "::1")


class AllowedHosts:
    """The names under which this server may be addressed. A foreign page whose own name was pointed to this address
    (DNS rebinding) uses another one."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take hosts with or without a port. Errors: ValueError names what is no host."""
        self._known = {_split(name) for name in names}

    def allows(self, host: str, local: str | None) -> bool:
        """Return whether a Host header may have this value. `local` is the address at which the connection came in,
        None for a Unix socket."""
        try:
            name, port = _split(host)
        except ValueError:
            return False
        return (
            (name, None) in self._known or (name, port) in self._known or (local is not None and name == _plain(local))
        )

    def allows_origin(self, origin: str, local: str | None) -> bool:
        """Return whether a page of this origin may call: only if one of our hosts could have served it."""
        scheme, mark, host = origin.partition("://")
        return bool(mark) and scheme in ("http", "https") and self.allows(host, local)


def fault_of(scope: Scope, hosts: AllowedHosts) -> tuple[int, str] | None:
    """Return status and sentence of the refusal of a request that no server of ours takes; None if it may pass."""
    headers = scope["headers"]
    if sum(len(name) + len(value) for name, value in headers) > limits.HTTP_HEADER_BYTES:
        return 431, "The headers are too large."  # they came in one piece, else h11 would have refused them
    given = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(given) != 1 or not hosts.allows(given[0], local_address(scope)):
        return 421, "This server is not known under this host name."
    return None


def local_address(scope: Scope) -> str | None:
    """Return the address at which a connection came in, None for a Unix socket."""
    server = scope.get("server")
    return server[0] if server and server[1] is not None else None


def _split(host: str) -> tuple[str, int | None]:
    """Errors: ValueError."""
    parts = urlsplit(f"//{host}")
    if not parts.hostname or parts.netloc != host or "@" in host:
        raise ValueError(f"not a host: {host!r}")
    return _plain(parts.hostname), parts.port


def _plain(name: str) -> str:
    """Return the one spelling of an address: 127.0.0.1 for `::ffff:127.0.0.1`, localhost for `LOCALHOST.`."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower().rstrip(".")
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
