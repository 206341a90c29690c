"""The check of `outlive doctor` about MCP clients: whether what they are set up to start answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from outlive.core import quoted
from outlive.errors import OutliveError
from outlive.parts.clients.discover import survey
from outlive.parts.clients.registry import CLIENTS, USER, start_of
from outlive.parts.finding import CheckContext, Finding, ok, warn
from outlive.system import interpreter, own_programs

_OURS = "outlive"  # the one program that is started
_REFUSED = ": config_error: "  # in what a server says that cannot read its configuration


def clients(context: CheckContext) -> Finding:
    """Check which MCP clients are set up to start `outlive mcp`, and whether the server starts and
    offers its tools in the environment that the client gives it."""
    looked = survey(context.env, context.cwd)
    _try(context, [one for one in looked if one["command"] and not one["problem"]])
    configured = [one for one in looked if one["configured"]]
    broken = [one for one in looked if one["problem"]]
    # Values may be secrets of other programs
    facts = {"clients": [{**one, "env": sorted(one["env"])} for one in looked if one["present"]]}
    if broken:
        told = "; ".join(f"{one['title']} ({one['scope']}): {one['problem']}" for one in broken)
        return warn(told, _advice([one["problem"] for one in broken]), **facts)
    if not configured:
        return ok("no MCP client is set up to start outlive yet: `outlive install CLIENT` does it", **facts)
    return ok("set up in " + ", ".join(_answered(one, context.env) for one in configured), **facts)


def _advice(problems: list[str]) -> str:
    refused = [one for one in problems if _REFUSED in one]  # of these the entry is right
    mend = ["Mend the configuration: the server does not start with it."] if refused else []
    if len(refused) < len(problems):
        mend.append("`outlive install CLIENT` writes the entry anew; a file that cannot be read has to be mended.")
    return " ".join(mend)


def _try(context: CheckContext, entries: list[dict[str, Any]]) -> None:
    """Start each server, and put its tools or what went wrong into its entry. Those of a project are
    not started: a job in a sandbox may have written what stands there; nor those of a user's file that lies in one."""
    outside = [one for one in entries if _is_outside(one, context.env)]
    tried = [(one, words) for one in outside if (words := _words(one, context.env))]
    if not tried:
        return
    starts = [start_of(CLIENTS[one["client"]], words, one["env"], context.env) for one, words in tried]
    starts = [one.changed(env=tuple(sorted(own_programs.environment(dict(one.env)).items()))) for one in starts]
    from outlive.parts.clients import asking  # late: a second, the SDK's

    # Not where a client would: an interpreter takes modules from the directory that it is started in
    answers = asking.tools(starts, "/")
    for (one, _), start in zip(tried, starts, strict=True):
        answer = answers[start]
        if isinstance(answer, str):
            one["problem"] = answer
        else:
            one["tools"] = answer


def _is_outside(one: dict[str, Any], env: Mapping[str, str]) -> bool:
    return one["scope"] == USER and own_programs.is_safe(one["path"], env)


def _words(one: dict[str, Any], env: Mapping[str, str]) -> list[str] | None:
    """Return the words that start the server of an entry, with the path of a program that is named
    without; None if it is not to be run, with a problem in the entry if a job may have written what it runs."""
    name, *rest = one["command"]
    try:
        words = [name if os.path.isabs(name) else own_programs.find(name, env), *rest]
    except OutliveError as error:
        one["problem"] = f"{error.message}: `outlive install` writes the path"
        return None
    # An interpreter with -m reads what a `.pth` names (interpreter.py)
    if "-m" not in rest and own_programs.may_start(words, env, interpreter.installed()):
        return words if os.path.basename(name) == _OURS else None
    one["problem"] = f"a job in a sandbox may have written what {quoted.words(words)} runs, so it was not started"
    return None


def _answered(one: dict[str, Any], env: Mapping[str, str]) -> str:
    place = f"{one['title']} ({one['scope']})"
    if one.get("tools"):
        return f"{place}: {' and '.join(one['tools'])} answer"
    return f"{place}: {_untried(one, env)}, not tried"


def _untried(one: dict[str, Any], env: Mapping[str, str]) -> str:
    if one["command"] is None:
        return "over HTTP"
    return (
        "by another program than outlive itself" if _is_outside(one, env) else "of a project, in which jobs may write"
    )
