"""Which clients know outlive, and would its server start there?"""

from __future__ import annotations

import os
import shutil
import sys

from outlive.client_config import registry
from outlive.client_config.edit import parsed
from outlive.client_config.safe_file import ConfigFile
from outlive.errors import OutliveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from outlive.client_config.registry import Client, Machine


def this_machine(env: Mapping[str, str], cwd: str | None) -> Machine:
    system = os.uname().sysname if hasattr(os, "uname") else "Windows"
    return registry.Machine(system, env.get("HOME") or os.path.expanduser("~"), env, cwd)


def survey(env: Mapping[str, str], cwd: str | None) -> list[dict[str, Any]]:
    """One object for each client and scope that it has a file for: {client, title, scope, path, present, configured, name,
    command, executable, problem}.

    `present`: is there a file; `configured`: does it have a server of ours, `name` its name there, `command` the words that
    start it (null for one over HTTP), `executable` whether that can be run (null: nothing to run); `problem`: a sentence, or
    null. Never raises for what is in a file.
    """
    machine = this_machine(env, cwd)
    found = []
    for client in registry.CLIENTS.values():
        for scope in registry.SCOPES:
            path = registry.file_of(client, scope, machine)
            if path is not None:
                found += _of_file(client, scope, path, env)
    return found


def _of_file(client: Client, scope: str, path: str, env: Mapping[str, str]) -> list[dict[str, Any]]:
    about = {"client": client.name, "title": client.title, "scope": scope, "path": path, "present": False}
    nothing = {"configured": False, "name": None, "command": None, "executable": None, "problem": None}
    try:
        data = ConfigFile(path).read()
        if data is None:
            return [{**about, **nothing}]
        about["present"] = True
        servers = parsed(client, data).get(client.keys)
    except (OutliveError, ValueError) as error:  # ValueError: Unreadable, Misfit
        return [{**about, **nothing, "problem": f"{path} cannot be read: {error}"}]
    ours = (
        {name: entry for name, entry in servers.items() if _is_ours(name, entry)} if isinstance(servers, dict) else {}
    )
    if not ours:
        return [{**about, **nothing}]
    return [{**about, **_of_entry(name, entry, env)} for name, entry in ours.items()]


def _is_ours(name: str, entry: Any) -> bool:
    """A server over HTTP is only known by its name."""
    return registry.is_outlive(entry) and ("command" in entry or "outlive" in name)


def _of_entry(name: str, entry: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str):
        return {"configured": True, "name": name, "command": None, "executable": None, "problem": None}
    words = [command, *(str(word) for word in (args if isinstance(args, list) else []))]
    runs, problem = _runs(command, env)
    if problem is None and "mcp" not in words[1:]:
        problem = "it does not start the MCP server: the argument mcp is missing"
    return {"configured": True, "name": name, "command": words, "executable": runs, "problem": problem}


def _runs(command: str, env: Mapping[str, str]) -> tuple[bool, str | None]:
    if not os.path.isabs(command):
        if shutil.which(command, path=env.get("PATH")) is None:
            return False, f"{command} is not in the PATH"
        return True, None
    if os.access(command, os.X_OK) and os.path.isfile(command):
        return True, None
    what = "may not be executed" if os.path.exists(command) else "does not exist"
    return False, f"{command} {what}: outlive install writes the present place"


def own_words(argv: list[str]) -> list[str]:
    """How a client starts this very outlive: absolute, because desktop programs have a bare PATH. A link to it is kept,
    it stays where an update changes what it leads to."""
    called = os.path.abspath(argv[0]) if argv and os.path.dirname(argv[0]) else ""
    beside = os.path.join(os.path.dirname(sys.executable), "outlive")
    for path in (called, beside):
        if os.path.basename(path) == "outlive" and os.path.isfile(path) and os.access(path, os.X_OK):
            return [path]
    return [sys.executable, "-m", "outlive"]
