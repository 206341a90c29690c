"""What stands around outlive: the clients that know of it, and a sandbox for what it runs."""

from __future__ import annotations

from outlive.actions.checks.finding import Finding, ok
from outlive.config import KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.actions.checks.finding import Place


def sandbox(place: Place) -> Finding:
    """Says only what is so: there is no such setting yet."""
    if "sandbox" not in KEYS:
        return ok("no sandbox is configured: jobs may do whatever their user may", configured=False)
    configured = place.config is not None and any(place.config.is_set("sandbox", key) for key in KEYS["sandbox"])
    return ok("a sandbox is configured" if configured else "no sandbox is configured", configured=configured)


def clients(place: Place) -> Finding:
    """Which MCP clients are set up to start `outlive mcp`."""
    return ok(
        "the configurations of MCP clients are not looked at; `examples/clients` has one for each", looked_at=False
    )
