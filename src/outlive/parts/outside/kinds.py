"""The conditions about what is outside: what may be given for each, and what looks whether it holds."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from outlive import parts
from outlive.core.labels import is_port_name
from outlive.core.records import Definition
from outlive.errors import invalid
from outlive.jobs.conditions.condition import Condition
from outlive.jobs.conditions.kind import Kind
from outlive.parts.outside import probes

_URL = "http://127.0.0.1:8080/health"


def _port(value: object, more: dict[str, object]) -> Condition:
    host = more.get("host")
    if isinstance(value, str):
        before, colon, digits = value.rpartition(":")
        if colon and before:
            host = before.strip("[]")
        value = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else digits
    if isinstance(value, str) and is_port_name(value):
        return Condition("port", value, {"host": host, "any": _any(more)})
    if isinstance(value, float) and value.is_integer():  # some clients write every number so
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65_535:
        raise invalid("until", f"a port is a number from 1 to 65535, not {value!r}")
    if host is not None and (not isinstance(host, str) or not host.strip() or "\0" in host):
        raise invalid("until", "host is a name or an address")
    return Condition("port", value, {"host": host, "any": _any(more)})


def _require_port(definition: Definition, condition: Condition) -> None:
    """Errors: invalid_argument for a port by a name that the job has none of."""
    if isinstance(condition.value, str):
        named = parts.ports_of(definition)
        if condition.value not in named:
            hint = f"The ports of this job: {', '.join(named)}." if named else None
            raise invalid("until", f"a port is a number from 1 to 65535, not {condition.value!r}", hint=hint)


def _http(value: object, more: dict[str, object]) -> Condition:
    status = more.get("status")
    if isinstance(status, str) and status.isascii() and status.isdigit():
        status = int(status)
    if status is not None and (not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 599):
        raise invalid("until", f"status is a number from 100 to 599, not {status!r}")
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or any(ord(char) <= 32 for char in str(value)):
        raise invalid("until", f"http is a URL, not {value!r}", hint=f"For example http={_URL}.")
    return Condition("http", value, {"status": status, "any": _any(more)})


def _any(more: dict[str, object]) -> bool:
    """Return whether anybody's listener will do, not the job's own alone."""
    anybody = more.get("any", False)
    if not isinstance(anybody, bool):
        raise invalid("until", f"any is true or false, not {anybody!r}")
    return anybody


def _file(value: object, _more: dict[str, object]) -> Condition:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise invalid("until", "file is a path (a string)")
    return Condition("file", os.path.expanduser(value))


PORT = Kind(
    more=("host", "any"),
    forms="port=PORT, port=HOST:PORT",
    example="port=8080",
    meant="listen listening",
    check=_port,
    probe=probes.Port,
    require=_require_port,
)
HTTP = Kind(
    more=("status", "any"), forms="http=URL", example=f"http={_URL}", meant="url health", check=_http, probe=probes.Http
)
FILE = Kind(forms="file=PATH", example="file=build/out.bin", meant="path", check=_file, probe=probes.File)
