"""One body over both faces. They share one server for all tests of a module, and its place."""

from __future__ import annotations

import pytest

from support.cli import Cli
from support.face import Face
from support.mcp_client import McpSession


@pytest.fixture(scope="module")
def era() -> str:
    """Which era carries an answer makes no difference to it: mcp/test_tools.py runs in both."""
    return "modern"


@pytest.fixture(params=["cli", "mcp"])
def face(request: pytest.FixtureRequest, cli: Cli, shared_session: McpSession) -> Face:
    """The command line, and then the tools. All jobs are removed after each test."""
    return Face(request.param, cli, shared_session)
