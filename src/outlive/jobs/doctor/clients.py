"""The MCP clients that are set up to start outlive."""

from __future__ import annotations

from typing import Any

from outlive.client_config.discover import survey
from outlive.client_config.registry import CLIENTS, start_of
from outlive.jobs.doctor.finding import Finding, Place, ok, warn

_REFUSED = ": config_error: "  # in what a server says that cannot read its configuration


def clients(place: Place) -> Finding:
    """Check which MCP clients are set up to start `outlive mcp`, and whether the server starts and
    offers its tools in the environment that the client gives it."""
    looked = survey(place.env, place.cwd)
    _try(place, [one for one in looked if one["command"] and not one["problem"]])
    configured = [one for one in looked if one["configured"]]
    broken = [one for one in looked if one["problem"]]
    # Values may be secrets of other programs
    facts = {"clients": [{**one, "env": sorted(one["env"])} for one in looked if one["present"]]}
    if broken:
        told = "; ".join(f"{one['title']} ({one['scope']}): {one['problem']}" for one in broken)
        return warn(told, _advice([one["problem"] for one in broken]), **facts)
    if not configured:
        return ok("no MCP client is set up to start outlive yet: `outlive install CLIENT` does it", **facts)
    return ok("set up in " + ", ".join(map(_answered, configured)), **facts)


def _advice(problems: list[str]) -> str:
    refused = [one for one in problems if _REFUSED in one]  # of these the entry is right
    mend = ["Mend the configuration: the server does not start with it."] if refused else []
    if len(refused) < len(problems):
        mend.append("`outlive install CLIENT` writes the entry anew; a file that cannot be read has to be mended.")
    return " ".join(mend)


def _try(place: Place, entries: list[dict[str, Any]]) -> None:
    """Start each server, and put its tools or what went wrong into its entry."""
    if not entries:
        return
    starts = [start_of(CLIENTS[one["client"]], one["command"], one["env"], place.env) for one in entries]
    from outlive.client_config import asking  # late: a second, the SDK's

    answers = asking.tools(starts, place.cwd)
    for one, start in zip(entries, starts, strict=True):
        answer = answers[start]
        if isinstance(answer, str):
            one["problem"] = answer
        else:
            one["tools"] = answer


def _answered(one: dict[str, Any]) -> str:
    place = f"{one['title']} ({one['scope']})"
    return f"{place}: {' and '.join(one['tools'])} answer" if one.get("tools") else f"{place}: over HTTP, not tried"
