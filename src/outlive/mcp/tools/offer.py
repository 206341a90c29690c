"""Which tools, actions and arguments a server offers, and the defaults in force. Nothing here and in
`listing` needs the SDK or pydantic: the list of tools is made before either is imported."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from outlive import parts
from outlive import verbs as verbs_module
from outlive.answers.writing import Written
from outlive.config import Config
from outlive.errors import invalid
from outlive.verbs import spec
from outlive.verbs.spec import Arg, Verb

EXEC, PROCESS = TOOLS = ("exec", "process")
RUN = "run"
STARTING = frozenset({RUN, "create", "start", "restart"})  # take defaults from [exec] of the configuration
_OFFERED_WHERE_POSSIBLE = frozenset({"sandbox", "network"})  # without a word of the configuration too
_USUAL = ("/bin", "/usr/bin", "/usr/local/bin")  # of bash
WAIT_ARGUMENTS = ("yield_ms", "background")  # not for `--tools exec`, which answers at the end of a command


def offered(text: str) -> frozenset[str]:
    """Return the tools that the value of `--tools` names. Errors: invalid_argument."""
    wanted = frozenset(word.strip() for word in text.split(",") if word.strip())
    unknown = sorted(wanted - {*TOOLS})
    if unknown or not wanted:
        message = f"not a tool: {unknown[0]}" if unknown else "--tools names no tool"
        raise invalid("tools", message, hint=f"Tools: {', '.join(TOOLS)}.", usage=True)
    return wanted


def process_verbs() -> dict[str, Verb]:
    """Return every verb of the process tool by the name of its action."""
    return {verb.action: verb for verb in map(verbs_module.load, verbs_module.offered()) if verb.name != RUN}


def types(verb: Verb) -> bool:
    """Return whether a verb types into a job: it answers with the job's reaction, as poll would."""
    return verb.result is Written


def tool_annotations(*, open_world: bool, reads: bool = False) -> dict[str, bool]:
    return {"readOnlyHint": reads, "destructiveHint": not reads, "idempotentHint": False, "openWorldHint": open_world}


def accepted(verb: Verb) -> list[Arg]:
    return [arg for arg in verb.args if arg.mcp]


def listed(verb: Verb, config: Config, limited: Collection[str] = ()) -> list[Arg]:
    """Return the arguments that the schema shows to a model: those that are not hidden, and of which the configuration
    makes use. `limited`: the sections of it in which the client has a limit of its own."""
    shown = [arg for arg in accepted(verb) if not arg.hidden]
    useful = [arg for arg in shown if arg.section is None or arg.section in limited or config.uses(arg.section)]
    possible = [arg for arg in shown if arg.name in _OFFERED_WHERE_POSSIBLE and arg not in useful]
    if possible and any(can(config) for can in parts.functions("can_sandbox")):
        useful = [arg for arg in shown if arg in useful or arg in possible]
    return useful


def default_of(arg: Arg) -> object:
    """Return the declared default in the unit of the action: durations are declared in seconds or ms, and passed in
    ms."""
    if arg.kind == spec.SECONDS and arg.mcp_default is not None:
        return round(arg.mcp_default * 1000)
    return arg.mcp_default


def defaults_of(verb: Verb, config: Config) -> dict[str, object]:
    """Return the configured defaults of a verb, by name over MCP, in the units of the action."""
    configured = {}
    if verb.name in STARTING:
        configured["yield_ms"] = config.get("exec", "background_ms")
        configured["timeout"] = round(config.get("exec", "timeout_sec") * 1000)
    shown = config.get("exec", "max_output_bytes")
    if verb.name == "poll" or types(verb):
        pending = config.get("exec", "pending_max_output_bytes")
        shown = shown if pending is None else pending
    if shown is not None:
        configured["max_bytes"] = shown // 2 if verb.name == "tail" else shown  # its bound is that of one stream
    # Without a declared default the action reads the configuration itself
    args = {arg.mcp: arg for arg in accepted(verb) if arg.mcp_default is not None}
    return {
        name: max(args[name].minimum or 0, min(value, args[name].maximum or value))
        for name, value in configured.items()
        if name in args
    }


def shell_of(config: Config, env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(config.get("shell", "unix") or shell_for_models(env))


def shell_for_models(env: Mapping[str, str]) -> tuple[str, str]:
    """Return the words that run a shell string: bash, for which every model writes, else sh."""
    if any(map(_has_bash, filter(None, env.get("PATH", "").split(os.pathsep)))):
        return "bash", "-c"
    usual = next((folder for folder in _USUAL if _has_bash(folder)), None)  # a client may give no PATH
    return ("sh", "-c") if usual is None else (f"{usual}/bash", "-c")


def _has_bash(folder: str) -> bool:
    path = os.path.join(folder, "bash")
    return os.access(path, os.X_OK) and os.path.isfile(path)
