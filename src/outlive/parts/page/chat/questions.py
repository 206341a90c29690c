"""The view of a job inside a chat (MCP Apps): parts of the page in one document, and what it asks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

import outlive
from outlive.core.records import CONTROL, READ
from outlive.errors import invalid
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from outlive.mcp.tools.offer import PROCESS
from outlive.parts.page import bundle
from outlive.parts.page.api import Api, fault_of, taken
from outlive.verbs import envelope

_READS, _CONTROLS, _ACTION = ("rows", "terminal"), ("keyboard", "type"), "process"
# Not by importlib.resources: a server imports from an archive that has no such files
_STATIC = os.path.join(outlive.DIRECTORY, "parts/page/static")


class Questions:
    """What a view may ask: the reading methods of the page's API, and what ends a job or writes to
    it. A view starts nothing and approves nothing."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._api = Api(calls)

    async def answer(self, given: Mapping[str, object], caller: Caller, *, reads: bool) -> dict[str, object]:
        """Return the envelope of the answer to {method, given}. `reads`: the question came by the
        tool that only reads."""
        try:
            asked = taken(given, {"method": str, "given": dict}, "method")
            name, arguments = asked["method"], asked.get("given", {})
            self._check(name, arguments, reads=reads)
            return await self._api.methods[name](caller.changed(person=True), arguments)
        except Exception as error:  # noqa: BLE001 - the view is told, and the server outlives its own faults
            return envelope.failure(fault_of(error, "answering a view"))

    def _check(self, name: str, arguments: Mapping[str, object], *, reads: bool) -> None:
        """Raise invalid_argument for a method that this tool has not."""
        known = (*(_READS if reads else _CONTROLS), _ACTION)
        if name not in known:
            raise invalid("method", f"no such method: {name[:40]}", hint=f"There are: {', '.join(known)}.")
        if name != _ACTION:
            return
        verb, _ = self._calls.tools.read(PROCESS, arguments)
        if verb.right != (READ if reads else CONTROL):
            does = "only reads" if reads else "only ends jobs and writes to them"
            raise invalid("action", f"this tool {does}: {verb.name} is not for it")


@cache
def document() -> str:
    """Return the view as one HTML document, which loads nothing."""

    def read(path: str) -> str:
        with open(os.path.join(_STATIC, path), encoding="utf-8") as file:
            return file.read()

    script = bundle.bundled("chat/view.js", read, instead={"api.js": "chat/bridge.js"})
    styles = "\n".join(map(read, ("style.css", "vendor/xterm.css", "chat/view.css")))
    parts = {"VERSION": outlive.__version__, "STYLES": styles, "SCRIPT": script}
    return bundle.filled(read("chat/view.html"), parts)
