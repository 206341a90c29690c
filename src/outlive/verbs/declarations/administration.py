"""What a client may do that is about no job."""

from outlive.answers.administration import Help, Hosts
from outlive.core.records import EXEC, READ
from outlive.verbs.spec import STR, Arg, Verb

HELP = Verb(
    "help",
    "List the actions, and the arguments of each.",
    "outlive.verbs.help:help_",
    cli=False,
    right=READ,
    result=Help,
)
HOST_LIST = Verb(
    "host list",
    "List where jobs can run.",
    "outlive.verbs.host:list_hosts",
    group="Other machines",
    args=(Arg("host", STR, "Check this one: can it be reached, and what is missing.", cli="--check", section="hosts",
        metavar="NAME", mcp_help="check this one"),),
    right=EXEC,
    result=Hosts,
    type="hosts",
    action="hosts",
    section="hosts",
)  # fmt: skip
