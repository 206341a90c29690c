"""Make the entry that starts outlive in a client, and say what a person should know about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from outlive import limits
from outlive.core.real_path import real_path
from outlive.errors import invalid
from outlive.parts.clients import registry
from outlive.parts.clients.registry import Client
from outlive.system import own_programs
from outlive.system.paths import is_in

# What the server has to be told, because the client may not be started from this shell: the flag,
# the variable of ours, and the general variable with its usual place below HOME, which goes without
# saying.
_PASSED = (
    ("root", "OUTLIVE_ROOT", "XDG_DATA_HOME", ".local/share"),
    ("config", "OUTLIVE_CONFIG", "XDG_CONFIG_HOME", ".config"),
)
_ASK_S = 60
_OWN_SERVER = "Leave --url out: the client then starts a server of its own on the same jobs."
_TEMPORARY = (".cache", "tmp", "_npx")


def over_http(client: Client, name: str, url: str, token_env: str | None) -> dict[str, object]:
    """Return the entry for a server that runs already. Errors: invalid_argument."""
    try:
        parts = urlsplit(url)
    except ValueError:  # half an address of IPv6
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        hint = f"For example http://127.0.0.1:{limits.SERVE_PORT}/mcp."
        raise invalid("url", f"not the URL of a server: {url!r}", hint=hint, usage=True)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        hint = "Put a token into an environment variable, and name that with --token-env."
        raise invalid("url", "the URL of a server has no user, no query and no token", hint=hint, usage=True)
    if token_env is not None and not token_env.isidentifier():
        raise invalid("token_env", "--token-env is the name of a variable, not a token", usage=True)
    if token_env is not None and client.token is None:
        message = f"no entry of {client.title} can name a variable with a token"
        raise invalid("token_env", message, hint=_OWN_SERVER, usage=True)
    entry = registry.http_entry(client, name, url, token_env)
    if entry is None:
        message = f"the configuration of {client.title} has no servers over HTTP"
        raise invalid("url", message, hint=_OWN_SERVER, usage=True)
    return entry


def on_stdio(
    client: Client,
    name: str,
    words: list[str],
    args: Sequence[str],
    env: Mapping[str, str],
    flags: Mapping[str, object],
) -> dict[str, object]:
    """Return the entry for a server that the client starts as `WORDS mcp ARGS`. What `env` and `flags`, those of this
    call, say of the job root and the configuration is passed on."""
    return registry.stdio_entry(client, name, words[0], [*words[1:], "mcp", *args], _environment(env, flags))


def _environment(env: Mapping[str, str], flags: Mapping[str, Any]) -> dict[str, str]:
    variables = {}
    for flag, own, general, usual in _PASSED:
        given = flags.get(flag) or env.get(own)
        if given:
            variables[own] = given
        elif env.get(general) and env[general] != os.path.join(env.get("HOME", ""), usual):
            variables[general] = env[general]
    return variables


def check_arguments(words: list[str], args: Sequence[str]) -> None:
    """Ask the server now whether it takes these arguments: a client may hide its refusal. Errors: invalid_argument."""
    asked = [*words, "mcp", *args, "--help"]
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False)
    if done.returncode == 0:
        return
    try:
        error = json.loads(done.stdout)["error"]
    except (ValueError, KeyError, TypeError):
        error = {"message": f"{' '.join(asked)} ended with {done.returncode}"}
    raise invalid("args", error["message"], hint=error.get("hint"), usage=True)


def advice(client: Client, level: str, entry: dict[str, Any], env: Mapping[str, str], *, changed: bool) -> str:
    sentences = []
    command = (registry.words_of(entry) or [""])[0]
    if any(part in _TEMPORARY for part in command.split("/")[:-1]):
        sentences.append(f"{command} looks temporary: install outlive for good, and do this again from there.")
    ours = real_path(sys.prefix)
    if is_in(real_path(command), [ours]) and not own_programs.is_safe(os.path.dirname(ours), env):
        sentences.append(
            f"{command} lies in a project: jobs in a sandbox of another outlive may write it, and the client starts it "
            "outside of any. Better install outlive elsewhere, and do this again from there."
        )
    if level == registry.PROJECT and command.startswith("/"):
        sentences.append(
            "The path is valid on this machine only; if others share the file, use --command outlive. "
            "PATH of the client then decides what runs: none of its directories may lie in the project."
        )
    if registry.has_no_token(entry):
        sentences.append(
            "The server asks for a token: make one with `outlive token add NAME`, name its variable with --token-env."
        )
    if changed:
        sentences.append(f"If {client.title} runs, start it again: it reads the file then.")
    return " ".join(sentences)
