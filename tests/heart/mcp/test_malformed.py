"""Messages that are none of JSON-RPC, on stdio: each is answered with its code, and the next one works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.mcp_client import McpRefusal, RawMcp

DEEP = '{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"name":"exec","arguments":{"command":%s%s}}}'
MALFORMED: dict[str, tuple[str, Any, int, str]] = {
    "no-id": ('{"jsonrpc":"2.0","method":"tools/list"}', None, -32600, 'needs an "id"'),
    "no-id-and-unknown": ('{"jsonrpc":"2.0","method":"no/such"}', None, -32600, 'needs an "id"'),
    "an-id-that-is-an-object": ('{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600, 'needs an "id"'),
    "an-id-that-is-true": ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600, 'needs an "id"'),
    "an-id-that-is-null": ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600, 'needs an "id"'),
    "an-id-with-a-fraction": ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600, 'needs an "id"'),
    "another-version": ('{"jsonrpc":"1.0","id":71,"method":"ping"}', 71, -32600, '"jsonrpc" has to be'),
    "no-version": ('{"id":"seven","method":"ping"}', "seven", -32600, '"jsonrpc" has to be'),
    "no-method": ('{"jsonrpc":"2.0","id":72}', 72, -32600, '"method" has to be'),
    "a-method-that-is-a-number": ('{"jsonrpc":"2.0","id":73,"method":5}', 73, -32600, '"method" has to be'),
    "params-that-are-an-array": ('{"jsonrpc":"2.0","id":74,"method":"ping","params":[1]}', 74, -32602, '"params"'),
    "params-that-are-a-text": ('{"jsonrpc":"2.0","id":75,"method":"tools/call","params":"x"}', 75, -32602, '"params"'),
    "a-batch": ('[{"jsonrpc":"2.0","id":76,"method":"ping"}]', None, -32600, "Batches are not taken"),
    "an-empty-batch": ("[]", None, -32600, "Batches are not taken"),
    "a-text": ('"ping"', None, -32600, "no message of JSON-RPC"),
    "a-number": ("7", None, -32600, "no message of JSON-RPC"),
    "null": ("null", None, -32600, "no message of JSON-RPC"),
    "an-empty-object": ("{}", None, -32600, '"jsonrpc" has to be'),
    "a-long-line": ("x" * 1_000_000, None, -32700, "no JSON"),
    "no-json": ("ping", None, -32700, "no JSON"),
    "no-text": ("\udcff\udcfe", None, -32700, "no JSON"),
    "what-is-nested-too-deeply": ("[" * 100_000 + "]" * 100_000, None, -32700, "no JSON"),
    "no-text-that-is-nested-too-deeply": ("[" * 100_000 + '"\udcff"' + "]" * 100_000, None, -32700, "no JSON"),
    "a-request-that-is-nested-too-deeply": (DEEP % ("[" * 250, "]" * 250), 78, -32600, "nested 190 deep"),
    "half-a-character": (
        '{"jsonrpc":"2.0","id":79,"method":"ping","params":{"a":"\\ud83d"}}',
        79,
        -32700,
        "half a char",
    ),
    "half-a-character-as-an-id": ('{"jsonrpc":"2.0","id":"\\udc00","method":"ping"}', None, -32700, "half a char"),
    "half-an-object": ('{"jsonrpc":"2.0","id":77', None, -32700, "no JSON"),
}
UNANSWERED = {
    "an-answer-that-is-nested-too-deeply": '{"jsonrpc":"2.0","id":900,"result":{"a":%s%s}}' % ("[" * 250, "]" * 250),
    "an-empty-line": "",
    "an-answer-to-nothing": '{"jsonrpc":"2.0","id":900,"result":{}}',
    "an-unknown-notification": '{"jsonrpc":"2.0","method":"notifications/no-such"}',
    "a-notification-with-wrong-params": '{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}',
}
FRESH = pytest.mark.parametrize("fresh", [True, False], ids=["before-the-sdk", "with-the-sdk"])


@pytest.fixture
def server(raw_mcp: Callable[..., RawMcp], fresh: bool) -> RawMcp:
    """A server that was just started, or one that has answered a call."""
    server = raw_mcp().start()
    if not fresh:
        assert server.call("process", action="list")["jobs"] == []
    return server


@pytest.mark.fault("S24")
@FRESH
def test_each_is_answered_with_its_code_and_the_next_message_works(server: RawMcp, fresh: bool) -> None:
    for line in UNANSWERED.values():
        server.send_bytes(line.encode("utf-8", "surrogateescape") + b"\n")
    assert server.request("ping") == {}
    assert not server.is_answered(900), "no answer is due to it"
    assert not server.is_answered(None)
    for name, (line, number, code, said) in MALFORMED.items():
        server.send_bytes(line.encode("utf-8", "surrogateescape") + b"\n")
        with pytest.raises(McpRefusal) as caught:
            server.answer(number)
        assert caught.value.code == code, name
        assert said in str(caught.value), name
        assert server.request("ping") == {}, name
    with pytest.raises(McpRefusal) as caught:
        server.request("no/such")
    assert caught.value.code == -32601
    assert server.request("ping") == {}
    assert server.call("exec", command="echo still here")["output"] == "still here\n"
