"""`host list`: where jobs can run."""

from __future__ import annotations

from outlive.answers.administration import Hosts
from outlive.verbs.spec import STR, Arg, Verb

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
