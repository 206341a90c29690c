"""Find the clients' configuration files, and what they say of outlive."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from outlive.core.base_directories import home
from outlive.errors import OutliveError, invalid
from outlive.parts.clients import registry
from outlive.parts.clients.edit import parsed
from outlive.parts.clients.registry import Client, Machine
from outlive.parts.safe_file import ConfigFile
from outlive.system import interpreter, own_programs


def this_machine(env: Mapping[str, str], cwd: str | None) -> Machine:
    return registry.Machine(home(env), env, cwd)


def config_file(client: Client, level: str, env: Mapping[str, str], cwd: str | None) -> ConfigFile:
    """Return the client's file for the user or for the project in `cwd`. Errors: invalid_argument."""
    path = registry.file_of(client, level, this_machine(env, cwd))
    if path is None:
        why = "the current directory does not exist" if client.project else f"{client.title} has no project file"
        raise invalid("level", f"{why}; leave --for out", usage=True)
    is_shared = level == registry.PROJECT
    return ConfigFile(path_in_use(path), shared=is_shared, project=cwd if is_shared else None)


def path_in_use(path: str) -> str:
    """Return the path that the client reads: FILE.jsonc instead of FILE.json, where that is there alone. Amp and
    OpenCode read both."""
    other = path + "c"
    return other if path.endswith(".json") and os.path.isfile(other) and not os.path.lexists(path) else path


def survey(env: Mapping[str, str], cwd: str | None) -> list[dict[str, Any]]:
    """Return one object for each client and each file that it may have. `present`: the file exists; `configured`: it has
    a server of outlive, which is called `name`; `command`: the words that start it, and `executable`: they can be run,
    both null for a server over HTTP; `problem`: a sentence, or null. The content of a file never raises an error."""
    machine = this_machine(env, cwd)
    entries = []
    for client in registry.CLIENTS.values():
        for level in registry.LEVELS:
            path = registry.file_of(client, level, machine)
            if path is not None:
                entries += _of_file(client, level, path_in_use(path), env)
    return entries


def _of_file(client: Client, level: str, path: str, env: Mapping[str, str]) -> list[dict[str, object]]:
    about: dict[str, object] = {"client": client.name, "title": client.title, "scope": level, "path": path}
    about |= {"present": False, "configured": False, "name": None, "command": None, "env": {}}
    about |= {"executable": None, "problem": None}
    try:
        data = ConfigFile(path).read()
        if data is None:
            return [about]
        about["present"] = True
        servers = parsed(client, data).get(client.keys)
    except (OutliveError, ValueError) as error:  # ValueError: Unreadable, Misfit
        return [{**about, "problem": f"{path} cannot be read: {error}"}]
    named = servers.items() if isinstance(servers, dict) else ()
    ours = [(name, entry) for name, entry in named if _is_meant(client, name, entry)]
    return [{**about, **_of_entry(name, entry, env)} for name, entry in ours] or [about]


def _is_meant(client: Client, name: str, entry: object) -> bool:
    """Return whether this server is meant to be outlive. Nothing is changed here, so a name is enough."""
    if not isinstance(entry, dict):
        return False
    return registry.is_ours(client, entry) or ("outlive" in name and registry.address_of(entry) is not None)


def _of_entry(name: str, entry: dict[str, object], env: Mapping[str, str]) -> dict[str, object]:
    words = registry.words_of(entry)
    about = {"configured": True, "name": name, "command": words, "env": registry.environment_of(entry)}
    if words is None:
        return {**about, "executable": None, "problem": None}
    runs, problem = _runs(words[0], env)
    if problem is None and "mcp" not in words[1:]:
        problem = "it does not start the MCP server: the argument mcp is missing"
    return {**about, "executable": runs, "problem": problem}


def _runs(command: str, env: Mapping[str, str]) -> tuple[bool, str | None]:
    if not os.path.isabs(command):
        if shutil.which(command, path=env.get("PATH")) is None:
            return False, f"{command} is not in the PATH"
        return True, None
    if os.access(command, os.X_OK) and os.path.isfile(command):
        return True, None
    what = "may not be executed" if os.path.exists(command) else "does not exist"
    return False, f"{command} {what}: `outlive install` writes the present path"


def installed(env: Mapping[str, str], cwd: str | None) -> dict[str, str]:
    """Return the clients that are on this machine, each with the path that shows it: its program, or its
    configuration."""
    machine = this_machine(env, cwd)
    programs = {}
    for client in registry.CLIENTS.values():
        path = registry.file_of(client, registry.USER, machine)
        program = next(filter(None, (shutil.which(name, path=env.get("PATH")) for name in client.programs)), None)
        if program is not None:
            programs[client.name] = program
        elif path is not None:
            directory = os.path.dirname(path)
            place = path if directory == machine.home else directory
            if os.path.exists(place):
                programs[client.name] = place
    return programs


def start_command(argv: list[str], env: Mapping[str, str]) -> list[str]:
    """Return the words with which a client starts this installation of outlive. The path is absolute, because desktop
    programs have a bare PATH. A link is not followed: it stays where it is when an update changes its target. Where a job
    may exchange it, the command beside the Python stands in its place. An interpreter with `-m outlive` is none: it reads
    what a `.pth` names (interpreter.py). Errors: launch_failed."""
    called = os.path.abspath(argv[0]) if argv and os.path.dirname(argv[0]) else ""
    beside = os.path.join(os.path.dirname(sys.executable), "outlive")
    passed = ""
    for path in (called, beside):
        if os.path.basename(path) == "outlive" and os.path.isfile(path) and os.access(path, os.X_OK):
            if own_programs.may_start([path], env, interpreter.installed()):
                return [path]
            passed = f"; a job in a sandbox may have written {path}"
    message = f"there is no command outlive beside {sys.executable}{passed}"
    raise OutliveError("launch_failed", message, hint="Name the installed command: --command /path/to/outlive.")
