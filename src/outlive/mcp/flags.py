"""The command lines of the servers: `outlive mcp` and `outlive serve`."""

from __future__ import annotations

import os

from outlive.errors import OutliveError, invalid, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = ("exec", "process")


def read(
    verb: str,
    argv: list[str],
    values: tuple[str, ...],
    switches: tuple[str, ...],
    options: dict[str, Any],
    *,
    repeated: tuple[str, ...] = (),
) -> dict[str, Any] | None:
    """Name without hyphens in front → its value (else that of the global `options`, else None; `repeated`: a list), or
    whether it was given. None: help is wanted. Errors: invalid_argument."""
    found: dict[str, Any] = {name[2:]: [] if name in repeated else options.get(name[2:]) for name in values}
    found |= {name[2:]: False for name in switches}
    words = list(argv)
    while words:
        flag, equals, value = words.pop(0).partition("=")
        if flag in ("-h", "--help"):
            return None
        if flag in switches and not equals:
            found[flag[2:]] = True
            continue
        if flag not in values:
            raise _unknown(verb, flag, [*values, *switches])
        if not equals:
            if not words:
                raise invalid(flag[2:], f"{flag} needs a value", usage=True)
            value = words.pop(0)
        if not value:
            raise invalid(flag[2:], f"{flag} has an empty value", usage=True)
        if flag in repeated:
            found[flag[2:]].append(value)
        else:
            found[flag[2:]] = value
    return found


def _unknown(verb: str, flag: str, known: list[str]) -> OutliveError:
    near = nearest(flag, known)
    hint = f"Did you mean {near}?" if near else f"Known: {', '.join(known)}."
    return invalid(flag.lstrip("-"), f"unknown argument of outlive {verb}: {flag}", hint=hint, usage=True)


def tools(text: str | None) -> frozenset[str]:
    """What `--tools` means. Errors: invalid_argument."""
    wanted = frozenset(word.strip() for word in (text or ",".join(_TOOLS)).split(",") if word.strip())
    unknown = sorted(wanted - set(_TOOLS))
    if unknown or not wanted:
        message = f"not a tool: {unknown[0]}" if unknown else "--tools names no tool"
        raise invalid("tools", message, hint="Tools: exec, process.", usage=True)
    return wanted


def usage_error(error: OutliveError, usage: str) -> int:
    """The answer to a command line that makes no sense; the exit status."""
    from outlive.verbs.envelope import encoded, failure

    os.write(1, encoded(failure(error)) + b"\n")
    os.write(2, usage.encode())
    return 2
