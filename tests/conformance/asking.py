"""Tools and a prompt that ask the client something: by a request of their own up to 2025-11-25, by an answer that says
what is missing (`input_required`) from 2026-07-28 on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import MCPError, types

from conformance.content import Offered, Request, ToolAnswer, prompt, said, strings, tool

Questions = Mapping[str, types.InputRequest]

# --- up to 2025-11-25 ------------------------------------------------------------------------------------------------

_NAMED = {"low": "Low", "high": "High"}
_TITLED = [{"const": value, "title": title} for value, title in _NAMED.items()]
_PLAIN = list(_NAMED)
DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
ENUMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _PLAIN},
        "titledSingle": {"type": "string", "oneOf": _TITLED},
        "legacyEnum": {"type": "string", "enum": _PLAIN, "enumNames": list(_NAMED.values())},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
        "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
    },
}


def _eliciting(name: str, description: str, asked: dict[str, Any], *arguments: str) -> Offered:
    async def call(ctx: Request, params: types.CallToolRequestParams) -> ToolAnswer:
        message = (params.arguments or {}).get("message", description)
        found = await ctx.session.elicit_form(message, asked, related_request_id=ctx.request_id)
        return said(f"Elicitation completed: action={found.action}, content={json.dumps(found.content)}")

    return Offered(tool(name, description, strings(*arguments)), call)


async def _sampling(ctx: Request, params: types.CallToolRequestParams) -> ToolAnswer:
    asked = _message((params.arguments or {}).get("prompt", ""))
    found = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
    return said(f"LLM response: {found.content.text}")


def _message(text: str) -> types.SamplingMessage:
    return types.SamplingMessage(role="user", content=types.TextContent(text=text))


# --- from 2026-07-28 on ----------------------------------------------------------------------------------------------


def elicit(message: str, **properties: str) -> types.ElicitRequest:
    """`properties`: name → JSON type."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str, max_tokens: int) -> types.CreateMessageRequest:
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[_message(text)], max_tokens=max_tokens)
    )


WHAT_NAME = elicit("What is your name?", name="string")
CONFIRM: Questions = {"confirm": elicit("Please confirm", ok="boolean")}
ROOTS = types.ListRootsRequest()


def asked_for(
    rounds: Sequence[Questions],
    params: types.InputResponseRequestParams,
    *,
    state: bool = False,
) -> types.InputRequiredResult | None:
    """What is to be asked next; None: everything was answered. With `state` the round is kept in `requestState`, which
    the SDK seals: without it an answer counts for nothing."""
    answered = params.input_responses or {}
    now = int(params.request_state or 0)
    if (params.request_state is not None or not state) and rounds[now].keys() <= answered.keys():
        now += 1
    if now == len(rounds):
        return None
    return types.InputRequiredResult(input_requests=dict(rounds[now]), request_state=str(now) if state else None)


def _rounds(name: str, *rounds: Questions, state: bool = False) -> Offered:
    """A tool that repeats in the end what it was answered last."""

    async def call(_ctx: Request, params: types.CallToolRequestParams) -> ToolAnswer:
        asks = asked_for(rounds, params, state=state)
        if asks is not None:
            return asks
        answers = params.input_responses or {}
        return said(*(f"{key}: {one.model_dump_json(by_alias=True)}" for key, one in answers.items()), "state-ok")

    return Offered(tool(name, f"Asks {len(rounds)} time(s)."), call)


async def _what_it_may(ctx: Request, _params: types.CallToolRequestParams) -> ToolAnswer:
    can = ctx.session.client_capabilities
    may: dict[str, Any] = {}
    if can is not None and can.sampling is not None:
        may["greeting"] = sample("Generate a greeting", 50)
    if can is not None and can.elicitation is not None:
        may["user_name"] = WHAT_NAME
    return types.InputRequiredResult(input_requests=may) if may else said("there is nobody to ask")


async def _needs_sampling(ctx: Request, _params: types.CallToolRequestParams) -> ToolAnswer:
    can = ctx.session.client_capabilities
    if can is None or can.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", needed)
    return said("the client can sample")


_STEPS = (
    {"step1": elicit("Step 1: What is your name?", name="string")},
    {"step2": elicit("Step 2: What is your favorite color?", color="string")},
)
_ALL: Questions = {"user_name": WHAT_NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}
_OF_ROUNDS = "test_input_required_result_"
TOOLS = (
    Offered(tool("test_sampling", "Has the client's model say something.", strings("prompt")), _sampling),
    _eliciting("test_elicitation", "Asks the user.", strings("username", "email"), "message"),
    _eliciting("test_elicitation_sep1034_defaults", "Asks the user, with defaults.", DEFAULTS),
    _eliciting("test_elicitation_sep1330_enums", "Asks the user, with choices.", ENUMS),
    Offered(tool("test_missing_capability", "Needs a client that can sample."), _needs_sampling),
    _rounds("test_streaming_elicitation", {"user_name": WHAT_NAME}),
    _rounds(f"{_OF_ROUNDS}elicitation", {"user_name": WHAT_NAME}),
    _rounds(f"{_OF_ROUNDS}sampling", {"capital_question": sample("What is the capital of France?", 100)}),
    _rounds(f"{_OF_ROUNDS}list_roots", {"client_roots": ROOTS}),
    _rounds(f"{_OF_ROUNDS}request_state", CONFIRM, state=True),
    _rounds(f"{_OF_ROUNDS}tampered_state", CONFIRM, state=True),
    _rounds(f"{_OF_ROUNDS}multiple_inputs", _ALL, state=True),
    _rounds(f"{_OF_ROUNDS}multi_round", *_STEPS, state=True),
    Offered(tool(f"{_OF_ROUNDS}capabilities", "Asks only what the client can answer."), _what_it_may),
)

PROMPT = prompt(f"{_OF_ROUNDS}prompt", "Asks what it is to be about.")
_CONTEXT: Questions = {"user_context": elicit("What context should the prompt use?", context="string")}


def asked_prompt(params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    asks = asked_for([_CONTEXT], params)
    if asks is not None:
        return asks
    about: Any = (params.input_responses or {})["user_context"]
    words = types.TextContent(text=f"About {(about.content or {}).get('context')}.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=words)])
