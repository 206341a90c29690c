"""The host names under which an HTTP server may be addressed: the defence against DNS rebinding."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LOCAL = ("localhost", "127.0.0.1", "::1")


class AllowedHosts:
    """The names under which this server may be addressed.

    A foreign page whose own name was pointed to this address (DNS rebinding) uses another name.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Take `names`, hosts with or without a port. Errors: ValueError names what is not a
        host."""
        self._known = {_split(name) for name in names}

    def allows(self, host: str, local: str | None) -> bool:
        """Return whether a request may be addressed to `host`, the value of its Host header.

        `local` is the address at which the connection came in, None for a Unix socket.
        """
        try:
            name, port = _split(host)
        except ValueError:
            return False
        return (
            (name, None) in self._known or (name, port) in self._known or (local is not None and name == _plain(local))
        )

    def allows_origin(self, origin: str, local: str | None) -> bool:
        """Return whether a page of this origin may call: only if one of our hosts could have
        served it."""
        scheme, mark, host = origin.partition("://")
        return bool(mark) and scheme in ("http", "https") and self.allows(host, local)


def _split(host: str) -> tuple[str, int | None]:
    """Return a host's name and port. Errors: ValueError."""
    found = urlsplit(f"//{host}")
    if not found.hostname or found.netloc != host or "@" in host:
        raise ValueError(f"not a host: {host!r}")
    return _plain(found.hostname), found.port


def _plain(name: str) -> str:
    """Return the one spelling of an address: 127.0.0.1 for `::ffff:127.0.0.1`, localhost for
    `LOCALHOST.`."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower().rstrip(".")
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
