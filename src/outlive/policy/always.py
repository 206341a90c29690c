"""What a person approved for always: exactly this command in exactly this directory.

The list is a file in the state directory, one JSON object a line, outside of the configuration and
of every job root. It only grows, so that no writer needs a lock: a line that begins with `forgotten`
takes back an approval of an earlier line.
"""

from __future__ import annotations

import os

from outlive import fastjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from outlive.core.records import Definition

    Approvals = dict[str, dict[str, Any]]  # by key


def path(directory: str) -> str:
    """Return the file in the state directory (config.state_directory)."""
    return os.path.join(directory, "approved.ndjson")


def key_of(definition: Definition, sinks: list[str], stdin_data: bytes | None) -> str:
    """Return a digest of everything that decides what a job does: words, directory, shell,
    variables, input, notification commands."""
    import hashlib  # late: few jobs are asked about

    bound: list[Any] = [definition.command, definition.shell, definition.cwd, sorted(definition.env.items())]
    bound += [definition.env_files, definition.masked_env, definition.stdin, definition.stdin_path, sinks]
    bound += [definition.sandbox]
    bound += [hashlib.sha256(stdin_data or b"").hexdigest()]
    return hashlib.sha256(fastjson.dumps(bound, ensure_ascii=True).encode()).hexdigest()


def approved(directory: str) -> Approvals:
    """Return the approvals that stand, in their order. Errors: OSError, unless there is no file."""
    found: Approvals = {}
    try:
        with open(path(directory), encoding="utf-8", errors="replace") as file:
            for entry in map(_entry_in, file):
                if isinstance(entry.get("forgotten"), str):
                    found.pop(entry["forgotten"], None)
                elif isinstance(entry.get("key"), str):
                    found[entry["key"]] = entry
    except FileNotFoundError:
        pass
    return found


def has(directory: str, key: str) -> bool:
    """Return whether a command with this key was approved for always."""
    try:
        return key in approved(directory)
    except OSError:
        return False


def add(directory: str, entry: Mapping[str, Any]) -> None:
    """Add an approval: {key, command, cwd, by, at}. Errors: OSError."""
    _append(directory, entry)


def forget(directory: str, key: str, *, by: str, at: str) -> None:
    """Take an approval back. Errors: OSError."""
    _append(directory, {"forgotten": key, "by": by, "at": at})


def _append(directory: str, entry: Mapping[str, Any]) -> None:
    os.makedirs(directory, mode=0o700, exist_ok=True)
    fd = os.open(path(directory), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, fastjson.dumps({**entry}, ensure_ascii=True).encode() + b"\n")
    finally:
        os.close(fd)


def _entry_in(line: str) -> dict[str, Any]:
    try:
        found = fastjson.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
