"""What the scenarios list, call, read and get that needs no client: tools, resources and prompts with fixed answers."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import wave
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from mcp import MCPError, types

Request = Any  # the SDK's ServerRequestContext
ToolAnswer = types.CallToolResult | types.InputRequiredResult


class Offered(NamedTuple):
    """A tool and what answers its calls."""

    tool: types.Tool
    call: Callable[[Request, types.CallToolRequestParams], Awaitable[ToolAnswer]]


def tool(name: str, description: str, schema: dict[str, Any] | None = None) -> types.Tool:
    return types.Tool(name=name, description=description, input_schema=schema or {"type": "object", "properties": {}})


def strings(*names: str) -> dict[str, Any]:
    """The schema of an object with these texts, all of them required."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def said(*content: types.ContentBlock | str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=one) if isinstance(one, str) else one for one in content]
    )


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


def _wav() -> str:
    """One silent sample."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\0")
    return base64.b64encode(file.getvalue()).decode()


IMAGE = types.ImageContent(data=_png(), mime_type="image/png")
AUDIO = types.AudioContent(data=_wav(), mime_type="audio/wav")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


# --- tools -----------------------------------------------------------------------------------------------------------


def _always(name: str, description: str, answer: types.CallToolResult, schema: dict[str, Any] | None = None) -> Offered:
    async def call(_ctx: Request, _params: types.CallToolRequestParams) -> ToolAnswer:
        return answer

    return Offered(tool(name, description, schema), call)


async def _logging(ctx: Request, _params: types.CallToolRequestParams) -> ToolAnswer:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
    return said("logged")


async def _progress(ctx: Request, _params: types.CallToolRequestParams) -> ToolAnswer:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
    return said("progressed")


_PHONE, _EMAIL = {"required": ["phone"]}, {"required": ["email"]}
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", **strings("street", "city")}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [_PHONE, _EMAIL]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": _PHONE,
    "else": _EMAIL,
    "additionalProperties": False,
}
_HEADER_SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
_FAILED = said("This tool intentionally returns an error for testing").model_copy(update={"is_error": True})
_MIXED = said(
    "Multiple content types test:", IMAGE, embedded("test://mixed-content-resource", "{}", "application/json")
)

TOOLS = (
    _always("test_simple_text", "Answers with text.", said("This is a simple text response for testing.")),
    _always("test_image_content", "Answers with an image.", said(IMAGE)),
    _always("test_audio_content", "Answers with a sound.", said(AUDIO)),
    _always(
        "test_embedded_resource",
        "Answers with a resource.",
        said(embedded("test://embedded-resource", "This is an embedded resource content.")),
    ),
    _always("test_multiple_content_types", "Answers with text, an image and a resource.", _MIXED),
    _always("test_error_handling", "Fails.", _FAILED),
    _always("json_schema_2020_12_tool", "Has a schema with all there is.", said("done"), SCHEMA_2020_12),
    _always("test_header_parameter", "Takes an argument that a header repeats.", said("done"), _HEADER_SCHEMA),
    Offered(tool("test_tool_with_logging", "Sends three log messages."), _logging),
    Offered(tool("test_logging_tool", "Sends log messages, to those who asked for them."), _logging),
    Offered(tool("test_tool_with_progress", "Reports its progress."), _progress),
)


# --- resources -------------------------------------------------------------------------------------------------------

STATIC: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    one.uri: one
    for one in (
        types.TextResourceContents(
            uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
        ),
        types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=IMAGE.data),
        types.TextResourceContents(uri="test://watched-resource", mime_type="text/plain", text="Watched."),
    )
}
RESOURCES = [types.Resource(uri=uri, name=uri[7:], mime_type=one.mime_type) for uri, one in STATIC.items()]
TEMPLATE = types.ResourceTemplate(
    name="template", uri_template="test://template/{id}/data", mime_type="application/json"
)
_OF_TEMPLATE = re.compile(r"test://template/([^/]+)/data")


def resource(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    """None: not one of these."""
    made = _OF_TEMPLATE.fullmatch(uri)
    if made:
        words = json.dumps({"id": made[1], "templateTest": True, "data": f"Data for ID: {made[1]}"})
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=words)
    return STATIC.get(uri)


# --- prompts ---------------------------------------------------------------------------------------------------------


def prompt(name: str, description: str, *arguments: str) -> types.Prompt:
    wanted = [types.PromptArgument(name=one, required=True) for one in arguments]
    return types.Prompt(name=name, description=description, arguments=wanted)


PROMPTS = (
    prompt("test_simple_prompt", "A text."),
    prompt("test_prompt_with_arguments", "A text with two arguments in it.", "arg1", "arg2"),
    prompt("test_prompt_with_embedded_resource", "A resource.", "resourceUri"),
    prompt("test_prompt_with_image", "An image."),
)


def got_prompt(name: str, given: dict[str, str]) -> types.GetPromptResult:
    """Errors: MCPError for what is none, or for an argument that is missing."""
    text = types.TextContent
    try:
        content: dict[str, Callable[[], list[types.ContentBlock]]] = {
            "test_simple_prompt": lambda: [text(text="This is a simple prompt for testing.")],
            "test_prompt_with_arguments": lambda: [
                text(text=f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
            ],
            "test_prompt_with_embedded_resource": lambda: [
                embedded(given["resourceUri"], "Embedded resource content for testing."),
                text(text="Please process the embedded resource above."),
            ],
            "test_prompt_with_image": lambda: [IMAGE, text(text="Please analyze the image above.")],
        }
        parts = content[name]()
    except KeyError as missing:
        raise MCPError(types.INVALID_PARAMS, f"no such prompt, or an argument is missing: {missing}") from missing
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in parts])
