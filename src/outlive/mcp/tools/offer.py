"""Which tools a server offers."""

from __future__ import annotations

from outlive.errors import invalid

TOOLS = ("exec", "process")


def offered(text: str) -> frozenset[str]:
    """Return the tools that the value of `--tools` names. Errors: invalid_argument."""
    wanted = frozenset(word.strip() for word in text.split(",") if word.strip())
    unknown = sorted(wanted - {*TOOLS})
    if unknown or not wanted:
        message = f"not a tool: {unknown[0]}" if unknown else "--tools names no tool"
        raise invalid("tools", message, hint=f"Tools: {', '.join(TOOLS)}.", usage=True)
    return wanted
