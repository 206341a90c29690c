"""What a person approved for always: exactly this command in exactly this directory.

The list is a file under the state directory, one JSON object a line, outside of the configuration
and of every job root. To take an approval back, delete its line.
"""

from __future__ import annotations

import os

from outlive import fastjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from outlive.core.records import Definition


def path(env: Mapping[str, str]) -> str:
    """Return `$XDG_STATE_HOME/outlive/approved.ndjson`, else `~/.local/state/…`."""
    base = env.get("XDG_STATE_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "outlive", "approved.ndjson")


def key_of(definition: Definition, sinks: list[str], stdin_data: bytes | None) -> str:
    """Return a digest of everything that decides what a job does: words, directory, shell,
    variables, input, notification commands."""
    import hashlib  # late: few jobs are asked about

    bound: list[Any] = [definition.command, definition.shell, definition.cwd, sorted(definition.env.items())]
    bound += [definition.env_files, definition.masked_env, definition.stdin, definition.stdin_path, sinks]
    bound += [definition.sandbox]
    bound += [hashlib.sha256(stdin_data or b"").hexdigest()]
    return hashlib.sha256(fastjson.dumps(bound, ensure_ascii=True).encode()).hexdigest()


def has(env: Mapping[str, str], key: str) -> bool:
    """Return whether a command with this key was approved for always."""
    try:
        with open(path(env), encoding="utf-8") as file:
            return any(_key_in(line) == key for line in file)
    except OSError:
        return False


def add(env: Mapping[str, str], entry: Mapping[str, Any]) -> None:
    """Add an approval: {key, command, cwd, by, at}. Errors: OSError."""
    os.makedirs(os.path.dirname(path(env)), mode=0o700, exist_ok=True)
    fd = os.open(path(env), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, fastjson.dumps({**entry}, ensure_ascii=True).encode() + b"\n")
    finally:
        os.close(fd)


def _key_in(line: str) -> str | None:
    try:
        found = fastjson.loads(line)
    except ValueError:
        return None
    return found.get("key") if isinstance(found, dict) else None
