"""What is asked of a person before a job starts: the member `approval` of its definition."""

import json
import os
import stat
from collections.abc import Mapping

from outlive.core.ids import sha256, sha256_of
from outlive.core.record import Record
from outlive.core.records import Definition
from outlive.system import paths
from outlive.system.fds import Closing

MEMBER = "approval"
_PIECE_BYTES, _MOST_PIECES = 1 << 20, 64  # of a file's content
_DIGITS = 15  # of its SHA-256: 60 bits


class Namespaces(Record):
    """The namespaces of a process, as links in /proc/self/ns name them; "" where the link cannot be read."""

    boot: str = ""
    pid: str = ""
    cgroup: str = ""


class GivenInput(Record):
    """The input that a job is to have, as a person is shown it."""

    bytes: int = 0
    sha256: str = ""
    text: str | None = None  # None if it is too long


class Approval(Record, omitted=("input", "file_env", "env_sha256", "files", "unheld")):
    """What a person is asked before a job starts, and what of it is not in the definition."""

    rule: str | None = None
    reason: str | None = None
    command: list[str] = []
    key: str | None = None
    asked_at: str = ""
    expires_at: str = ""
    asker: Namespaces | None = None  # of the process that asks
    input: GivenInput | None = None
    file_env: dict[str, str | None] | None = None  # variables of its files; null: the value is not shown
    env_sha256: str | None = None
    files: dict[str, list[int]] | None = None  # that the command runs: what a change of each changes
    unheld: list[str] | None = None  # what else it runs, as sentences say


def is_asked(definition: Definition) -> bool:
    """Return whether a person is asked about a job, or was, before it starts."""
    return definition.kept.get(MEMBER) is not None


def of(definition: Definition) -> Approval:
    """Return what is asked about a job. A question that cannot be read, or is not there, counts as expired."""
    content = definition.kept.get(MEMBER)
    return Approval.of(content) if isinstance(content, dict) and Approval.misfit(content) is None else Approval()


def mark(path: str) -> list[int]:
    """Return what a change of a file changes, and if jobs may write it a number for its content, up to 64 MiB: a job
    that had mapped it before changes that and no time. Nothing if it is not there."""
    try:
        with Closing(os.open(path, os.O_PATH | os.O_CLOEXEC)) as fd:  # opens no device, and waits for no FIFO
            status = os.fstat(fd)
            if not (stat.S_ISREG(status.st_mode) and paths.may_change(path)):
                return paths.stamp(status)
            with open(f"/proc/self/fd/{fd}", "rb") as file:
                content = sha256_of(file.read(_PIECE_BYTES) for _ in range(_MOST_PIECES))
            return [*paths.stamp(status), int(content[:_DIGITS], 16)]
    except OSError:  # it is not there, or it may be run and not be read
        return paths.stamp_of(path)


def digest(variables: Mapping[str, str]) -> str:
    """Return a digest of variables, by which a process that starts the job later finds them changed."""
    return sha256(json.dumps(sorted(variables.items())).encode())


def changed(about: Approval, overrides: Mapping[str, str]) -> str | None:
    """Return a sentence if the job would have other variables than a person was shown, or about a file that the command
    runs and that is not what it was; None if all are as they were. `overrides`: those of its env files and of its call."""
    if about.env_sha256 is not None and about.env_sha256 != digest(overrides):
        return "its env files have changed since it was asked about"
    # A question of an older version knows no content; of what was not there, none knows anything
    files = (about.files or {}).items()
    other = next((file for file, known in files if mark(file)[: len(known) or None] != known), None)
    return None if other is None else f"{other}, which the command runs, has changed since it was asked about"


def with_request(definition: Definition, request: Approval) -> Definition:
    """Return the definition of a job about which this is asked."""
    return Definition.replace(definition, kept={**definition.kept, MEMBER: request.to_dict()})
