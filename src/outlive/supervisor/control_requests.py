"""What may be asked on a job's control socket. A request is checked as a whole before anything is
done for it: every process of the same user can connect, another version of outlive among them.
"""

from collections.abc import Callable

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.record import Record
from outlive.system import signals

Check = Callable[[object], bool]


class BadRequest(Exception):
    """The request is refused, and nothing was done for it."""


def _is_whole(least: int, most: int) -> "Check":
    return lambda value: type(value) is int and least <= value <= most


def _is_seconds(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= limits.MAX_DURATION_MS / 1000  # NaN is not


def _is_flag(value: object) -> bool:
    return type(value) is bool


class ControlRequest(Record):
    op = ""

    def to_dict(self) -> dict[str, object]:
        return {"op": self.op, **super().to_dict()}


class Watch(ControlRequest):
    """Send a hint when the state has changed, and with `output` when there is some."""

    op = "watch"
    output: bool = False


class Kill(ControlRequest):
    """Send a signal to the job. TERM and KILL end all of it, at the latest `grace_ms` after TERM."""

    op = "kill"
    signal: int = 0
    grace_ms: int = limits.KILL_GRACE_MS
    by: str = ""  # who asks
    cause: str = "kill"  # kill | timeout
    removing: bool = False  # the job's directory is about to be deleted


class Ping(ControlRequest):
    op = "ping"


class GetState(ControlRequest):
    """Answer with the state in memory, and why it is not on disk."""

    op = "state"


class Reload(ControlRequest):
    """Read the definition again, which `notify set` has changed."""

    op = "reload"


class Write(ControlRequest):
    """Write the bytes in the file that is sent with this to the job's input, and answer when they
    are in or after `wait_s`. `eof`: end the input then."""

    op = "write"
    eof: bool = False
    wait_s: float = 0.0


class GetTerminal(ControlRequest):
    op = "terminal"


class GetUsage(ControlRequest):
    op = "usage"


class Resize(ControlRequest):
    op = "resize"
    cols: int = 0
    rows: int = 0


CONTROL_REQUESTS = {
    kind.op: kind for kind in (Watch, Kill, Ping, GetState, Reload, Write, GetTerminal, GetUsage, Resize)
}
_REQUIRED = frozenset({"signal", "cols", "rows"})
_CHECKS: "dict[str, Check]" = {
    "output": _is_flag,
    "signal": lambda value: type(value) is int and signals.is_valid(value),
    "grace_ms": _is_whole(0, limits.MAX_DURATION_MS),
    "by": lambda value: type(value) is str,
    "cause": lambda value: value in ("kill", "timeout"),
    "removing": _is_flag,
    "eof": _is_flag,
    "wait_s": _is_seconds,
    "cols": _is_whole(1, limits.MAX_TERMINAL_COLS),
    "rows": _is_whole(1, limits.MAX_TERMINAL_ROWS),
}


def checked(message: bytes) -> ControlRequest:
    """Return the request in a message. What its op does not know is passed over. Errors: BadRequest."""
    try:
        content = parse_json(message)
    except ValueError as error:
        raise BadRequest(f"not a request: {error}") from None
    op = content.get("op") if isinstance(content, dict) else None
    if not isinstance(op, str) or op not in CONTROL_REQUESTS:
        raise BadRequest(f"not a request: unknown op {repr(op)[:40]}")
    kind = CONTROL_REQUESTS[op]
    for name in kind.FIELDS:
        if name in content and not _CHECKS[name](content[name]):
            raise BadRequest(f"{name} cannot be {repr(content[name])[:40]}")
        if name not in content and name in _REQUIRED:
            raise BadRequest(f"{op} needs {name}")
    return kind.of(content)
