"""What a part answers in a server besides the two tools."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from mcp import types

from outlive.mcp.caller import Caller


class Extension(Protocol):
    """Requests of one server that a part answers."""

    @property
    def tools(self) -> Collection[str]:
        """The tools that it has, which no model calls."""

    async def call(self, params: types.CallToolRequestParams, caller: Caller) -> types.CallToolResult:
        """Answer a call of one of the tools."""

    def document(self, uri: str) -> types.ReadResourceResult | None:
        """Return the resource with this URI; None if it is none of these."""
