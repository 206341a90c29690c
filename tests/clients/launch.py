"""The five clients: what npm has of each, how it is configured in an empty home, and how it is started with a prompt."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from clients.script import PROMPT
from conformance import npm
from support.pages import CHECKOUT
from support.preloaded import OUTLIVE

CODEX = "@openai/codex@0.169.0"
NODE = "node-linux-{}@26.10.0"  # OpenClaw wants one this new
CODEX_MODEL = "gpt-5.5"  # Codex knows its limits; the tools come by a search
CODE_MODEL = "gpt-6-sol"  # as that one, but the model calls tools from JavaScript
# A server starts later on a busy machine than Codex waits (10 s) and Claude Code (30 s)
START_S = 180
SLOW_START = {"MCP_TIMEOUT": str(START_S * 1000)}
_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}
# Where npm puts the program of each client
PROGRAMS = {
    "claude": "@anthropic-ai/claude-code-linux-*/claude",
    "codex": "@openai/codex-linux-*/vendor/*/bin/codex",
    "gemini": "@google/gemini-cli/bundle/gemini.js",
    "opencode": "opencode-linux-*/bin/opencode",
    "openclaw": "openclaw/openclaw.mjs",
}


class Start(NamedTuple):
    """What starts a client: the command, and the environment besides the home and the path."""

    command: list[str]
    env: dict[str, str]


class Place(NamedTuple):
    """Where a client runs. `modules` is what npm installed, `url` the model."""

    modules: Path
    home: Path
    work: Path
    url: str
    prompt: str = PROMPT
    outlive: Path = Path(OUTLIVE[0]).with_name("outlive")

    def write(self, name: str, text: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        path = self.home / name
        text = path.read_text(encoding="utf-8")
        assert old in text, text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def install(self, name: str) -> None:
        """Put outlive into the client's configuration, as a user would."""
        words = [str(self.outlive), "install", name, "--command", str(self.outlive)]
        subprocess.run(words, env=self.env(), cwd=self.work, check=True, stdout=subprocess.DEVNULL)

    def program(self, name: str) -> list[str]:
        """Return the words that start a client. Errors: Unavailable where npm has none for this machine."""
        found = self._native(PROGRAMS[name])
        return [self._native("node-linux-*/bin/node"), found] if found.endswith("js") else [found]

    def _native(self, pattern: str) -> str:
        found = sorted(self.modules.glob(pattern))
        if not found:
            raise npm.Unavailable(f"npm has no {pattern} for {os.uname().machine}")
        return str(found[0])

    def path_with(self, name: str, folder: Path) -> str:
        """Return a PATH in which a client has the name that a person types; `folder` is made for it."""
        folder.mkdir()
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(self.program(name))} "$@"\n', encoding="utf-8")
        script.chmod(0o700)
        return f"{folder}:{self.env()['PATH']}"

    def env(self) -> dict[str, str]:
        # Where pipx puts it, and the launcher of a plugin looks. A link would lead into a clone, which jobs may have written
        command = self.home / ".local" / "bin" / "outlive"
        if not command.exists():
            command.parent.mkdir(parents=True, exist_ok=True)
            command.write_text(f'#!/bin/sh\nexec {shlex.quote(str(self.outlive))} "$@"\n', encoding="utf-8")
            command.chmod(0o700)
        path = f"{command.parent}:/usr/local/bin:/usr/bin:/bin"
        more = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "NO_COLOR": "1", "FROM_OUTSIDE": "1"}
        return {"HOME": str(self.home), "PATH": path, **more}


def _claude(place: Place) -> Start:
    place.install("claude-code")
    words = f"--model claude-sonnet-4-5 --allowedTools mcp__outlive Bash --output-format stream-json --verbose --debug-file {place.home}/debug.log"
    (program,) = place.program("claude")
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY")
    env = {"ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": "dummy", **SLOW_START, **dict.fromkeys(quiet, "1")}
    return Start([program, "-p", place.prompt, *words.split()], env)


def _codex_in_code(place: Place) -> Start:
    return _codex(place, CODE_MODEL)


def _codex(place: Place, model: str = CODEX_MODEL) -> Start:
    config = f"""\
model = "{model}"
model_provider = "fake"

[model_providers.fake]
name = "Fake"
base_url = "{place.url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
requires_openai_auth = false

[projects."{place.work}"]
trust_level = "trusted"
"""
    place.write(".codex/config.toml", config)
    place.install("codex")
    place.change(
        ".codex/config.toml", "[mcp_servers.outlive]\n", f"[mcp_servers.outlive]\nstartup_timeout_sec = {START_S}\n"
    )
    words = "exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox"
    (program,) = place.program("codex")
    return Start([program, *words.split(), place.prompt], {"FAKE_KEY": "dummy"})


def _gemini(place: Place) -> Start:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    }
    place.write(".gemini/settings.json", json.dumps(settings))
    place.install("gemini")
    words = "--yolo --model gemini-2.5-flash --output-format stream-json"
    env = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": place.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return Start([*place.program("gemini"), "-p", place.prompt, *words.split()], env)


def _opencode(place: Place) -> Start:
    model = {"name": "Fake", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
    options = {"baseURL": f"{place.url}/v1", "apiKey": "dummy"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options, "models": {"fake-model": model}}
    names = {"model": "fake/fake-model", "small_model": "fake/fake-model", "provider": {"fake": provider}}
    settings = {"autoupdate": False, "share": "disabled", **names, "permission": {"*": "allow"}}
    place.write(".config/opencode/opencode.json", json.dumps(settings))
    place.install("opencode")
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    (program,) = place.program("opencode")
    return Start([program, "run", "--format", "json", place.prompt], {f"OPENCODE_DISABLE_{name}": "1" for name in off})


def _openclaw(place: Place) -> Start:
    price = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    size = {"contextWindow": 200_000, "maxTokens": 8_192}
    model = {"id": "fake-model", "name": "Fake", "reasoning": False, "input": ["text"], "cost": price, **size}
    provider = {"baseUrl": f"{place.url}/v1", "apiKey": "dummy", "api": "openai-completions", "models": [model]}
    settings = {
        "agents": {"defaults": {"model": {"primary": "fake/fake-model"}}},
        "models": {"mode": "merge", "providers": {"fake": provider}},
    }
    place.write(".openclaw/openclaw.json", json.dumps(settings))
    place.install("openclaw")
    words = f"--cwd {place.work} --model fake/fake-model --json --timeout 850"
    command = [*place.program("openclaw"), "agent", "exec", place.prompt, *words.split()]
    return Start(command, {"OPENCLAW_SKIP_UPDATE_CHECK": "1", "OPENCLAW_NO_RESPAWN": "1"})


# The same in a terminal, as a person starts it: what a client asks at its first start is answered in its settings


def _claude_in_terminal(place: Place) -> Start:
    start = _claude(place)
    path = place.home / ".claude.json"
    known = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {str(place.work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    place.write(".claude.json", json.dumps(json.loads(path.read_text(encoding="utf-8")) | known))
    words = "--model claude-sonnet-4-5 --allowedTools mcp__outlive Bash"
    return Start([start.command[0], place.prompt, *words.split()], start.env)


def _codex_in_terminal(place: Place) -> Start:
    start = _codex(place)
    path = place.home / ".codex/config.toml"
    newer = f'\n[notice.model_migrations]\n"{CODEX_MODEL}" = "{CODE_MODEL}"\n'  # else it asks which of them to take
    place.write(".codex/config.toml", path.read_text(encoding="utf-8") + newer)
    return Start([start.command[0], "--dangerously-bypass-approvals-and-sandbox", place.prompt], start.env)


def _gemini_in_terminal(place: Place) -> Start:
    start = _gemini(place)
    return Start([*start.command[:2], "-i", place.prompt, "--yolo", "--model", "gemini-2.5-flash"], start.env)


def _opencode_in_terminal(place: Place) -> Start:
    start = _opencode(place)
    return Start([start.command[0], "--prompt", place.prompt], start.env)


def _openclaw_in_terminal(place: Place) -> Start:
    start = _openclaw(place)
    return Start([*start.command[:2], "tui", "--local", "--message", place.prompt], start.env)


def with_plugin(place: Place, start: Start) -> Start:
    """Return what starts Claude Code with the plugin of the checkout in place of the entry in its configuration."""
    words = [str(place.outlive), "uninstall", "claude-code"]
    subprocess.run(words, env=place.env(), cwd=place.work, check=True, stdout=subprocess.DEVNULL)
    command = [word.replace("mcp__outlive", "mcp__plugin_outlive_outlive") for word in start.command]
    return Start([*command, "--plugin-dir", str(CHECKOUT / "plugins" / "outlive")], start.env)


class Client(NamedTuple):
    """A client: the packages that npm installs, and what configures and starts it for a script and in a terminal."""

    packages: tuple[str, ...]
    start: Callable[[Place], Start]
    in_terminal: Callable[[Place], Start]


CLIENTS = {
    "claude": Client(("@anthropic-ai/claude-code@2.1.330",), _claude, _claude_in_terminal),
    "codex": Client((CODEX,), _codex, _codex_in_terminal),
    "codex-code": Client((CODEX,), _codex_in_code, _codex_in_terminal),
    "gemini": Client(("@google/gemini-cli@0.61.0", NODE), _gemini, _gemini_in_terminal),
    "opencode": Client(("opencode-ai@1.18.33",), _opencode, _opencode_in_terminal),
    "openclaw": Client(("openclaw@2026.9.6", NODE), _openclaw, _openclaw_in_terminal),
}


def installed(name: str) -> Path:
    """Return the node_modules of a client, which npm installs the first time. Errors: Unavailable."""
    machine = _MACHINE.get(os.uname().machine, os.uname().machine)
    packages = [package.format(machine) for package in CLIENTS[name].packages]
    program = name.removesuffix("-code")
    place = npm.CACHE / f"client-{program}-{sha256(' '.join(packages).encode()).hexdigest()[:12]}"
    npm.keep(place, ["install", "--no-save", *packages])
    return place / "node_modules"
