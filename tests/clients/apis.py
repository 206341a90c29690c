"""The four APIs over which the clients talk to their models: read a request, write an answer.

Each has two functions: `read` returns the conversation and the tools that a request shows to the model, `answer` the
events of a stream, or the one object where the client wants no stream.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

NAMESPACE = "mcp__outlive"  # Codex puts the tools of a server into one
USER, CALL, RESULT, OTHER = "user", "call", "result", "other"
Body = dict[str, Any]


CODE, LOOK = "code", "look"  # what Codex calls in its code mode: a program, and a program that only lists the tools


class Turn(NamedTuple):
    """One part of a conversation. `name` is that of the tool called."""

    kind: str
    text: str
    name: str = ""


class Tool(NamedTuple):
    """A tool that the model is offered, by the name that it has to call."""

    name: str
    namespace: str
    schema: Body


class Call(NamedTuple):
    """What the model does: call a tool, or say `text` and stop."""

    name: str = ""
    args: Any = None
    namespace: str = ""
    text: str = "ok"


def text_of(content: Any) -> str:
    """Return what a model would read of a content, whatever form it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(text_of, content))
    if isinstance(content, dict):
        if isinstance(content.get("text"), str):
            return str(content["text"])
        return text_of(content["content"]) if "content" in content else json.dumps(content)
    return "" if content is None else str(content)


class Anthropic:
    """`/v1/messages`: Claude Code."""

    @staticmethod
    def read(body: Body) -> tuple[list[Turn], list[Tool]]:
        turns = []
        for message in body.get("messages", []):
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "tool_use":
                    turns.append(Turn(CALL, json.dumps(block["input"]), block["name"]))
                elif block["type"] == "tool_result":
                    turns.append(Turn(RESULT, text_of(block.get("content"))))
                else:
                    turns.append(Turn(message["role"], text_of(block)))
        tools = [Tool(tool.get("name", ""), "", tool.get("input_schema", {})) for tool in body.get("tools") or []]
        return turns, tools

    @staticmethod
    def answer(body: Body, call: Call, number: int) -> list[tuple[str, Body]] | Body:
        if call.name:
            block: Body = {"type": "tool_use", "id": f"toolu_{number:03}", "name": call.name, "input": call.args}
            delta: Body = {"type": "input_json_delta", "partial_json": json.dumps(call.args)}
            empty, stop = {**block, "input": {}}, "tool_use"
        else:
            block = {"type": "text", "text": call.text}
            delta = {"type": "text_delta", "text": call.text}
            empty, stop = {"type": "text", "text": ""}, "end_turn"
        message: Body = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
        usage = {"input_tokens": 10, "output_tokens": 5}
        if not body.get("stream"):
            return {**message, "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events: list[Body] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        return [(event["type"], event) for event in events]


class Responses:
    """`/v1/responses`: Codex."""

    @staticmethod
    def read(body: Body) -> tuple[list[Turn], list[Tool]]:
        items = body.get("input", [])
        turns, offered = [], list(body.get("tools") or [])
        for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
            kind = item.get("type", "message")
            if kind == "message":
                turns.append(Turn(item.get("role", OTHER), text_of(item.get("content"))))
            elif kind == "custom_tool_call":  # JavaScript
                turns.append(Turn(CALL, item["input"], LOOK if "ALL_TOOLS" in item["input"] else CODE))
            elif kind == "additional_tools":
                offered += item.get("tools") or []
            elif kind in ("function_call", "tool_search_call"):
                turns.append(Turn(CALL, str(item.get("arguments")), item.get("name") or "tool_search"))
            elif kind.endswith("_output"):
                offered += item.get("tools") or []
                turns.append(Turn(RESULT, text_of(item.get("output", item.get("tools")))))
        return turns, [found for one in offered for found in Responses._tools(one)]

    @staticmethod
    def _tools(one: Body) -> list[Tool]:
        inner = one.get("tools", []) if one.get("type") == "namespace" else [one]
        space = one["name"] if one.get("type") == "namespace" else ""
        return [Tool(tool.get("name") or tool.get("type", ""), space, tool.get("parameters") or {}) for tool in inner]

    @staticmethod
    def answer(body: Body, call: Call, number: int) -> list[tuple[str, Body]] | Body:
        item: Body = {"id": f"item_{number}", "call_id": f"call_{number}", "status": "completed"}
        if call.name == "tool_search":
            item |= {"type": "tool_search_call", "execution": "client", "arguments": call.args}
        elif call.name in (CODE, LOOK):
            item |= {"type": "custom_tool_call", "name": "exec", "namespace": "functions", "input": call.args}
        elif call.name:
            item |= {"type": "function_call", "name": call.name, "arguments": json.dumps(call.args)}
            item |= {"namespace": call.namespace} if call.namespace else {}
        else:
            said = {"type": "output_text", "text": call.text, "annotations": []}
            item = {"type": "message", "id": item["id"], "role": "assistant", "status": "completed", "content": [said]}
        response: Body = {"id": f"resp_{number}", "object": "response", "model": body.get("model"), "output": []}
        details: Body = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
        done = {**response, "status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return done
        events: list[Body] = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        return [(event["type"], event) for event in events]


class Chat:
    """`/v1/chat/completions`: OpenCode, OpenClaw."""

    @staticmethod
    def read(body: Body) -> tuple[list[Turn], list[Tool]]:
        turns = []
        for message in body.get("messages", []):
            kind = RESULT if message["role"] == "tool" else message["role"]
            if message.get("content") or kind == RESULT:
                turns.append(Turn(kind, text_of(message.get("content"))))
            called = [one["function"] for one in message.get("tool_calls") or []]
            turns += [Turn(CALL, one["arguments"], one["name"]) for one in called]
        functions = [tool.get("function") or {} for tool in body.get("tools") or []]
        return turns, [Tool(one.get("name", ""), "", one.get("parameters") or {}) for one in functions]

    @staticmethod
    def answer(body: Body, call: Call, number: int) -> list[tuple[str, Body]] | Body:
        base: Body = {"id": f"c_{number}", "created": 0, "model": body.get("model")}
        message: Body = {"role": "assistant", "content": call.text}
        if call.name:
            function = {"name": call.name, "arguments": json.dumps(call.args)}
            called = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [called]}
        stop = "tool_calls" if call.name else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": stop}
            return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        base["object"] = "chat.completion.chunk"
        delta, end = {"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": stop}
        choices = [[{"index": 0, **delta}], [{"index": 0, **end}], []]
        return [("", {**base, "choices": one, **({} if one else {"usage": usage})}) for one in choices]


class Gemini:
    """`:streamGenerateContent`: Gemini CLI."""

    @staticmethod
    def read(body: Body) -> tuple[list[Turn], list[Tool]]:
        turns = []
        for message in body.get("contents", []):
            for part in message.get("parts", []):
                if "functionCall" in part:
                    turns.append(Turn(CALL, json.dumps(part["functionCall"].get("args")), part["functionCall"]["name"]))
                elif "functionResponse" in part:
                    response = part["functionResponse"].get("response")
                    turns.append(Turn(RESULT, json.dumps(response, ensure_ascii=False)))
                else:
                    turns.append(Turn(message.get("role", OTHER), text_of(part)))
        tools = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
        schemas = [one.get("parametersJsonSchema") or one.get("parameters") or {} for one in tools]
        return turns, [Tool(one["name"], "", schema) for one, schema in zip(tools, schemas, strict=True)]

    @staticmethod
    def answer(body: Body, call: Call, number: int) -> list[tuple[str, Body]] | Body:
        part: Body = {"functionCall": {"name": call.name, "args": call.args, "id": f"call_{number}"}}
        wanted = (body.get("generationConfig") or {}).get("responseJsonSchema")
        if not call.name:
            part = {"text": json.dumps(_example(wanted)) if wanted else call.text}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        return [("", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"})]


def _example(schema: Body) -> Body:
    """Return an object that keeps a schema: the client asks which model it should use."""
    values: Body = {"string": "ok", "number": 1, "integer": 1, "boolean": False, "array": [], "object": {}}
    found = {}
    for name, one in (schema.get("properties") or {}).items():
        found[name] = (one.get("enum") or [values.get(str(one.get("type")).lower(), "ok")])[0]
    return found


def of_path(path: str) -> type[Anthropic] | type[Responses] | type[Chat] | type[Gemini] | None:
    """Return the API that a request of this path asks for a turn, None if it asks for anything else."""
    ends: dict[str, type[Anthropic] | type[Responses] | type[Chat]] = {
        "/messages": Anthropic,
        "/responses": Responses,
        "/chat/completions": Chat,
    }
    for end, api in ends.items():
        if path.endswith(end):
            return api
    return Gemini if path.endswith(("generateContent", "GenerateContent")) else None
