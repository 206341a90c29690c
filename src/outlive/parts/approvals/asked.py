"""What is asked of a person before a job starts: the member `approval` of its definition."""

import json
from collections.abc import Mapping

from outlive.core.ids import sha256
from outlive.core.record import Record
from outlive.core.records import Definition
from outlive.system.paths import stamp_of

MEMBER = "approval"


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


def digest(variables: Mapping[str, str]) -> str:
    """Return a digest of variables, by which a process that starts the job later finds them changed."""
    return sha256(json.dumps(sorted(variables.items())).encode())


def changed(about: Approval, overrides: Mapping[str, str]) -> str | None:
    """Return a sentence if the job would have other variables than a person was shown, or about a file that the command
    runs and that is not what it was; None if all are as they were. `overrides`: those of its env files and of its call."""
    if about.env_sha256 is not None and about.env_sha256 != digest(overrides):
        return "its env files have changed since it was asked about"
    other = next((file for file, stamp in (about.files or {}).items() if stamp_of(file) != stamp), None)
    return None if other is None else f"{other}, which the command runs, has changed since it was asked about"


def with_request(definition: Definition, request: Approval) -> Definition:
    """Return the definition of a job about which this is asked."""
    return Definition.replace(definition, kept={**definition.kept, MEMBER: request.to_dict()})
