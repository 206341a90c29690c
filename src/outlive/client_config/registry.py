"""The clients: where each keeps its configuration, and what a server looks like in it. Nothing here
touches a file.

outlive writes the files and does not call `claude mcp add`, `codex mcp add` and the like: a desktop
client has no such command; the commands differ from version to version, refuse what is there
already, may ask or log in, and cannot say what they would do. What a person would type instead is
`own_command`.
"""

from __future__ import annotations

import json
import ntpath
import posixpath
import re
import shlex

from outlive import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Entry = dict[str, Any]

USER, PROJECT = "user", "project"
LEVELS = (USER, PROJECT)
JSON, JSONC, TOML = "json", "jsonc", "toml"  # JSONC: with comments and trailing commas, up to JSON5
# The members of an entry that outlive writes; every other one is the user's, or the client's.
OURS = ("type", "command", "args", "env", "url", "httpUrl", "transport", "headers", "bearer_token_env_var")
_CREDENTIALS = ("headers", "bearer_token_env_var")
_VARIABLE = re.compile(r"Bearer \$\{[^{}]+\}\Z")
_STANDARD_ADDRESSES = tuple(f"http://{host}:{limits.SERVE_PORT}/mcp" for host in ("127.0.0.1", "localhost", "[::1]"))


class Client:
    """`keys` lead to the object of all servers; `project`: the file of a project."""

    __slots__ = ("name", "title", "syntax", "keys", "project", "needs_type")

    def __init__(
        self,
        name: str,
        title: str,
        syntax: str,
        keys: tuple[str, ...],
        *,
        project: str | None,
        needs_type: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.syntax = syntax
        self.keys = keys
        self.project = project  # the file of a project, below its directory; None: it knows none
        self.needs_type = needs_type


CLIENTS = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", JSON, ("mcpServers",), project=".mcp.json", needs_type=True),
        Client("claude-desktop", "Claude Desktop", JSON, ("mcpServers",), project=None),
        Client("cursor", "Cursor", JSONC, ("mcpServers",), project=".cursor/mcp.json"),
        Client("vscode", "VS Code", JSONC, ("servers",), project=".vscode/mcp.json", needs_type=True),
        Client("codex", "Codex", TOML, ("mcp_servers",), project=".codex/config.toml"),
        Client("gemini", "Gemini CLI", JSONC, ("mcpServers",), project=".gemini/settings.json"),
        Client("openclaw", "OpenClaw", JSONC, ("mcp", "servers"), project=None),
    )
}


class Machine:
    """The machine and user of the files.

    `system`: platform.system(). `home` and the paths in `env` are absolute.
    """

    __slots__ = ("system", "home", "env", "cwd")

    def __init__(self, system: str, home: str, env: Mapping[str, str], cwd: str | None) -> None:
        self.system = system
        self.home = home
        self.env = env
        self.cwd = cwd

    def join(self, *parts: str) -> str:
        if self.system == "Windows":
            return ntpath.normpath(ntpath.join(*parts))
        return posixpath.join(*parts)

    def applications(self) -> str:
        """Return the directory in which desktop programs keep their settings."""
        if self.system == "Darwin":
            return self.join(self.home, "Library", "Application Support")
        if self.system == "Windows":
            return self.env.get("APPDATA") or self.join(self.home, "AppData", "Roaming")
        return self.env.get("XDG_CONFIG_HOME") or self.join(self.home, ".config")


def file_of(client: Client, level: str, machine: Machine) -> str | None:
    """Return the absolute path of the configuration; None if the client has none for that level, or
    `cwd` is None.
    """
    if level == PROJECT:
        if client.project is None or machine.cwd is None:
            return None
        return machine.join(machine.cwd, client.project)
    env, home = machine.env, machine.home
    if client.name == "claude-code":
        return machine.join(env.get("CLAUDE_CONFIG_DIR") or home, ".claude.json")
    if client.name == "claude-desktop":
        return machine.join(machine.applications(), "Claude", "claude_desktop_config.json")
    if client.name == "cursor":
        return machine.join(home, ".cursor", "mcp.json")
    if client.name == "vscode":
        return machine.join(machine.applications(), "Code", "User", "mcp.json")
    if client.name == "codex":
        return machine.join(env.get("CODEX_HOME") or machine.join(home, ".codex"), "config.toml")
    if client.name == "gemini":
        return machine.join(home, ".gemini", "settings.json")
    if env.get("OPENCLAW_CONFIG_PATH"):
        return env["OPENCLAW_CONFIG_PATH"]
    return machine.join(env.get("OPENCLAW_STATE_DIR") or machine.join(home, ".openclaw"), "openclaw.json")


# --- what a server looks like ---------------------------------------------------------------------


def stdio_entry(client: Client, command: str, args: list[str], env: dict[str, str]) -> Entry:
    kind = {"type": "stdio"} if client.needs_type else {}
    return {**kind, "command": command, "args": args, **({"env": env} if env else {})}


def http_entry(client: Client, name: str, url: str, token_env: str | None) -> Entry | None:
    """Return the entry of a server over HTTP; None if the client's configuration has no such
    servers.

    `token_env` names the variable that holds the token; the token itself is written into no file.
    """
    if client.name == "claude-desktop":
        return None
    if client.name == "codex":
        return {"url": url, **({"bearer_token_env_var": token_env} if token_env else {})}
    headers = {"headers": {"Authorization": f"Bearer {_reference(client, name, token_env)}"}} if token_env else {}
    if client.name == "gemini":
        return {"httpUrl": url, **headers}
    if client.name == "openclaw":
        return {"url": url, "transport": "streamable-http", **headers}
    return {**({"type": "http"} if client.needs_type else {}), "url": url, **headers}


def _reference(client: Client, name: str, token_env: str) -> str:
    if client.name == "vscode":  # which replaces no ${env:…} in headers
        return f"${{input:{input_id(name)}}}"
    return f"${{env:{token_env}}}" if client.name == "cursor" else f"${{{token_env}}}"


def input_id(name: str) -> str:
    """Return the id of the value that VS Code asks its user for, and keeps."""
    return f"{name}-token"


def token_input(name: str) -> dict[str, Any]:
    return {"type": "promptString", "id": input_id(name), "description": f"Token of {name}", "password": True}


def merged(old: Any, new: Entry) -> Entry:
    """Return the new entry with the other members of the old one: time-outs, permissions, more
    variables and headers.
    """
    if not isinstance(old, dict):
        return new
    found = {key: value for key, value in old.items() if key not in OURS}
    for key in ("env", "headers"):
        if isinstance(old.get(key), dict) and ("url" in new or "httpUrl" in new) == (key == "headers"):
            others = {name: value for name, value in old[key].items() if not _is_managed(name)}
            new = {**new, key: {**others, **new.get(key, {})}} if others or key in new else new
    return {**new, **found}


MANAGED = ("OUTLIVE_ROOT", "OUTLIVE_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "Authorization")


def _is_managed(name: str) -> bool:
    return name in MANAGED


def is_ours(client: Client, entry: Any, url: str | None = None) -> bool:
    """Return whether this entry provably starts outlive or leads to its server.

    An address proves little: a server over HTTP is ours if it stands at the standard address of
    `outlive serve`, or at `url`, which the caller names as outlive's, and only if the rest of the
    entry is as `http_entry` writes it. An entry that holds a token itself is never ours.
    """
    if not isinstance(entry, dict):
        return False
    if isinstance(entry.get("command"), str):
        return starts_outlive(entry)
    address = address_of(entry)
    if address is None or address not in (url, *_STANDARD_ADDRESSES) or _holds_token(entry):
        return False
    as_written = {key: value for key, value in entry.items() if key in OURS and key not in _CREDENTIALS}
    return as_written == http_entry(client, "", address, None)


def starts_outlive(entry: Entry) -> bool:
    """Return whether the command is outlive, or another program that is given `… outlive … mcp`."""
    args = entry.get("args")
    words = [word for word in args if isinstance(word, str)] if isinstance(args, list) else []
    programs = [ntpath.basename(word).removesuffix(".exe") for word in [str(entry.get("command")), *words]]
    if "outlive" not in programs:
        return False
    at = programs.index("outlive")
    return at == 0 or "mcp" in programs[at + 1 :]


def address_of(entry: Entry) -> str | None:
    """Return the URL of a server over HTTP, or None for another entry."""
    return next((entry[key] for key in ("url", "httpUrl") if isinstance(entry.get(key), str)), None)


def _holds_token(entry: Entry) -> bool:
    """Return whether a header authorizes with anything else than a variable's value."""
    found = [entry[key] for key in ("headers", "http_headers") if key in entry]
    if not all(isinstance(headers, dict) for headers in found):
        return True
    values = [value for headers in found for name, value in headers.items() if name.lower() == "authorization"]
    return not all(isinstance(value, str) and _VARIABLE.match(value) for value in values)


# --- what a client needs besides ------------------------------------------------------------------

# (member, value, why) that an entry gets if it does not have the member yet. The values are the
# user's to change: an entry keeps what it has.
_BESIDES: dict[str, tuple[tuple[str, Any, str], ...]] = {
    "claude-code": (
        ("alwaysLoad", True, "the tools are in the first request to the model, not only found by a search for tools"),
    ),
    "codex": (
        ("required", True, "Codex asks its model only when the tools are there; it does not start if the server fails"),
        ("tool_timeout_sec", 120, "a call may wait 50 s, and Codex gives up after 60 s"),
    ),
    "openclaw": (("requestTimeoutMs", 120_000, "a call may wait 50 s, and OpenClaw gives up after 60 s"),),
}
_APPROVED: dict[str, tuple[str, Any, str]] = {
    "codex": ("default_tools_approval_mode", "approve", "Codex calls the tools without asking you"),
    "gemini": ("trust", True, "Gemini CLI calls the tools without asking you"),
}


def can_be_approved(client: Client) -> bool:
    """Return whether an entry of this client can say that no call needs the user's consent."""
    return client.name in _APPROVED


def complete(client: Client, entry: Entry, *, approve: bool) -> Entry:
    """Return the entry with what this client needs besides. `approve`: no call needs the user's
    consent.
    """
    wanted = (*_BESIDES.get(client.name, ()), *((_APPROVED[client.name],) if approve else ()))
    return {**entry, **{member: value for member, value, _ in wanted}}


def besides(client: Client, entry: Entry) -> list[dict[str, Any]]:
    """Return which members of the entry are there for what reason, where they are as `complete`
    made them."""
    known = (*_BESIDES.get(client.name, ()), *((_APPROVED[client.name],) if client.name in _APPROVED else ()))
    return [
        {"member": member, "value": value, "why": why} for member, value, why in known if entry.get(member) == value
    ]


# --- to do it by hand -----------------------------------------------------------------------------


def fragment(client: Client, name: str, entry: Entry) -> str:
    """Return the text to merge into the client's file."""
    if client.syntax == TOML:
        from outlive.client_config import toml

        document = toml.Document("")
        document.set((*client.keys, name), entry)
        return document.text
    from outlive.client_config import jsonc

    text = jsonc.Document("{}\n")
    text.set((*client.keys, name), entry)
    if uses_input(client, name, entry):
        text.set(("inputs",), [token_input(name)])
    return text.text


def has_no_token(entry: Entry) -> bool:
    """Return whether the entry leads to a server over HTTP without a token; that server would
    refuse it.
    """
    return ("url" in entry or "httpUrl" in entry) and not (
        "bearer_token_env_var" in entry or "Authorization" in (entry.get("headers") or {})
    )


def uses_input(client: Client, name: str, entry: Entry) -> bool:
    return client.name == "vscode" and input_id(name) in json.dumps(entry.get("headers") or {})


def own_command(client: Client, level: str, name: str, entry: Entry) -> str | None:
    """Return the client's own command for the same server on stdio; None if the client has none."""
    if "command" not in entry:
        return None
    words, env = (
        [entry["command"], *entry["args"]],
        [f"{key}={value}" for key, value in (entry.get("env") or {}).items()],
    )
    if client.name == "claude-code":
        return shlex.join(["claude", "mcp", "add-json", "--scope", level, name, json.dumps(entry)])
    if client.name == "codex" and level == USER:
        flags = [word for one in env for word in ("--env", one)]
        return shlex.join(["codex", "mcp", "add", name, *flags, "--", *words])
    if client.name == "gemini":
        flags = [word for one in env for word in ("-e", one)]
        return shlex.join(["gemini", "mcp", "add", "-s", level, *flags, name, *words])
    if client.name == "vscode" and level == USER:
        return shlex.join(["code", "--add-mcp", json.dumps({"name": name, **entry})])
    if client.name == "openclaw":
        return shlex.join(["openclaw", "mcp", "set", name, json.dumps(entry)])
    return None
