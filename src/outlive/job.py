"""What a job is: its id, definition, state, outcome and the words for them. Pure: no file, no process.

`dataclasses` and `typing` would cost every CLI call about 8 ms (they import inspect), so records are plain slotted
classes here and types are for the checker only.
"""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.errors import OutliveError, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self

# --- ids: ULIDs (https://github.com/ulid/spec), 26 characters of Crockford base32, 48 bits of ms + 80 random bits ---

ID_CHARS = 26
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_last = (0, 0)  # (ms, random) of the newest id: ids of one process sort in the order they were made


def new_id(now_ms: int | None = None) -> str:
    """A ULID, larger than every one this process made before."""
    global _last
    ms = int(time.time() * 1000) if now_ms is None else now_ms
    if ms <= _last[0]:  # same millisecond, or the clock went back
        ms, random = _last[0], (_last[1] + 1) & ((1 << 80) - 1)
    else:
        random = int.from_bytes(os.urandom(10), "big") >> 1  # room to count up without overflow
    _last = (ms, random)
    value = (ms << 80) | random
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -5, -5))


def is_id(text: str) -> bool:
    # No pattern: compiling one would cost every call of the command line 0.2 ms
    return len(text) == ID_CHARS and text[0] <= "7" and not text.strip(_ALPHABET)


def only_ids(names: list[str]) -> list[str]:
    """Those of them that are ids. All at once: 100,000 take 3 ms, one by one 25."""
    names = [name for name in names if len(name) == ID_CHARS]
    text = "".join(names)
    if text.isascii():
        data = text.encode()
        if not data.translate(None, _ALPHABET.encode()) and not data[::ID_CHARS].translate(None, b"01234567"):
            return names
    return list(filter(is_id, names))


def is_id_part(text: str) -> bool:
    """May this text name a job by a beginning or an end of its id? (Upper case.)"""
    return limits.ID_PART_CHARS <= len(text) <= ID_CHARS and not text.strip(_ALPHABET)


def id_time_ms(job_id: str) -> int:
    """Unix milliseconds at which this id was made."""
    value = 0
    for char in job_id[:10]:
        value = value * 32 + _ALPHABET.index(char)
    return value


def short_id(job_id: str) -> str:
    return job_id[-limits.SHORT_ID_CHARS :]


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


# --- words ---------------------------------------------------------------------------------------------------------


def timestamp(seconds: float | None = None) -> str:
    """RFC 3339 in UTC with milliseconds; now, if nothing is given."""
    now = time.time() if seconds is None else seconds
    whole, ms = divmod(round(now * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{ms:03d}Z"


def seconds_of(stamp: str) -> float:
    """Unix seconds of an RFC 3339 time stamp; ValueError if it is none."""
    from datetime import datetime

    return datetime.fromisoformat(stamp).timestamp()


_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
# Compiled at the first use, and `re` is imported there: it takes half as long as Python itself to start
_DURATION = r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\Z"


def duration_ms(text: str, field: str, *, bare_unit: str | None = "ms") -> int:
    """Milliseconds of `5s`, `30m`, `250`; `bare_unit` None: a unit is required. Errors: invalid_argument."""
    import re

    match = re.match(_DURATION, text.strip())
    if match:
        found = float(match[1]) * _UNITS[match[2]]
    elif bare_unit and re.fullmatch(r"\d+(\.\d+)?", text.strip()):
        found = float(text) * _UNITS[bare_unit]
    else:
        units = "a number with a unit: ms, s, m, h, d or w" + (f" (bare numbers are {bare_unit})" if bare_unit else "")
        raise invalid(field, f"{field} is not a duration: {text!r}", hint=f"Write {units}; for example 30m.")
    if found > limits.MAX_DURATION_MS:
        raise invalid(field, f"{field} is longer than ten years: {text!r}")
    return round(found)


_SIZE = r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?b)?|b)?\Z"


def byte_count(text: str, field: str) -> int:
    """Bytes of `500`, `64K`, `500M`, `1.5GiB` (powers of 1024) or `2GB` (of 1000). Errors: invalid_argument."""
    import re

    match = re.match(_SIZE, text.strip(), re.IGNORECASE)
    if not match or not text.isascii():
        raise invalid(field, f"{field} is not a size: {text!r}", hint="Write bytes, or a number with K, M, G or T.")
    power = " kmgt".index((match[2] or " ").lower())
    unit = 1000 if (match[3] or "").lower() == "b" else 1024
    number = float(match[1]) if "." in match[1] else int(match[1][:20])
    found: float = number * unit**power
    if found > limits.MAX_QUOTA_BYTES:
        raise invalid(field, f"{field} is larger than any disk: {text[:40]!r}")
    return round(found)


def _is_tag(text: str) -> bool:
    """Segments of letters, digits and hyphens, joined by dots."""
    return text.isascii() and all(part.replace("-", "0").isalnum() for part in text.split("."))


def check_tags(tags: list[str]) -> list[str]:
    """The tags without repeats, in the order given. Errors: invalid_tag."""
    for tag in tags:
        if not _is_tag(tag) or len(tag) > limits.MAX_TAG_CHARS:
            raise OutliveError(
                "invalid_tag",
                f"not a tag: {tag!r}",
                hint="A tag is letters, digits and hyphens in segments joined by dots, for example project.build; "
                "`.*` belongs to list filters only.",
                details={"field": "tag", "tag": tag},
            )
    found = list(dict.fromkeys(tags))
    if len(found) > limits.MAX_TAGS:
        raise OutliveError("invalid_tag", f"{len(found)} tags; at most {limits.MAX_TAGS} are kept")
    return found


def watches_of(notification: dict[str, Any]) -> list[dict[str, Any]]:
    """What is watched for, in one shape: {id, pattern, match_type, stream, once, command, file, from_seq}."""
    found = list(notification.get("watches") or [])
    single = notification.get("on_output_match")  # the form of agent-exec: one pattern a job
    if single:
        stream = "both" if single["stream"] == "either" else single["stream"]
        found.append({"id": "output_match", "once": False, **single, "stream": stream})
    return found


def check_tag_pattern(pattern: str) -> str:
    """A list filter: a tag, or `PREFIX.*`. Errors: invalid_tag."""
    check_tags([pattern.removesuffix(".*")])
    return pattern


def tag_matches(pattern: str, tags: list[str]) -> bool:
    """`a.b` is that tag; `a.*` is `a` and everything below it."""
    if not pattern.endswith(".*"):
        return pattern in tags
    prefix = pattern[:-2]
    return any(tag == prefix or tag.startswith(prefix + ".") for tag in tags)


def name_of(command: list[str]) -> str:
    """A name for lists: the verb and its first target, `npm run`, `pytest tests`."""
    words = command if len(command) > 1 else _words(command[0])
    words = [word for word in words if word.strip()]
    if not words:
        return command[0][: limits.NAME_CHARS].strip() or "command"
    verb = words[0].rsplit("/", 1)[-1] or words[0]
    target = next((word for word in words[1:] if not word.startswith("-")), None)
    text = f"{verb} {target}" if target else verb
    text = " ".join(text.split())
    if len(text) <= limits.NAME_CHARS:
        return text
    half = (limits.NAME_CHARS - 1) // 2
    return text[:half] + "…" + text[-half:]


_WORD = r"""(?:'[^']*'|"[^"]*"|[^\s'";&|()<>])+"""
_ASSIGNMENT = r"[A-Za-z_][A-Za-z0-9_]*="
_SPECIAL = frozenset("'\";&|()<>=\n")


def _words(text: str) -> list[str]:
    """The first simple command of a shell string, roughly: for a name, not for execution."""
    if not _SPECIAL.intersection(text):
        return text.split()
    import re

    words: list[str] = []
    end = 0
    for match in re.finditer(_WORD, text):
        if words and re.search(r"[;&|)\n]", text[end : match.start()]):
            break
        end = match.end()
        if words or not re.match(_ASSIGNMENT, match[0]):
            words.append(re.sub("['\"]", "", match[0]))
    return [word for word in words if word]
