"""What the server says it can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.lowlevel import NotificationOptions


class HonestServer(Server[Any]):
    """The SDK takes a server with `subscriptions/listen` for one that tells of changed lists, and `server/discover`
    leaves out `experimental`. Ours tells of resources only, and says the same in every revision of the protocol."""

    experimental: dict[str, dict[str, Any]] | None = None

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        found = super().get_capabilities(
            notification_options,
            experimental_capabilities or self.experimental,
            extensions,
            protocol_version=protocol_version,
        )
        for part in (found.tools, found.prompts, found.resources):
            if part is not None:
                part.list_changed = False
        return found
