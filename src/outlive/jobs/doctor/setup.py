"""What a person has set up: the Python that runs outlive, its configuration, the sandbox, the audit record, and the MCP
clients that start outlive.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

from outlive import __version__
from outlive.client_config.discover import survey
from outlive.client_config.registry import CLIENTS, USER, start_of
from outlive.config import KEYS
from outlive.errors import OutliveError
from outlive.jobs.doctor.finding import Finding, Place, fail, ok, warn
from outlive.sandbox import bubblewrap
from outlive.store.audit.record import NAME, SYSLOG, old_files
from outlive.system import own_programs


def python(place: Place) -> Finding:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    there = f"outlive {__version__}, Python {platform.python_version()} ({sys.executable}), {system}"
    return ok(there, version=__version__, python=platform.python_version())


def configuration(place: Place) -> Finding:
    if place.config is None:
        error = place.config_error
        return fail(
            str(error),
            (error and error.hint) or "Mend the file or the variable; until then every verb fails like this.",
        )
    told = [f"{section}.{key}" for section in KEYS for key in KEYS[section] if place.config.is_set(section, key)]
    where = place.config.path or "no file; defaults"
    text = f"{where}{'; set: ' + ', '.join(told) if told else ''}"
    if place.config.ignored:
        advice = "Mend or unset them in the environment of the process that starts outlive."
        return warn(f"{text}. {'; '.join(place.config.ignored)}", advice, path=place.config.path, set=told)
    return ok(text, path=place.config.path, set=told)


def sandbox(place: Place) -> Finding:
    """Check that bubblewrap can make the namespaces, by a sandbox without network for `true`."""
    config = place.config
    wanted = config is not None and config.has("sandbox")
    try:
        path = bubblewrap.find(None if config is None else config.get("sandbox", "bwrap"))
    except OutliveError as error:
        what = error.message.removesuffix("; nothing was run")
        if wanted:
            return fail(what, error.hint or bubblewrap.INSTALL, bwrap=None)
        return ok(f"none is configured, and {what}", bwrap=None)
    problem = bubblewrap.tried(path)
    if problem is None:
        return ok(f"{path} works" + ("" if wanted else "; none is configured"), bwrap=path)
    told = f"{path} cannot make a sandbox: {problem}"
    return fail(told, bubblewrap.mend(), bwrap=path) if wanted else warn(told, bubblewrap.mend(), bwrap=path)


def audit(place: Place) -> Finding:
    target = None if place.config is None else place.config.audit(place.env)
    if target is None:
        return ok("off: it is not recorded who does what")
    required = "what cannot be recorded is not done" if target.required else "what cannot be recorded is done"
    if target.to == SYSLOG:
        there = os.path.exists("/dev/log")
        text = f"to syslog; {required}"
        return (
            ok(text) if there else warn(f"{text}: there is no /dev/log", "Start a syslog daemon, or record to a file.")
        )
    directory = target.directory
    path = os.path.join(directory, NAME)
    above = directory
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    is_file = os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.W_OK)
    writable = os.access(above, os.W_OK | os.X_OK) and (is_file or not os.path.lexists(path))
    facts = {"path": path, "files": len(old_files(directory)) + os.path.exists(path)}
    if not writable:
        advice = f"Make {above} a directory that you may write, without a link or a directory in the place of {NAME}."
        return warn(f"{path} cannot be written; {required}", advice, **facts)
    return ok(f"{path}; {required}", **facts)


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
    """Start each server, and put its tools or what went wrong into its entry. Those of a project are
    not started: a job in a sandbox may have written what stands there."""
    tried = [(one, words) for one in entries if one["scope"] == USER and (words := _words(one, place.env))]
    if not tried:
        return
    starts = [start_of(CLIENTS[one["client"]], words, one["env"], place.env) for one, words in tried]
    from outlive.client_config import asking  # late: a second, the SDK's

    answers = asking.tools(starts, place.cwd)
    for (one, _), start in zip(tried, starts, strict=True):
        answer = answers[start]
        if isinstance(answer, str):
            one["problem"] = answer
        else:
            one["tools"] = answer


def _words(one: dict[str, Any], env: Mapping[str, str]) -> list[str] | None:
    """Return the words that start the server of an entry, with the path of a program that is named
    without; None, and a problem in the entry, if it is not to be run."""
    name, *rest = one["command"]
    try:
        return [name if os.path.isabs(name) else own_programs.find(name, env), *rest]
    except OutliveError as error:
        one["problem"] = f"{error.message}: `outlive install` writes the path"
        return None


def _answered(one: dict[str, Any]) -> str:
    place = f"{one['title']} ({one['scope']})"
    return (
        f"{place}: {' and '.join(one['tools'])} answer" if one.get("tools") else f"{place}: {_untried(one)}, not tried"
    )


def _untried(one: dict[str, Any]) -> str:
    return "over HTTP" if one["command"] is None else "of a project, in which jobs may write"
