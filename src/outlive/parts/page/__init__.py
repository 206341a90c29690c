"""The jobs on a page in the browser, and in a view inside the chat of a client."""

from __future__ import annotations

from outlive.part import Part


class Page(Part):
    name = "page"
    needs = ("http", "failures", "approvals", "terminal")
    verbs = {"ui": "outlive.parts.page.verbs:UI"}
    extension = "outlive.parts.page.chat.handlers:View"
    capabilities = {"resources": {"listChanged": False}}  # the document of the view
    tools = "outlive.parts.page.chat.declaration:with_view"
    reads_object = "outlive.parts.page.chat.declaration:is_declared"
    beside_mcp = "outlive.parts.page.beside:Beside"


PART = Page()
