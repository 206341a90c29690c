"""The MCP clients that are set up to start outlive."""

from __future__ import annotations

from outlive.client_config.discover import survey
from outlive.jobs.doctor.finding import Finding, ok, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.doctor.finding import Place


def clients(place: Place) -> Finding:
    """Check which MCP clients are set up to start `outlive mcp`, and whether they can."""
    looked = survey(place.env, place.cwd)
    configured = [one for one in looked if one["configured"]]
    broken = [one for one in looked if one["problem"]]
    facts = {"clients": [one for one in looked if one["present"]]}
    if broken:
        told = "; ".join(f"{one['title']} ({one['scope']}): {one['problem']}" for one in broken)
        advice = "`outlive install CLIENT` writes the entry anew; a file that cannot be read has to be mended."
        return warn(told, advice, **facts)
    if not configured:
        return ok("no MCP client is set up to start outlive yet: `outlive install CLIENT` does it", **facts)
    return ok("set up in " + ", ".join(f"{one['title']} ({one['scope']})" for one in configured), **facts)
