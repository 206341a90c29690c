"""The jobs on a page in the browser, and in a view inside the chat of a client."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.rights import Rights
from outlive.part import Part, Tool


class Page(Part):
    name = "page"
    needs = ("http", "failures", "permission", "terminal")
    verbs = {"ui": "outlive.parts.page.verbs:UI"}
    extension = "outlive.parts.page.chat.handlers:View"
    beside_mcp = "outlive.parts.page.beside:Beside"

    def capabilities(self, *, channel: bool) -> dict[str, dict[str, object]]:
        return {"resources": {"listChanged": False}}  # the document of the view

    def tools(self, offered: list[Tool], capabilities: Mapping[str, object], rights: Rights) -> list[Tool]:
        from outlive.parts.page.chat import declaration

        return declaration.with_view(offered, capabilities, rights)

    def reads_object(self, capabilities: Mapping[str, object]) -> bool:
        from outlive.parts.page.chat import declaration

        return declaration.is_declared(capabilities)


PART = Page()
