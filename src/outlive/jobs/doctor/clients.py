"""What stands around outlive: the clients that know of it, and a sandbox for what it runs."""

from __future__ import annotations

from outlive.client_config.discover import survey
from outlive.config import KEYS
from outlive.jobs.doctor.finding import Finding, ok, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.doctor.finding import Place


def sandbox(place: Place) -> Finding:
    """Says only what is so: there is no such setting yet."""
    if "sandbox" not in KEYS:
        return ok("no sandbox is configured: jobs may do whatever their user may", configured=False)
    configured = place.config is not None and any(place.config.is_set("sandbox", key) for key in KEYS["sandbox"])
    return ok("a sandbox is configured" if configured else "no sandbox is configured", configured=configured)


def clients(place: Place) -> Finding:
    """Which MCP clients are set up to start `outlive mcp`, and could they?"""
    looked = survey(place.env, place.cwd)
    configured = [one for one in looked if one["configured"]]
    broken = [one for one in looked if one["problem"]]
    facts = {"clients": [one for one in looked if one["present"]]}
    if broken:
        told = "; ".join(f"{one['title']} ({one['scope']}): {one['problem']}" for one in broken)
        return warn(
            told,
            "`outlive install CLIENT` writes the entry anew; a file that cannot be read has to be mended.",
            **facts,
        )
    if not configured:
        return ok("no MCP client is set up to start outlive yet: `outlive install CLIENT` does it", **facts)
    return ok("set up in " + ", ".join(f"{one['title']} ({one['scope']})" for one in configured), **facts)
