"""`host`: where jobs can run, whether a host is ready for them, and making it ready."""

from __future__ import annotations

from outlive.answers.administration import HostChecked, Hosts
from outlive.verbs.spec import STR, Arg, Verb

_NAME = Arg("host", STR, "The host: a name of the configuration, or local.", required=True, cli="NAME", metavar="NAME")

LIST = Verb(
    "host list",
    "List where jobs can run.",
    "outlive.verbs.host:list_hosts",
    args=(Arg("host", STR, "Check this one: can it be reached, and what is missing.", cli="--check", section="hosts",
        metavar="NAME", mcp_help="check this one"),),
    result=Hosts,
    type="hosts",
    action="hosts",
    section="hosts",
)  # fmt: skip
CHECK = Verb(
    "host check",
    "Check whether jobs can run on a host, and say what is missing.",
    "outlive.verbs.host:check",
    args=(_NAME,),
    result=HostChecked,
    mcp=False,
    detail="It may start a short job there. The exit status is 0 whatever it finds; `healthy` is false if a check failed.",
)
SETUP = Verb(
    "host setup",
    "Put on a host what jobs need there.",
    "outlive.verbs.host:setup",
    args=(_NAME,),
    result=HostChecked,
    mcp=False,
)
