"""The clients: where each keeps its configuration, and what a server looks like in it. Nothing here touches a file.

outlive writes the files and does not call `claude mcp add` and the like: a desktop client has no such command, and the
others refuse what is there already, may ask or log in, and cannot say what they would do.
"""

from __future__ import annotations

import json
import ntpath
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from outlive import limits
from outlive.core.object_reference import resolve_name
from outlive.core.record import Value
from outlive.parts.clients import jsonc
from outlive.parts.clients.entries import Entries

Entry = dict[str, Any]

USER, PROJECT = "user", "project"
LEVELS = (USER, PROJECT)
JSON, JSONC, TOML, YAML = "json", "jsonc", "toml", "yaml"  # JSONC: with comments and trailing commas, up to JSON5
# What the clients call the same members
_PROGRAMS = ("command", "cmd")
_ENVIRONMENTS = ("env", "environment", "envs")
_ADDRESSES = ("url", "httpUrl", "serverUrl", "uri")
# The members of an entry that outlive writes; every other one is the user's, or the client's.
OURS = (
    "type", "name", *_PROGRAMS, "args", *_ENVIRONMENTS, *_ADDRESSES, "transport", "headers", "bearer_token_env_var",
)  # fmt: skip
_CREDENTIALS = ("headers", "bearer_token_env_var")
_VARIABLE = re.compile(r"Bearer (?:\$\{[^{}]+\}|\{env:[^{}]+\})\Z")
_STANDARD_ADDRESSES = tuple(f"http://{host}:{limits.SERVE_PORT}/mcp" for host in ("127.0.0.1", "localhost", "[::1]"))


class Client(Value):
    """A client of MCP servers, and where it keeps them."""

    name: str
    title: str
    syntax: str
    keys: tuple[str, ...]  # they lead to the object of all servers
    project: str | None  # the file of a project, below its directory; None: it knows none
    programs: tuple[str, ...] = ()  # the commands of which one is there if the client is
    desktop: bool = False  # it is started from a desktop, so its servers may not have the environment of a shell
    passes: tuple[str, ...] | None = None  # the variables that a server gets from the client's environment; None: all
    address: str = "url"  # the member of an entry with the address of a server over HTTP
    http: Mapping[str, str] = {}  # the members that say that it is one
    token: str | None = "${{{variable}}}"  # how a header takes a token from a variable; None: no documented way


# What the SDK of MCP for TypeScript gives to a server (getDefaultEnvironment of client/stdio)
_OF_THE_SDK = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
_OF_CODEX = (*_OF_THE_SDK, "LANG", "LC_ALL", "TMPDIR", "TZ")

CLIENTS = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", JSON, ("mcpServers",), project=".mcp.json", programs=("claude",),
               http={"type": "http"}),
        Client("claude-desktop", "Claude Desktop", JSON, ("mcpServers",), project=None,
               programs=("claude-desktop",), desktop=True, passes=_OF_THE_SDK),
        Client("cursor", "Cursor", JSONC, ("mcpServers",), project=".cursor/mcp.json", programs=("cursor",),
               desktop=True, token="${{env:{variable}}}"),
        Client("vscode", "VS Code", JSONC, ("servers",), project=".vscode/mcp.json", programs=("code",), desktop=True,
               http={"type": "http"}, token="${{input:{input}}}"),  # which replaces no ${env:…} in headers
        Client("codex", "Codex", TOML, ("mcp_servers",), project=".codex/config.toml", programs=("codex",),
               passes=_OF_CODEX),
        Client("gemini", "Gemini CLI", JSONC, ("mcpServers",), project=".gemini/settings.json", programs=("gemini",),
               address="httpUrl"),
        Client("opencode", "OpenCode", JSONC, ("mcp",), project="opencode.json", programs=("opencode",),
               http={"type": "remote"}, token="{{env:{variable}}}"),
        Client("openclaw", "OpenClaw", JSONC, ("mcp", "servers"), project=None, programs=("openclaw",),
               passes=_OF_THE_SDK, http={"transport": "streamable-http"}),
        Client("amp", "Amp", JSONC, ("amp.mcpServers",), project=".amp/settings.json", programs=("amp",)),
        Client("cline", "Cline", JSON, ("mcpServers",), project=None, programs=("cline",), passes=_OF_THE_SDK,
               http={"type": "streamableHttp"}, token=None),
        Client("goose", "Goose", YAML, ("extensions",), project=None, programs=("goose",), token=None),
        Client("roo", "Roo Code", JSON, ("mcpServers",), project=".roo/mcp.json", desktop=True, passes=_OF_THE_SDK,
               http={"type": "streamable-http"}, token="${{env:{variable}}}"),
        Client("windsurf", "Windsurf", JSON, ("mcpServers",), project=None, programs=("windsurf",), desktop=True,
               address="serverUrl", token="${{env:{variable}}}"),
        Client("zed", "Zed", JSONC, ("context_servers",), project=".zed/settings.json", programs=("zed", "zeditor"),
               desktop=True, token=None),
    )
}  # fmt: skip


class Machine(Value):
    """The user of the files on this machine. `home` and the paths in `env` are absolute."""

    home: str
    env: Mapping[str, str]
    cwd: str | None

    def place(self, variable: str, *usual: str) -> tuple[str, ...]:
        """Return the directory that a variable names, or its usual place below the home."""
        given = self.env.get(variable)
        if given and variable.startswith("XDG_") and not given.startswith("/"):  # as in parts/user.py
            given = None
        return (given,) if given else (self.home, *usual)

    def applications(self) -> str:
        """Return the directory in which programs keep their settings."""
        return os.path.join(*self.place("XDG_CONFIG_HOME", ".config"))


def file_of(client: Client, level: str, machine: Machine) -> str | None:
    """Return the absolute path of the configuration; None if the client has none for that level, or `cwd` is None."""
    if level == PROJECT:
        if client.project is None or machine.cwd is None:
            return None
        return os.path.join(machine.cwd, client.project)
    return os.path.join(*_USER_FILES[client.name](machine))


def _openclaw(machine: Machine) -> tuple[str, ...]:
    given = machine.env.get("OPENCLAW_CONFIG_PATH")
    return (given,) if given else (*machine.place("OPENCLAW_STATE_DIR", ".openclaw"), "openclaw.json")


def _cline(machine: Machine) -> tuple[str, ...]:
    given = machine.env.get("CLINE_MCP_SETTINGS_PATH")
    root = machine.env.get("CLINE_DIR")
    below = (root, "data") if root else (machine.home, ".cline", "data")
    directory = machine.env.get("CLINE_DATA_DIR")
    return (given,) if given else (*((directory,) if directory else below), "settings", "cline_mcp_settings.json")


# The words of the path of a user's file
_USER_FILES: dict[str, Callable[[Machine], tuple[str, ...]]] = {
    "claude-code": lambda at: (at.env.get("CLAUDE_CONFIG_DIR") or at.home, ".claude.json"),
    "claude-desktop": lambda at: (at.applications(), "Claude", "claude_desktop_config.json"),
    "cursor": lambda at: (at.home, ".cursor", "mcp.json"),
    "vscode": lambda at: (at.applications(), "Code", "User", "mcp.json"),
    "codex": lambda at: (*at.place("CODEX_HOME", ".codex"), "config.toml"),
    "gemini": lambda at: (at.home, ".gemini", "settings.json"),
    "opencode": lambda at: (at.applications(), "opencode", "opencode.json"),
    "openclaw": _openclaw,
    "amp": lambda at: (at.home, ".config", "amp", "settings.json"),
    "cline": _cline,
    "goose": lambda at: (at.applications(), "goose", "config.yaml"),
    "roo": lambda at: (
        at.applications(), "Code", "User", "globalStorage", "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json"
    ),
    "windsurf": lambda at: (at.home, ".codeium", "windsurf", "mcp_config.json"),
    "zed": lambda at: (at.applications(), "zed", "settings.json"),
}  # fmt: skip


# --- what a server looks like ---------------------------------------------------------------------


def stdio_entry(client: Client, name: str, command: str, args: list[str], env: dict[str, str]) -> Entry:
    entry: Entry
    if client.name == "opencode":
        entry = {"type": "local", "command": [command, *args], "environment": env}
    elif client.name == "goose":
        entry = {"type": "stdio", "name": name, "cmd": command, "args": args, "envs": env}
    else:
        kind = {"type": "stdio"} if client.name in ("claude-code", "vscode") else {}
        entry = {**kind, "command": command, "args": args, "env": env}
    return {key: value for key, value in entry.items() if key not in _ENVIRONMENTS or value}


def http_entry(client: Client, name: str, url: str, token_env: str | None) -> Entry | None:
    """Return the entry of a server over HTTP; None if the client's configuration has no such servers. `token_env` names
    the variable that holds the token; the token itself is written into no file."""
    if client.name == "claude-desktop":
        return None
    if client.name == "codex":
        return {"url": url, **({"bearer_token_env_var": token_env} if token_env else {})}
    headers = {}
    if token_env and client.token:
        token = client.token.format(variable=token_env, input=input_id(name))
        headers = {"headers": {"Authorization": f"Bearer {token}"}}
    if client.name == "goose":
        return {"type": "streamable_http", "name": name, "uri": url, **headers}
    return {**client.http, client.address: url, **headers}


def words_of(entry: Entry) -> list[str] | None:
    """Return the command and its arguments, or None if the entry starts no program."""
    command = next((entry[key] for key in _PROGRAMS if key in entry), None)
    args = entry.get("args")
    if isinstance(command, list):
        command, args = (command[0], command[1:]) if command else (None, None)
    if not isinstance(command, str):
        return None
    return [command, *(str(word) for word in (args if isinstance(args, list) else []))]


def environment_of(entry: Entry) -> dict[str, str]:
    variables: Entry = next((entry[key] for key in _ENVIRONMENTS if isinstance(entry.get(key), dict)), {})
    return {str(name): str(value) for name, value in variables.items()}


def input_id(name: str) -> str:
    """Return the id of the value that VS Code asks its user for, and keeps."""
    return f"{name}-token"


def token_input(name: str) -> dict[str, object]:
    return {"type": "promptString", "id": input_id(name), "description": f"Token of {name}", "password": True}


def merged(old: object, new: Entry) -> Entry:
    """Return the new entry with the other members of the old one: time-outs, permissions, more variables and headers,
    and the arguments of the server that the new one does not give."""
    if not isinstance(old, dict):
        return new
    kept = {key: value for key, value in old.items() if key not in OURS}
    for key in (*_ENVIRONMENTS, "headers"):
        if isinstance(old.get(key), dict) and (address_of(new) is not None) == (key == "headers"):
            others = {name: value for name, value in old[key].items() if name not in MANAGED}
            new = {**new, key: {**others, **new.get(key, {})}} if others or key in new else new
    if (old_args := _arguments(old)) and (given := _arguments(new)) is not None:
        new = _with_arguments(new, [*_without(old_args, given), *given])
    return {**new, **kept}


MANAGED = ("OUTLIVE_ROOT", "OUTLIVE_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "Authorization")


def _arguments(entry: Entry) -> list[str] | None:
    """Return what follows `mcp` in the command; None if there is no such word."""
    words = words_of(entry) or []
    return words[words.index("mcp") + 1 :] if "mcp" in words else None


def _with_arguments(entry: Entry, args: list[str]) -> Entry:
    key = next(key for key in ("args", *_PROGRAMS) if isinstance(entry.get(key), list))
    words = entry[key]
    return {**entry, key: [*words[: words.index("mcp") + 1], *args]}


def _without(args: list[str], given: list[str]) -> list[str]:
    """Return the arguments whose options are not among `given`: a value of its own goes with its option."""
    options = {word.partition("=")[0] for word in given}
    kept: list[str] = []
    is_kept = True
    for word in args:
        if word.startswith("-"):
            is_kept = word.partition("=")[0] not in options
        kept += [word] if is_kept else []
    return kept


def is_ours(client: Client, entry: object, url: str | None = None) -> bool:
    """Return whether this entry provably starts outlive or leads to its server. An address proves little: a server over
    HTTP is ours if it stands at the standard address of `outlive serve`, or at `url`, which the caller names as
    outlive's, and only if the rest of the entry is as `http_entry` writes it. An entry that holds a token itself is
    never ours."""
    if not isinstance(entry, dict):
        return False
    if words_of(entry) is not None:
        return starts_outlive(entry)
    address = address_of(entry)
    if address is None or address not in (url, *_STANDARD_ADDRESSES) or _holds_token(entry):
        return False
    as_written = {key: value for key, value in entry.items() if key in OURS and key not in _CREDENTIALS}
    return as_written == http_entry(client, str(entry.get("name", "")), address, None)


def starts_outlive(entry: Entry) -> bool:
    """Return whether the command is outlive, or another program that is given `… outlive … mcp`."""
    programs = [ntpath.basename(word).removesuffix(".exe") for word in words_of(entry) or []]
    if "outlive" not in programs:
        return False
    at = programs.index("outlive")
    return at == 0 or "mcp" in programs[at + 1 :]


def address_of(entry: Entry) -> str | None:
    """Return the URL of a server over HTTP, or None for another entry."""
    return next((entry[key] for key in _ADDRESSES if isinstance(entry.get(key), str)), None)


def _holds_token(entry: Entry) -> bool:
    """Return whether a header authorizes with anything else than a variable's value."""
    tables = [entry[key] for key in ("headers", "http_headers") if key in entry]
    if not all(isinstance(headers, dict) for headers in tables):
        return True
    values = [value for headers in tables for name, value in headers.items() if name.lower() == "authorization"]
    return not all(isinstance(value, str) and _VARIABLE.match(value) for value in values)


# --- what a client needs besides ------------------------------------------------------------------

# (member, value, why) that an entry gets if it does not have the member yet. The values are the
# user's to change: an entry keeps what it has.
_BESIDES: dict[str, tuple[tuple[str, object, str], ...]] = {
    "claude-code": (
        ("alwaysLoad", True, "the tools are in the first request to the model, not only found by a search for tools"),
    ),
    "codex": (
        ("required", True, "Codex asks its model only when the tools are there; it does not start if the server fails"),
        ("tool_timeout_sec", 960, "a call may wait 15 min then; by itself Codex gives up after 60 s"),
    ),
    "openclaw": (("requestTimeoutMs", 960_000, "a call may wait 15 min then; by itself OpenClaw gives up after 60 s"),),
    "opencode": (
        ("enabled", True, "OpenCode starts the server"),
        ("timeout", 960_000, "a call may wait 15 min then; OpenCode documents 5 s"),
    ),
    "cline": (("timeout", 120, "a call may wait 50 s, and Cline gives up after 60 s"),),
    "roo": (("timeout", 120, "a call may wait 50 s, and Roo Code gives up after 60 s"),),
    "goose": (
        ("description", "Commands as jobs that outlive the session", "Goose asks for one"),
        ("enabled", True, "Goose starts the server"),
        ("timeout", 300, "a call may wait 50 s; Goose itself sets 300 s"),
    ),
}
# The same, for a user who wants to be asked about no call
APPROVED: dict[str, tuple[str, object, str]] = {
    "codex": ("default_tools_approval_mode", "approve", "Codex calls the tools without asking you"),
    "gemini": ("trust", True, "Gemini CLI calls the tools without asking you"),
    "cline": ("autoApprove", ["exec", "process"], "Cline calls the tools without asking you"),
    "roo": ("alwaysAllow", ["exec", "process"], "Roo Code calls the tools without asking you"),
}


def complete(client: Client, entry: Entry, *, approve: bool) -> Entry:
    """Return the entry with what this client needs besides. `approve`: no call needs the user's consent."""
    wanted = (*_BESIDES.get(client.name, ()), *((APPROVED[client.name],) if approve else ()))
    return {**entry, **{member: value for member, value, _ in wanted}}


def besides(client: Client, entry: Entry) -> list[dict[str, object]]:
    """Return which members of the entry are there for what reason, where they are as `complete` made them."""
    known = (*_BESIDES.get(client.name, ()), *((APPROVED[client.name],) if client.name in APPROVED else ()))
    return [
        {"member": member, "value": value, "why": why} for member, value, why in known if entry.get(member) == value
    ]


# --- how it would be started ----------------------------------------------------------------------

_OF_A_DESKTOP = {"PATH": "/usr/local/bin:/usr/bin:/bin"}  # where no shell has read its start files
_KEPT_BY_A_DESKTOP = ("HOME", "LANG", "LOGNAME", "SHELL", "TMPDIR", "USER", "XDG_RUNTIME_DIR")


class Start(Value):
    """What a client starts: the words, and the whole environment of the server."""

    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...]


def start_of(client: Client, words: Sequence[str], own: Mapping[str, str], env: Mapping[str, str]) -> Start:
    """Return how this client starts a server. `own`: the variables that the entry sets; `env`: those of this shell,
    from which a client in a terminal would be started."""
    given = {name: env[name] for name in _KEPT_BY_A_DESKTOP if name in env} if client.desktop else dict(env)
    if client.desktop:
        given |= _OF_A_DESKTOP
    if client.passes is not None:
        given = {name: value for name, value in given.items() if name in client.passes}
    return Start(tuple(words), tuple(sorted({**given, **own}.items())))


# --- to do it by hand -----------------------------------------------------------------------------


def fragment(client: Client, name: str, entry: Entry) -> str:
    """Return the text to merge into the client's file."""
    document = document_of(client, "{}\n" if client.syntax in (JSON, JSONC) else "")
    document.set((*client.keys, name), entry)
    if uses_input(client, name, entry):
        document.set(("inputs",), [token_input(name)])
    return document.text


# Syntaxes whose library takes 25 or 100 ms
_OF_LIBRARIES = {TOML: "outlive.parts.clients.toml:Document", YAML: "outlive.parts.clients.yaml:Document"}


def document_of(client: Client, text: str) -> jsonc.Document | Entries:
    """Return the text of a client's configuration as a document. Errors: Unreadable, Misfit."""
    if client.syntax in _OF_LIBRARIES:
        document: Entries = resolve_name(_OF_LIBRARIES[client.syntax])(text)
        return document
    return jsonc.Document(text, strict=client.syntax == JSON)


def has_no_token(entry: Entry) -> bool:
    """Return whether the entry leads to a server over HTTP without a token; that server would refuse it."""
    return address_of(entry) is not None and not (
        "bearer_token_env_var" in entry or "Authorization" in (entry.get("headers") or {})
    )


def uses_input(client: Client, name: str, entry: Entry) -> bool:
    return client.name == "vscode" and input_id(name) in json.dumps(entry.get("headers") or {})


def own_command(client: Client, level: str, name: str, entry: Entry) -> str | None:
    """Return the client's own command for the same server on stdio; None if the client has none."""
    words = words_of(entry)
    if words is None:
        return None

    def variables(flag: str) -> list[str]:
        return [word for name, value in environment_of(entry).items() for word in (flag, f"{name}={value}")]

    if client.name == "claude-code":
        return shlex.join(["claude", "mcp", "add-json", "--scope", level, name, json.dumps(entry)])
    if client.name == "codex" and level == USER:
        return shlex.join(["codex", "mcp", "add", name, *variables("--env"), "--", *words])
    if client.name == "gemini":
        return shlex.join(["gemini", "mcp", "add", "-s", level, *variables("-e"), name, *words])
    if client.name == "vscode" and level == USER:
        return shlex.join(["code", "--add-mcp", json.dumps({"name": name, **entry})])
    if client.name == "openclaw":
        return shlex.join(["openclaw", "mcp", "set", name, json.dumps(entry)])
    if client.name == "amp":
        place = ["--workspace"] if level == PROJECT else []
        return shlex.join(["amp", "mcp", "add", *place, *variables("--env"), name, "--", *words])
    return None
