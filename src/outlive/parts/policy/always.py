"""What a person approved for always: exactly this command, with everything that decides what it does.

The list is a file in the state directory, one JSON object a line, outside of the configuration and
of every job root. It only grows, so that no writer needs a lock: a line that begins with `forgotten`
takes back an approval of an earlier line.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Mapping
from typing import Any

from outlive import parts
from outlive.core.ids import sha256
from outlive.core.members import parse_json
from outlive.core.records import Definition
from outlive.system.fds import Closing, open_regular

Approvals = dict[str, dict[str, object]]  # by key

_SECRET_BYTES = 32


def path(directory: str) -> str:
    """Return the file in the state directory (config.state_directory)."""
    return os.path.join(directory, "approved.ndjson")


def secret_path(directory: str) -> str:
    """Return the file of the secret that keeps masked values from being guessed by their key."""
    return os.path.join(directory, "approved.secret")


def key_of(
    directory: str, definition: Definition, overrides: Mapping[str, str], stdin_data: bytes | None
) -> str | None:
    """Return a keyed digest of everything that decides what a job does; None if no secret can be
    kept in the state directory.

    `overrides`: the variables of the call and of its files, with the values of masked ones.
    """
    secret = _secret(directory)
    if secret is None:
        return None
    whole = definition.command if definition.script is None else definition.script.sha256
    bound: list[object] = [whole, definition.shell, definition.cwd, sorted(overrides.items())]
    bound += [definition.cwd_id, definition.stdin, definition.stdin_path, sha256(stdin_data or b""), definition.pty]
    stored = definition.to_dict()
    bound += [
        stored.get(name) for name in ("host", "resources", "systemd_scope", "notification", "sandbox", "elevated")
    ]
    bound += [
        fact for one in parts.of_job(definition).values() for fact in one.facts()
    ]  # what the person was shown of them
    text = json.dumps(bound, sort_keys=True)
    return hmac.new(secret, text.encode(), "sha256").hexdigest()


def _secret(directory: str) -> bytes | None:
    """Return the secret of this user, made at its first use; None if there can be none, or others may read it."""
    if not os.path.lexists(secret_path(directory)) and not _made_secret(directory):
        return None
    try:
        with Closing(open_regular(secret_path(directory), os.O_NOFOLLOW)) as fd:
            secret = os.read(fd, _SECRET_BYTES + 1)
            return secret if len(secret) == _SECRET_BYTES and not os.fstat(fd).st_mode & 0o077 else None
    except OSError:
        return None


def _made_secret(directory: str) -> bool:
    """Make the secret, complete at once; another process may be faster."""
    mine = f"{secret_path(directory)}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        fd = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        os.write(fd, os.urandom(_SECRET_BYTES))
        os.fsync(fd)
        os.link(mine, secret_path(directory))
    except FileExistsError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
        os.unlink(mine)
    return True


def approved(directory: str) -> Approvals:
    """Return the approvals that stand, in their order. Errors: OSError, unless there is no file."""
    approvals: Approvals = {}
    try:
        with open(path(directory), encoding="utf-8", errors="replace") as file:
            for entry in map(_entry_in, file):
                if isinstance(entry.get("forgotten"), str):
                    approvals.pop(entry["forgotten"], None)
                elif isinstance(entry.get("key"), str):
                    approvals[entry["key"]] = entry
    except FileNotFoundError:
        pass
    return approvals


def has(directory: str, key: str | None) -> bool:
    """Return whether a command with this key was approved for always."""
    try:
        return key is not None and key in approved(directory)
    except OSError:
        return False


def add(directory: str, entry: Mapping[str, object]) -> None:
    """Add an approval: {key, command, cwd, by, at}, or take one back: {forgotten: key, by, at}. Errors: OSError."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    fd = os.open(path(directory), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with Closing(fd):
        os.write(fd, json.dumps({**entry}).encode() + b"\n")


def _entry_in(line: str) -> dict[str, Any]:
    try:
        entry = parse_json(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
