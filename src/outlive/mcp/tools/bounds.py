"""How long a call over MCP may last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlive import limits
from outlive.mcp.tools.offer import WRITING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from outlive.verbs.spec import Verb


def clamp(verb: Verb, args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the arguments with the waiting time cut to MCP_CALL_MS, and what the answer says
    about the cut."""
    name = waiting_argument(verb, args)
    if name is None:
        return args, {}
    wanted = args[name]
    if verb.name in WRITING:
        args = {**args, **{other: min(args[other], limits.MCP_CALL_MS) for other in ("wait_ms", "timeout_ms")}}
    if wanted is None and name == "wait_ms":  # the default depends on the grace
        wanted = (args.get("grace_ms") or 0) + limits.KILL_WAIT_EXTRA_MS
        if wanted <= limits.MCP_CALL_MS:
            return args, {}
    if wanted is not None and wanted <= limits.MCP_CALL_MS:
        return args, {}
    report = {} if wanted is None else {"requested_ms": wanted, "effective_ms": limits.MCP_CALL_MS}
    return {**args, name: limits.MCP_CALL_MS}, report


def without_limit(verb: Verb, args: dict[str, Any], written: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of a call for which nobody waits: it lasts until it has an answer, unless
    its caller gave it a time, as one of `written`."""
    name = waiting_argument(verb, args)
    return args if name is None or name in written else {**args, name: limits.MAX_DURATION_MS}


def waiting_argument(verb: Verb, args: dict[str, Any]) -> str | None:
    """Return the parameter that bounds the duration of the call. `timeout_ms` of a verb that
    starts jobs is the job's."""
    if verb.name in ("poll", "wait"):
        return "timeout_ms" if "timeout_ms" in args else None
    if verb.name in WRITING:  # first the job reads it, then it reacts
        return max("wait_ms", "timeout_ms", key=lambda name: args.get(name) or 0)
    name = "wait_ms" if verb.name == "kill" else "yield_ms"
    return None if name not in args or (args.get("background") and not args.get("until")) else name
