"""What a server declares before the SDK is loaded is what its handlers are."""

from __future__ import annotations

import contextlib

import pytest
from mcp.server.lowlevel import NotificationOptions, Server

from heart.mcp.test_first_answers import session_with
from outlive.mcp.stdio import serving
from outlive.parts.push import TASKS
from support.mcp_client import LEGACY_VERSION, MODERN_VERSION


@pytest.mark.parametrize("protocol", [LEGACY_VERSION, MODERN_VERSION])
def test_the_declared_capabilities_are_what_the_sdk_derives_from_the_handlers(protocol: str) -> None:
    session = session_with(channel=True)
    calls, built = serving.build(session)
    with contextlib.closing(calls):
        derived = Server.get_capabilities(
            built, NotificationOptions(), {"claude/channel": {}}, {TASKS: {}}, protocol_version=protocol
        ).model_dump(mode="json", by_alias=True, exclude_none=True)
        for part in derived.values():
            part.update({"listChanged": False} if "listChanged" in part else {})
        assert derived == built.declared
