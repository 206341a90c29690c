"""What `host check` finds, as it is answered: {name, status ok|warn|fail, found, advice?}."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Finding = dict[str, Any]


def finding(name: str, status: str, found: str, advice: str | None = None) -> Finding:
    return {"name": name, "status": status, "found": found, **({"advice": advice} if advice else {})}


def is_sandboxed(ctx: Any, host: str) -> bool:
    """Return whether jobs on a host run in a sandbox unless a call asks for another one."""
    return ctx.config.sandbox_of(host)["mode"] not in (None, "off")


def of_sandbox(where: str, seen: dict[str, str | None]) -> Finding:
    """Return the finding for what bubblewrap.found() returned there."""
    if seen["problem"] is None:
        return finding("sandbox", "ok", f"{seen['bwrap']} works {where}.")
    return finding("sandbox", "fail", f"No sandbox {where}: {seen['problem']}.", f"There: {seen['advice']}")
