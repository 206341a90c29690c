"""`host`: where jobs can run, whether a host is ready for them, and making it ready."""

from __future__ import annotations

from outlive.answers.administration import Host, HostChecked, Hosts
from outlive.core.records import LOCAL
from outlive.errors import argument, invalid
from outlive.hosts import engines
from outlive.jobs.context import Context
from outlive.verbs.spec import STR, Arg, Verb

_FAIL = "fail"


def list_hosts(ctx: Context, *, host: str | None = None) -> Hosts:
    """Return the hosts of the configuration, or one of them with what was found about it."""
    default = ctx.config.get("exec", "host")
    hosts = [Host(name=LOCAL, kind=LOCAL, default=default == LOCAL)]
    for name, settings in ctx.config.hosts().items():
        hosts.append(Host(name=name, kind=settings.kind, default=default == name, target=settings.target))
    if host is None:
        return Hosts(hosts=hosts)
    checked = check(ctx, host=host)
    one = next(one for one in hosts if one.name == host)
    one.healthy, one.checks = checked.healthy, checked.checks
    return Hosts(hosts=[one])


def check(ctx: Context, *, host: str) -> HostChecked:
    """Return what is found about a host. The verb `host setup` does no more: to look at a host over SSH carries our end
    there and makes the root."""
    if host == LOCAL:
        here: dict[str, object] = {
            "name": "reach",
            "status": "ok",
            "found": "It is this machine; `outlive doctor` checks it.",
        }
        return HostChecked(host=LOCAL, kind=LOCAL, healthy=True, checks=[here])
    known = engines.host_of(ctx.config, host)
    checks = known.engine.checked(ctx.caller, known)
    healthy = all(one["status"] != _FAIL for one in checks)
    return HostChecked(host=host, kind=known.settings.kind, healthy=healthy, checks=checks)


def setup(ctx: Context, *, host: str) -> HostChecked:
    """Put on a host what jobs need there, and return what is found then."""
    if host == LOCAL:
        raise invalid("host", f"{argument('host')} {LOCAL} is this machine, which needs no setup")
    return check(ctx, host=host)


_NAME = Arg("host", STR, "The host: a name of the configuration, or local.", required=True, cli="NAME", metavar="NAME")

HOST_CHECK = Verb(
    "host check",
    "Check whether jobs can run on a host, and say what is missing.",
    check,
    group="Other machines",
    long=True,
    args=(_NAME,),
    result=HostChecked,
    detail="It may start a short job there. The exit status is 0 whatever it finds; `healthy` is false if a check failed.",
)
HOST_SETUP = Verb(
    "host setup",
    "Put on a host what jobs need there.",
    setup,
    group="Other machines",
    long=True,
    args=(_NAME,),
    result=HostChecked,
)
