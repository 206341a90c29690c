"""Answer the view of a job that a client shows in its chat (MCP Apps): the document, and its calls.

The view asks what the page of `outlive ui` asks, through its host. Its calls move no read position
and take no notice from the model, which shares the connection with it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from mcp import types

from outlive.mcp.caller import Caller, Request
from outlive.mcp.extension import Extension, Front, Handler
from outlive.mcp.introduction import DAY_MS
from outlive.mcp.json_safe import encodable_members
from outlive.mcp.masking import Masking
from outlive.parts.page.chat import questions
from outlive.parts.page.chat.declaration import MIME_TYPE, TOOLS, VIEW, VIEW_URI


class View(Extension):
    """The requests of one server's views."""

    def __init__(self, front: Front) -> None:
        self._calls = front.calls
        self.tools = TOOLS if self._calls.tools.process else ()  # without it there is nothing that a view could ask

    @cached_property
    def _questions(self) -> questions.Questions:
        return questions.Questions(self._calls)

    async def call(self, params: types.CallToolRequestParams, caller: Caller) -> types.CallToolResult:
        reads = params.name == VIEW
        answer = encodable_members(await self._questions.answer(params.arguments or {}, caller, reads=reads))
        secrets = self._calls.secrets
        if isinstance(rows := answer.get("rows"), list):
            _mask_together([row for row in rows if isinstance(row, list)], secrets, answer)
        printed, safe = answer.get("data"), secrets.masked_members(answer, answer)
        if isinstance(printed, str):  # by a terminal
            drawn = base64.b64decode(printed).decode("utf-8", "surrogateescape")
            masked = secrets.masked(drawn, answer).encode("utf-8", "surrogateescape")
            safe["data"] = base64.b64encode(masked).decode("ascii")
        return types.CallToolResult(content=[], structured_content=safe, is_error=not answer["ok"])

    def handlers(self) -> dict[str, Handler]:
        return {"resources/read": Handler(types.ReadResourceRequestParams, self._read)}

    async def _read(self, _ctx: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult | None:
        if params.uri.rstrip("/") != VIEW_URI or not self.tools:
            return None
        about = {"ui": {"prefersBorder": True}}  # and the policy that hosts have for documents by default
        text = types.TextResourceContents(uri=VIEW_URI, mime_type=MIME_TYPE, text=questions.document(), _meta=about)
        return types.ReadResourceResult(contents=[text], ttl_ms=DAY_MS, cache_scope="public")


def _mask_together(rows: Sequence[list[Any]], secrets: Masking, answer: Mapping[str, object]) -> None:
    """Mask rows of a job's output (views/rows.py) as one text: a secret may go over several rows, and its parts come from
    both streams. A row in which one is masked is of its first stream."""
    texts = ["".join(piece for piece in runs if isinstance(piece, str)) for _, _, runs, *_ in rows]
    masked: Any = secrets.masked_members({"texts": texts}, answer)["texts"]
    for row, before, after in zip(rows, texts, masked, strict=True):
        if after != before:
            stream = next(kind for kind, piece in zip(row[2][::2], row[2][1::2], strict=True) if isinstance(piece, str))
            row[2] = [stream, after]
