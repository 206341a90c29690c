"""What the verbs of hosts answer."""

from __future__ import annotations

from outlive.answers import Answer, Fields, field, optional
from outlive.core.records import LOCAL
from outlive.parts.finding_shapes import Finding, OwnFinding
from outlive.parts.hosts.settings import KINDS

_CHECKS = "What was checked."
_KIND = "What starts the jobs there."


class Host(Fields):
    """One host."""

    name: str = field("Its name, for `host`.")
    kind: str = field(_KIND, enum=[LOCAL, *KINDS])
    default: bool = field("Do jobs run there that name no host?")
    target: str | None = optional("Of ssh: where that leads.")
    healthy: bool | None = optional("Of a host that was checked: did no check fail?")
    checks: list[Finding] | None = optional(_CHECKS)


class Hosts(Answer):  # of host list
    hosts: list[Host] = field("Where jobs can run.")


class HostChecked(Answer):  # of host check and host setup
    host: str = field("The host that was checked.")
    kind: str = field(_KIND, enum=[LOCAL, *KINDS])
    healthy: bool = field("Did no check fail? Warnings do not count.")
    checks: list[OwnFinding] = field(_CHECKS)
