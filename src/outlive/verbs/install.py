"""Put outlive into the configuration of an MCP client."""

from __future__ import annotations

import os
import sys

from outlive import limits
from outlive.client_config import registry
from outlive.client_config.discover import own_words, this_machine
from outlive.client_config.edit import NONE, Change
from outlive.client_config.registry import CLIENTS, PROJECT, SCOPES, USER
from outlive.client_config.safe_file import ConfigFile
from outlive.errors import OutliveError, invalid
from outlive.verbs.spec import BOOL, STR, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.client_config.registry import Client
    from outlive.jobs.context import Context

# Where jobs are kept and what is configured: a client that was not started from this shell would not know.
# The second of each counts where the first is not set, and only if it is not what everybody assumes.
# What a server has to be told of this call: flag, variable, and the general variable whose usual place need not be told
PASSED = (
    ("root", "OUTLIVE_ROOT", "XDG_DATA_HOME", ".local/share"),
    ("config", "OUTLIVE_CONFIG", "XDG_CONFIG_HOME", ".config"),
)
_ASK_S = 60
_TEMPORARY = (".cache", "tmp", "_npx")


def install(
    ctx: Context,
    *,
    client: str,
    scope: str = USER,
    name: str = "outlive",
    args: list[str] | tuple[str, ...] = (),
    command: str | None = None,
    url: str | None = None,
    token_env: str | None = None,
    show: bool = False,
) -> dict[str, Any]:
    """The client's file gets the entry, and keeps everything else."""
    target = CLIENTS[client]
    file = config_file(ctx, target, scope)
    if not name.strip() or any(char < " " for char in name):
        raise invalid("name", f"not a name of a server: {name!r}")
    _check_http(url, token_env, args, command)
    entry = _entry(ctx, target, name, list(args), command, url, token_env)
    answer = {"client": client, "scope": scope, "path": file.path, "name": name}
    try:
        change = Change(target, file, name)
        entry = change.put(entry)
    except OutliveError as error:
        if not show:
            raise
        told = {"change": None, "hint": f"{error.message}."}
    else:
        told = {"change": change.kind, **_hint(target, scope, entry, changed=change.kind != NONE)}
    write = not show and told["change"] != NONE
    return {
        **answer,
        **told,
        "written": write,
        "backup": change.write() if write else None,
        "entry": entry,
        "fragment": registry.fragment(target, name, entry),
        "own_command": registry.own_command(target, scope, name, entry),
    }


def config_file(ctx: Context, client: Client, scope: str) -> ConfigFile:
    """Errors: invalid_argument where the client has no such file."""
    path = registry.file_of(client, scope, this_machine(ctx.env, ctx.cwd))
    if path is None:
        why = (
            "the current directory does not exist" if client.project else f"{client.title} has no project configuration"
        )
        raise invalid("scope", f"{why}; leave --scope out", usage=True)
    return ConfigFile(path, shared=scope == PROJECT)


def _check_http(url: str | None, token_env: str | None, args: Any, command: str | None) -> None:
    if url is None:
        if token_env is not None:
            raise invalid("token_env", "--token-env goes with --url", usage=True)
        return
    from urllib.parse import urlsplit

    if args or command:
        raise invalid(
            "url", "--url leads to a server that runs already; --arg and --command are for one to start", usage=True
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise invalid(
            "url",
            f"not the URL of a server: {url!r}",
            hint=f"For example http://127.0.0.1:{limits.SERVE_PORT}/mcp.",
            usage=True,
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        hint = "Put a token into an environment variable, and name that with --token-env."
        raise invalid("url", "the URL of a server has no user, no query and no token", hint=hint, usage=True)
    if token_env is not None and not token_env.isidentifier():
        raise invalid("token_env", "--token-env is the name of a variable, not a token", usage=True)


def _entry(
    ctx: Context,
    client: Client,
    name: str,
    args: list[str],
    command: str | None,
    url: str | None,
    token_env: str | None,
) -> dict[str, Any]:
    if url is not None:
        entry = registry.http_entry(client, name, url, token_env)
        if entry is None:
            hint = "Leave --url out: it then starts its own server on the same jobs."
            raise invalid("url", f"the configuration of {client.title} has no servers over HTTP", hint=hint, usage=True)
        return entry
    words = [command] if command else own_words(sys.argv)
    if args and not command:
        _check_arguments(words, args)
    return registry.stdio_entry(client, words[0], [*words[1:], "mcp", *args], _environment(ctx))


def _check_arguments(words: list[str], args: list[str]) -> None:
    """The server that would refuse them is asked now: in a client nobody would see what it says. Errors: invalid_argument."""
    import json
    import subprocess

    asked = [*words, "mcp", *args, "--help"]
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False)
    if done.returncode == 0:
        return
    try:
        error = json.loads(done.stdout)["error"]
    except (ValueError, KeyError, TypeError):
        error = {"message": f"{' '.join(asked)} ended with {done.returncode}"}
    raise invalid("args", error["message"], hint=error.get("hint"), usage=True)


def _environment(ctx: Context) -> dict[str, str]:
    found = {}
    for flag, own, general, usual in PASSED:
        given = ctx.flags.get(flag) or ctx.env.get(own)
        if given:
            found[own] = given
        elif ctx.env.get(general) and ctx.env[general] != os.path.join(ctx.env.get("HOME", ""), usual):
            found[general] = ctx.env[general]
    return found


def _hint(client: Client, scope: str, entry: dict[str, Any], *, changed: bool) -> dict[str, str]:
    words = []
    command = str(entry.get("command", ""))
    if any(part in _TEMPORARY for part in command.split("/")[:-1]):
        words.append(f"{command} looks temporary: install outlive for good, and do this again from there.")
    if scope == PROJECT and command.startswith("/"):
        words.append("The path is one of this machine; where others share the file, use --command outlive.")
    if registry.has_no_token(entry):
        words.append(
            "The server asks for a token: make one with `outlive token add NAME`, name its variable with --token-env."
        )
    if client.name == "claude-desktop" and changed:
        words.append(f"{client.title} reads it when it is started again.")
    return {"hint": " ".join(words)} if words else {}


CLIENT = Arg("client", STR, "Which client.", required=True, cli="CLIENT", choices=tuple(CLIENTS))
SCOPE = Arg(
    "scope",
    STR,
    "user: for all you do; project: for the current directory.",
    default=USER,
    choices=SCOPES,
    metavar="SCOPE",
)
NAME = Arg("name", STR, "The server's name there.", default="outlive", metavar="NAME")

VERB = Verb(
    "install",
    "Put outlive into the configuration of an MCP client.",
    install,
    args=(
        CLIENT,
        SCOPE,
        NAME,
        Arg("args", STRS, "One more argument of outlive mcp, such as --arg=--isolate.", default=(), cli="--arg",
            metavar="ARG"),
        Arg("command", STR, "What the client runs (default: the absolute path of this outlive).", metavar="PATH"),
        Arg("url", STR, "Of a server that runs already, instead of one that the client starts.",
            metavar="URL"),
        Arg("token_env", STR, "Name of the variable that holds the token for --url.", metavar="NAME"),
        Arg("show", BOOL, "Write nothing: show the entry, and what would be changed.", default=False, cli="--print"),
    ),
    result="client scope path name change written backup entry fragment own_command hint?",
    detail="Everything else in the file stays as it is, comments too; what was there is kept beside it in FILE.before-outlive. A "
    "second time changes nothing. --root, --config and OUTLIVE_ROOT are passed on. Clients: " + ", ".join(CLIENTS) + ".",
    mcp=False,
)  # fmt: skip
