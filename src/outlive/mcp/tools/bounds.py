"""How long a call over MCP may last."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from outlive import limits
from outlive.core.members import number_of
from outlive.mcp.tools.offer import types
from outlive.verbs.spec import Verb


def clamp(
    verb: Verb, args: dict[str, object], longest_ms: Callable[[], int]
) -> tuple[dict[str, object], dict[str, int]]:
    """Return the arguments with the waiting time cut to what the client allows, and what the answer says about the cut.
    `longest_ms` is asked for what is longer than MCP_CALL_MS alone."""
    name = waiting_argument(verb, args)
    if name is None:
        return args, {}
    given, most = args[name], limits.MCP_CALL_MS
    wanted = given if isinstance(given, int) else None
    if types(verb):
        args = {**args, **{other: min(number_of(args, other), most) for other in ("wait_ms", "timeout_ms")}}
    elif wanted is None or wanted > most:
        most = longest_ms()
    if wanted is None and name == "wait_ms":  # the default depends on the grace
        wanted = number_of(args, "grace_ms") + limits.KILL_WAIT_EXTRA_MS
    if wanted is not None and wanted <= most:
        return args, {}
    report = {} if wanted is None else {"requested_ms": wanted, "effective_ms": most}
    return {**args, name: most}, report


def without_limit(verb: Verb, args: dict[str, object], written: Mapping[str, str]) -> dict[str, object]:
    """Return the arguments of a call for which no client waits: it lasts until it has an answer, unless its caller gave it
    a time, as one of `written`."""
    name = waiting_argument(verb, args)
    return args if name is None or name in written else {**args, name: limits.MAX_DURATION_MS}


def waiting_argument(verb: Verb, args: Mapping[str, object]) -> str | None:
    """Return the parameter that bounds the duration of the call. `timeout_ms` of a verb that starts jobs is the
    job's."""
    if verb.name in ("poll", "wait"):
        return "timeout_ms" if "timeout_ms" in args else None
    if types(verb):  # first the job reads it, then it reacts
        return max("wait_ms", "timeout_ms", key=lambda name: number_of(args, name))
    name = "wait_ms" if verb.name == "kill" else "yield_ms"
    return None if name not in args or (args.get("background") and not args.get("until")) else name
