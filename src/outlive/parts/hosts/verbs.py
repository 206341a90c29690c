"""The verbs of hosts."""

from outlive.core.records import EXEC
from outlive.parts.hosts.answers import HostChecked, Hosts
from outlive.verbs.spec import STR, Arg, Verb

HOST_LIST = Verb(
    "host list",
    "List where jobs can run.",
    "outlive.parts.hosts.actions:list_hosts",
    group="Other machines",
    args=(Arg("host", STR, "Check this one: can it be reached, and what is missing.", cli="--check", section="hosts",
        metavar="NAME", mcp_help="check this one"),),
    right=EXEC,
    result=Hosts,
    type="hosts",
    action="hosts",
    section="hosts",
)  # fmt: skip
_NAME = Arg("host", STR, "The host: a name of the configuration, or local.", required=True, cli="NAME", metavar="NAME")

HOST_CHECK = Verb(
    "host check",
    "Check whether jobs can run on a host, and say what is missing.",
    "outlive.parts.hosts.actions:check",
    group="Other machines",
    long=True,
    args=(_NAME,),
    result=HostChecked,
    detail="It may start a short job there. The exit status is 0 whatever it finds; `healthy` is false if a check failed.",
)
HOST_SETUP = Verb(
    "host setup",
    "Put on a host what jobs need there.",
    "outlive.parts.hosts.actions:setup",
    group="Other machines",
    long=True,
    args=(_NAME,),
    result=HostChecked,
)
