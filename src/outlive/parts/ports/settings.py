"""[ports] of the configuration."""

from __future__ import annotations

from outlive.config import Config, Setting
from outlive.core.record import Value
from outlive.errors import misconfigured
from outlive.parts.ports import PORTS

# Outside of the ports that Linux takes for connections (32768 to 60999, ip_local_port_range in ip(7))
KEYS = {
    "first": Setting("integer", 20_000, least=1, most=65_535),
    "last": Setting("integer", 29_999, least=1, most=65_535),
}


class Range(Value):
    """The ports that jobs are given, both ends included."""

    first: int
    last: int


def of(config: Config) -> Range:
    """Return the range in force. Errors: config_error."""
    given = config.set_in(PORTS)
    found = Range(*(given.get(key, setting.default) for key, setting in KEYS.items()))
    if found.first > found.last:
        raise misconfigured(f"ports.first, {found.first}, is larger than ports.last, {found.last}")
    return found
