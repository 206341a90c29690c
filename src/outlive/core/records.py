"""Job records: what was asked for (`Definition`) and what is so now (`State`). Pure: no file, no
process.

`dataclasses` and `typing` would cost every CLI call about 8 ms (they import inspect), so records
are plain classes here and types are for the checker only.
"""

from __future__ import annotations

from outlive import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, Self, TypedDict, dataclass_transform

    class Identity(TypedDict):
        """A process, exactly (system/process.py)."""

        boot_id: str
        pid_ns: str
        pid: int
        start_time: int | None
else:

    def dataclass_transform(**_: object) -> Callable[[type], type]:
        return lambda kind: kind


STATES = ("created", "running", "exited", "killed", "failed", "unknown")
FINISHED = frozenset({"exited", "killed", "failed"})
APPROVALS = ("pending", "approved", "denied", "expired", "withdrawn")
REASONS = ("exit", "signal", "timeout", "idle_timeout", "kill", "oom", "limit", "launch", "lost", "reboot", "denied")
# What a caller may do, each with what stands before it (core/rights.py)
READ, CONTROL, EXEC = RIGHTS = ("read", "control", "exec")
# Each from the least that a job may do to the most
SANDBOXES = ("read-only", "workspace-write", "off")
NETWORKS = ("none", "loopback", "open")
LOCAL = "local"  # the host that is this machine
REGEX, CONTAINS = MATCH_TYPES = ("regex", "contains")  # of a watch

_KINDS: dict[str, type] = {"int": int, "bool": bool, "str": str, "list": list, "dict": dict}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """A frozen set of named values with defaults, each declared as `name: type = default` in the
    class body.

    The values are attributes of the instance, because a list reads 24 of each of its jobs. To the
    type checker a subclass is a frozen dataclass, so it finds a misspelt attribute, argument of the
    constructor or of `replace`.
    """

    FIELDS: ClassVar[dict[str, Any]] = {}  # name → default, in the order of the file
    _TEXTS: ClassVar[frozenset[str]]  # names of lists of strings
    _EXPECTED: ClassVar[tuple[tuple[str, bool, type], ...]]  # (name, may it be null, its type else)

    def __init_subclass__(cls) -> None:
        declared, values = cls.__annotations__, vars(cls)
        cls.FIELDS = {name: values[name] for name in declared}
        cls._TEXTS = frozenset(name for name in cls.FIELDS if declared[name].startswith("list[str]"))
        cls._EXPECTED = tuple(
            (name, default is None, _kind_of(declared[name]) if default is None else type(default))
            for name, default in cls.FIELDS.items()
        )

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.FIELDS.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {sorted(unknown)}")
        vars(self).update(self.FIELDS, **values)

    @classmethod
    def of(cls, found: dict[str, Any]) -> Self:
        """Return the record that a file holds.

        A name that the file lacks has its default, because older writers did not know it. Unknown
        names are ignored, because newer writers may add some.
        """
        made = cls.__new__(cls)
        vars(made).update({name: found.get(name, default) for name, default in cls.FIELDS.items()})
        return made

    @classmethod
    def misfit(cls, found: dict[str, Any]) -> str | None:
        """Return the name of a value that has another type than it was written with; None if all
        are right."""
        for name, nullable, kind in cls._EXPECTED:
            value = found.get(name)
            if value is None:
                if not nullable and name in found:
                    return name
            elif type(value) is not kind or (value and name in cls._TEXTS and not _are_texts(value)):
                return name
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use replace({name}=…)")

    if TYPE_CHECKING:

        @property
        def replace(self) -> type[Self]:
            """Return a copy with other values. It takes what the constructor takes, and is checked
            like it."""

    else:

        def replace(self, **values):
            return type(self)(**{**vars(self), **values})

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_dict() == self.to_dict()

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


def _kind_of(annotation: str) -> type:
    """Return what is written for an annotation such as `list[str] | None` when it is not null."""
    return _KINDS.get(annotation.partition(" ")[0].partition("[")[0], dict)


class Definition(Record):
    """What was asked for: the content of `meta.json`. Never holds the value of a masked variable."""

    format: int = limits.JOB_FORMAT
    schema_version: str = limits.SCHEMA_VERSION
    job_id: str = ""
    # As given: one element is a shell string, several are an argument vector
    command: list[str] = []
    # argv of the wrapper that runs a shell string; None: `command` is executed as it is
    shell: list[str] | None = None
    cwd: str = "/"
    env: dict[str, str] = {}  # literal, unmasked values
    env_files: list[str] = []  # absolute paths, read at each start
    mask: list[str] = []  # names whose values are shown as ***
    masked_env: list[str] = []  # masked names that were given a value (which is not here)
    timeout_ms: int = 0  # 0: none
    idle_timeout_ms: int = 0
    kill_after_ms: int = 0
    progress_every_ms: int = 0
    pty: bool = False
    stdin: str = "closed"  # closed | open | data (stdin.data in the job directory) | file | caller
    stdin_path: str | None = None
    tags: list[str] = []
    title: str | None = None
    name: str = ""
    owner: str = "cli"
    # Whose job it is: set by the server that let the caller in, never a name of the caller's
    scope: str | None = None
    quota_bytes: int = limits.QUOTA_BYTES
    notification: dict[str, Any] = {}  # notify_command, notify_file, on_output_match
    dedupe_key: str | None = None
    # What sandbox/view.py resolved for the request; None: no sandbox
    sandbox: dict[str, Any] | None = None
    # What it is to have, in the canonical form of core/resources.py; None: no resources were named
    resources: dict[str, Any] | None = None
    systemd_scope: bool = False  # in a transient scope of its own (systemd.scope(5))
    host: str | None = None  # [hosts.NAME] of the configuration: where it runs; None: on this machine
    machine: dict[str, Any] | None = None  # where it was defined (system/machine.py)
    created_at: str = ""
    restarted_from: str | None = None
    # What a person is asked before it starts: {rule, reason, command, key, asked_at, expires_at}
    approval: dict[str, Any] | None = None
    root: str = ""


class State(Record):
    """What is so now: the content of `state.json`, for every state of a job.

    `phase` tells a recovering process how far a start got: launching → spawning → running →
    finished. Monotonic values are CLOCK_MONOTONIC nanoseconds of the same boot.
    """

    format: int = limits.JOB_FORMAT
    schema_version: str = limits.SCHEMA_VERSION
    job_id: str = ""
    state: str = "running"
    phase: str = "launching"
    pid: int | None = None
    identity: Identity | None = None  # of the command
    init: Identity | None = None  # of process 1 of its sandbox, which is no part of the job
    supervisor: dict[str, Any] | None = None  # {pid, start_time}
    started_at: str | None = None
    started_ns: int | None = None
    boot_id: str | None = None
    machine: dict[str, Any] | None = None  # where its supervisor runs (system/machine.py)
    exit_code: int | None = None
    signal: str | None = None
    core_dumped: bool | None = None
    reason: str | None = None
    errno: str | None = None
    message: str | None = None  # one sentence for `launch`, `lost`, `reboot`
    ending: dict[str, Any] | None = (
        None  # {cause, by, signal, at, kill_at_ns}: the end that a caller or time-out asked for
    )
    # The control groups it was started in: {ns, hierarchy, path, id, memory, oom_kills}
    group: dict[str, Any] | None = None
    # What was made of the definition's resources: {name: {value, applied, why?}}
    resources: dict[str, Any] | None = None
    # Its own control group: {ns, places} (system/job_group.py)
    job_group: dict[str, Any] | None = None
    # What its ended processes used: {user_ms, system_ms, peak_memory_bytes, source?}
    usage: dict[str, Any] | None = None
    finished_at: str | None = None
    duration_ms: int | None = None
    dropped_bytes: int = 0
    # Lengths of both logs at the end; what they are short of was cut away since
    log_bytes: list[int] | None = None
    stdin: str | None = None  # open | closed
    waiting: dict[str, Any] | None = (
        None  # {seq, at, echo, canonical} while it waits for input; void once seq has grown
    )
    terminal: dict[str, Any] | None = (
        None  # of a pty job: {cols, rows, sizes [[seq, cols, rows]], modes {name: on}, scanned}
    )
    updated_at: str = ""
    adopted: int = 0  # how often supervision was taken over

    @classmethod
    def misfit(cls, found: dict[str, Any]) -> str | None:
        name = super().misfit(found)
        if name is None and not _are_sizes(found.get("log_bytes")):
            return "log_bytes"
        if name is None and "cause" not in (found.get("ending") or {"cause": ""}):
            return "ending"
        return "state" if name is None and found.get("state", "running") not in STATES else name

    @property
    def finished(self) -> bool:
        return self.state in FINISHED


def _are_texts(found: Any) -> bool:
    return {*map(type, found)} == {str}


def _are_sizes(found: Any) -> bool:
    return found is None or (len(found) == 2 and {*map(type, found)} == {int} and min(found) >= 0)


def watches_of(notification: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all output watches in one shape: {id, pattern, match_type, stream, once, command,
    file, from_seq}."""
    found = list(notification.get("watches") or [])
    single = notification.get("on_output_match")  # the form of agent-exec: one pattern a job
    if single:
        stream = "both" if single["stream"] == "either" else single["stream"]
        found.append({"id": "output_match", "once": False, **single, "stream": stream})
    return found
