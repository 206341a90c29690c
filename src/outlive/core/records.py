"""What a job is: its id, definition, state, outcome and the words for them. Pure: no file, no process.

`dataclasses` and `typing` would cost every CLI call about 8 ms (they import inspect), so records are plain slotted
classes here and types are for the checker only.
"""

from __future__ import annotations

from outlive import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self


# --- states, reasons -----------------------------------------------------------------------------------------------

STATES = ("created", "running", "exited", "killed", "failed", "unknown")
FINISHED = frozenset({"exited", "killed", "failed"})
REASONS = ("exit", "signal", "timeout", "idle_timeout", "kill", "quota", "oom", "launch", "lost", "reboot")


# --- records -------------------------------------------------------------------------------------------------------


class Record:
    """A frozen set of named values with defaults. `of` ignores unknown names: newer writers may add some.

    The values are the attributes of the instance: a list reads 24 of each of its jobs.
    """

    FIELDS: ClassVar[dict[str, Any]] = {}
    # What a value is where the default, None, does not say it
    KINDS: ClassVar[dict[str, type]] = {}
    _EXPECTED: ClassVar[tuple[tuple[str, bool, type], ...]]  # (name, may it be null, what it is else)

    def __init_subclass__(cls) -> None:
        cls._EXPECTED = tuple(
            (name, default is None, cls.KINDS.get(name, type(default))) for name, default in cls.FIELDS.items()
        )

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.FIELDS.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {sorted(unknown)}")
        vars(self).update(self.FIELDS, **values)

    @classmethod
    def of(cls, found: dict[str, Any]) -> Self:
        made = cls.__new__(cls)
        vars(made).update({name: found.get(name, default) for name, default in cls.FIELDS.items()})
        return made

    @classmethod
    def misfit(cls, found: dict[str, Any]) -> str | None:
        """The name of a value that is of another kind than it was written as; None if all are right."""
        for name, nullable, kind in cls._EXPECTED:
            value = found.get(name)
            if value is None:
                if not nullable and name in found:
                    return name
            elif type(value) is not kind:
                return name
        return None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use replace({name}=…)")

    def replace(self, **values: Any) -> Self:
        return type(self)(**{**vars(self), **values})

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_dict() == self.to_dict()

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Definition(Record):
    """What was asked for: the content of `meta.json`. Never holds the value of a masked variable."""

    FIELDS: ClassVar[dict[str, Any]] = {
        "format": limits.JOB_FORMAT,
        "schema_version": limits.SCHEMA_VERSION,
        "job_id": "",
        "command": [],  # as given: one element is a shell string, several are an argument vector
        "shell": None,  # argv of the wrapper that runs a shell string; None: `command` is executed as it stands
        "cwd": "/",
        "env": {},  # literal, unmasked values
        "env_files": [],  # absolute paths, read at each start
        "mask": [],  # names whose values are shown as ***
        "masked_env": [],  # masked names that were given a value (which is not here)
        "timeout_ms": 0,  # 0: none
        "idle_timeout_ms": 0,
        "kill_after_ms": 0,
        "progress_every_ms": 0,
        "pty": False,
        "stdin": "closed",  # closed | open | data (stdin.data in the job directory) | file | caller
        "stdin_path": None,
        "tags": [],
        "title": None,
        "name": "",
        "owner": "cli",
        "scope": None,  # behind which wall it is seen: said by whoever let the caller in, never by a name the caller gave
        "quota_bytes": limits.QUOTA_BYTES,
        "notification": {},  # notify_command, notify_file, on_output_match
        "dedupe_key": None,
        "systemd_scope": False,  # in a transient scope of its own (systemd.scope(5))
        "created_at": "",
        "restarted_from": None,
        "root": "",
    }
    KINDS: ClassVar[dict[str, type]] = {
        "scope": str,
        "shell": list,
        "stdin_path": str,
        "title": str,
        "dedupe_key": str,
        "restarted_from": str,
    }


class State(Record):
    """What is so now: the content of `state.json`.

    `phase` tells a recovering process how far a start got: launching → spawning → running → finished. `identity` is
    {boot_id, pid_ns, pid, start_time} of the command. `ending` is {cause, by, signal, at, kill_at_ns} once somebody or
    a time-out asked for the end. Monotonic values are CLOCK_MONOTONIC nanoseconds of the same boot.
    """

    FIELDS: ClassVar[dict[str, Any]] = {
        "format": limits.JOB_FORMAT,
        "schema_version": limits.SCHEMA_VERSION,
        "job_id": "",
        "state": "running",
        "phase": "launching",
        "pid": None,
        "identity": None,
        "supervisor": None,  # {pid, start_time}
        "started_at": None,
        "started_ns": None,
        "boot_id": None,
        "exit_code": None,
        "signal": None,
        "core_dumped": None,
        "reason": None,
        "errno": None,
        "message": None,  # one sentence for `launch`, `lost`, `reboot`
        "ending": None,
        "group": None,  # where it was started: {ns, hierarchy, path, id, memory, oom_kills} (system/cgroup.py)
        "finished_at": None,
        "duration_ms": None,
        "dropped_bytes": 0,
        "log_bytes": None,  # lengths of both logs at the end; what they are short of was cut away since
        "stdin": None,  # open | closed
        "waiting": None,  # {seq, at, echo, canonical} while it waits for input; void once there is output after seq
        "terminal": None,  # of a pty job: {cols, rows, sizes [[seq, cols, rows]], modes {name: on}, scanned}
        "updated_at": "",
        "adopted": 0,  # how often supervision was taken over
    }
    KINDS: ClassVar[dict[str, type]] = {
        **dict.fromkeys(("pid", "started_ns", "exit_code", "duration_ms"), int),
        **dict.fromkeys(("identity", "supervisor", "ending", "waiting", "terminal", "group"), dict),
        **dict.fromkeys(("started_at", "boot_id", "signal", "reason", "errno", "message", "finished_at", "stdin"), str),
        "core_dumped": bool,
        "log_bytes": list,
    }

    @classmethod
    def misfit(cls, found: dict[str, Any]) -> str | None:
        name = super().misfit(found)
        if name is None and not _are_sizes(found.get("log_bytes")):
            return "log_bytes"
        return "state" if name is None and found.get("state", "running") not in STATES else name

    @property
    def finished(self) -> bool:
        return self.state in FINISHED


def _are_sizes(found: Any) -> bool:
    return found is None or (len(found) == 2 and all(type(size) is int and size >= 0 for size in found))


def watches_of(notification: dict[str, Any]) -> list[dict[str, Any]]:
    """What is watched for, in one shape: {id, pattern, match_type, stream, once, command, file, from_seq}."""
    found = list(notification.get("watches") or [])
    single = notification.get("on_output_match")  # the form of agent-exec: one pattern a job
    if single:
        stream = "both" if single["stream"] == "either" else single["stream"]
        found.append({"id": "output_match", "once": False, **single, "stream": stream})
    return found
