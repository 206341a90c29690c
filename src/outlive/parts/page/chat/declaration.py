"""What the tools tell a client that shows views (MCP Apps, `io.modelcontextprotocol/ui`).

Nothing here needs the SDK: the list of tools is made before that is imported. Clients that do not
declare the extension get no word of this.
"""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.members import object_of
from outlive.core.records import CONTROL as CONTROL_RIGHT
from outlive.core.rights import Rights
from outlive.mcp.tools.offer import PROCESS, tool_annotations

EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
VIEW_URI = "ui://outlive/job"  # the same in every version: a chat that is opened again asks for it
VIEW, CONTROL = TOOLS = ("job_view", "job_control")  # what the view calls, and no model


def is_declared(capabilities: Mapping[str, object]) -> bool:
    """Return whether a client with these capabilities shows views."""
    extensions = capabilities.get("extensions")
    settings = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    kinds = settings.get("mimeTypes") if isinstance(settings, dict) else None
    return isinstance(kinds, list) and MIME_TYPE in kinds


def with_view(
    tools: list[dict[str, object]], capabilities: Mapping[str, object], rights: Rights
) -> list[dict[str, object]]:
    """Return the tools with the view that shows their answers, and the tools which that view calls, for a client that
    shows views. Without the tool `process` there is nothing that the view could ask."""
    if not is_declared(capabilities) or not any(tool["name"] == PROCESS for tool in tools):
        return tools
    shown = [{**tool, "_meta": {**object_of(tool, "_meta"), "ui": {"resourceUri": VIEW_URI}}} for tool in tools]
    shown.append(_of_the_view(VIEW, "Show a job", "For the view of a job: read it.", reads=True))
    if rights.allows(CONTROL_RIGHT):
        about = "For the view of a job: end it, write to it."
        shown.append(_of_the_view(CONTROL, "Control a job", about, reads=False))
    return shown


def _of_the_view(name: str, title: str, about: str, *, reads: bool) -> dict[str, object]:
    return {
        "name": name,
        "title": title,
        "description": about,
        "inputSchema": {
            "type": "object",
            "properties": {"method": {"type": "string"}, "given": {"type": "object"}},
            "required": ["method"],
        },
        "annotations": tool_annotations(open_world=False, reads=reads),
        # Hosts hide it from their models, and let the view alone call it
        "_meta": {"ui": {"visibility": ["app"]}},
    }
