"""What may be asked on a job's control socket. A request is checked as a whole before anything is
done for it: every process of the same user can connect, another version of outlive among them.
"""

from __future__ import annotations

from outlive import fastjson, limits
from outlive.system import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Check = Callable[[Any], bool]


class BadRequest(Exception):
    """The request is refused, and nothing was done for it."""


def _is_whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _is_signal(value: Any) -> bool:
    return type(value) is int and signals.is_valid(value)


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= limits.MAX_DURATION_MS / 1000  # NaN is not


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_text(value: Any) -> bool:
    return type(value) is str


# op → name → (check, the value of a request that does not have it; without one it must)
_OPS: dict[str, dict[str, tuple[Check, *tuple[Any, ...]]]] = {
    "watch": {"output": (_is_flag, False)},
    "kill": {
        "signal": (_is_signal,),
        "grace_ms": (_is_whole(0, limits.MAX_DURATION_MS), limits.KILL_GRACE_MS),
        "by": (_is_text, ""),
        "cause": (lambda value: value in ("kill", "timeout"), "kill"),
        "removing": (_is_flag, False),
    },
    "ping": {},
    "reload": {},
    "write": {"eof": (_is_flag, False), "wait_s": (_is_seconds, 0.0)},
    "terminal": {},
    "usage": {},
    "resize": {
        "cols": (_is_whole(1, limits.MAX_TERMINAL_COLS),),
        "rows": (_is_whole(1, limits.MAX_TERMINAL_ROWS),),
    },
}


def checked(message: bytes) -> dict[str, Any]:
    """Return a request with all values of its op. What an op does not know is passed over. Errors:
    BadRequest.
    """
    try:
        found = fastjson.loads(message)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"not a request: {error}") from None
    op = found.get("op") if isinstance(found, dict) else None
    if not isinstance(op, str) or op not in _OPS:
        raise BadRequest(f"not a request: unknown op {repr(op)[:40]}")
    request = {"op": op}
    for name, (check, *default) in _OPS[op].items():
        if name not in found and not default:
            raise BadRequest(f"{op} needs {name}")
        value = found[name] if name in found else default[0]
        if not check(value):
            raise BadRequest(f"{name} cannot be {repr(value)[:40]}")
        request[name] = value
    return request
