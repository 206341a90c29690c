"""The view of a job for clients that show views (MCP Apps): what they are offered, and what the view may ask."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.client.extension import advertise

from outlive import config, limits
from outlive.core.records import CONTROL, READ
from outlive.mcp.shown import ANSWER
from outlive.mcp.tools import listing
from outlive.mcp.tools.offer import process_verbs
from outlive.parts.page.chat import declaration
from support.mcp_client import McpSession
from support.serve import HttpSession, Served
from support.tiers import MODERN_FIRST
from support.wait import until

SETTINGS: dict[str, Any] = {"mimeTypes": [declaration.MIME_TYPE]}
SHOWS_VIEWS = advertise(declaration.EXTENSION, SETTINGS)
OF_VIEWS = listing.Audience(capabilities={"extensions": {declaration.EXTENSION: SETTINGS}})


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    return {"extensions": [SHOWS_VIEWS]}


@pytest.fixture
def over_http(era: str, shared_serve: Served, place: Path) -> Iterator[HttpSession]:
    shared_serve.begin_test()
    with HttpSession(shared_serve, era=era, extensions=[SHOWS_VIEWS]) as session:
        yield session
    shared_serve.end_test()


def asked(session: McpSession, tool: str, method: str, **given: Any) -> dict[str, Any]:
    """The envelope of what the view asks."""
    answer = session.ask(lambda client: client.call_tool(tool, {"method": method, "given": given}))
    found: dict[str, Any] = answer.structured_content
    assert answer.is_error is not found["ok"]
    assert not answer.content, "the view reads the object"
    return found


def refused(session: McpSession, tool: str, method: str, **given: Any) -> str:
    code: str = asked(session, tool, method, **given)["error"]["code"]
    return code


def dumped(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is left for a client that shows no views."""
    kept = [tool for tool in tools if tool["name"] not in declaration.TOOLS]
    return [{**tool, "_meta": {name: value for name, value in tool["_meta"].items() if name != "ui"}} for tool in kept]


def listed(session: McpSession) -> list[dict[str, Any]]:
    found = session.ask(lambda client: client.list_tools())
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found.tools]


@MODERN_FIRST
def test_a_client_that_shows_views_is_offered_one_and_any_other_is_told_nothing(
    shared_session: McpSession, mcp_connect: Callable[..., McpSession]
) -> None:
    tools = listed(shared_session)
    assert [tool["name"] for tool in tools] == ["exec", "process", *declaration.TOOLS]
    view = {"resourceUri": declaration.VIEW_URI}
    assert [tool["_meta"]["ui"] for tool in tools] == [view, view, *[{"visibility": ["app"]}] * 2]
    assert [tool["annotations"]["readOnlyHint"] for tool in tools[2:]] == [True, False]
    plain = listed(mcp_connect())
    assert plain == dumped(tools)
    other = advertise(declaration.EXTENSION, {"mimeTypes": ["text/html"]})
    assert listed(mcp_connect(extensions=[other])) == plain


@MODERN_FIRST
def test_the_view_is_offered_over_http(over_http: HttpSession, era: str, shared_serve: Served, place: Path) -> None:
    tools = listed(over_http)
    assert [tool["name"] for tool in tools] == ["exec", "process", *declaration.TOOLS]
    found = over_http.ask(lambda client: client.read_resource(declaration.VIEW_URI))
    assert found.contents[0].mime_type == declaration.MIME_TYPE
    job = over_http.ok("exec", command="echo seen", workdir=str(place))["job_id"]
    assert asked(over_http, declaration.VIEW, "rows", job_id=job)["rows"][0][2] == [0, "seen"]
    # A host may open a session of its own for the view, which declares nothing
    with HttpSession(shared_serve, era=era) as second:
        assert listed(second) == dumped(tools)
        assert second.ask(lambda client: client.read_resource(declaration.VIEW_URI)).contents == found.contents
        assert asked(second, declaration.VIEW, "rows", job_id=job)["exit_code"] == 0


@MODERN_FIRST
def test_the_document_of_the_view_loads_nothing_and_is_listed_nowhere(shared_session: McpSession) -> None:
    (found,) = shared_session.ask(lambda client: client.read_resource(declaration.VIEW_URI)).contents
    assert (found.uri, found.mime_type) == (declaration.VIEW_URI, "text/html;profile=mcp-app")
    assert found.meta == {"ui": {"prefersBorder": True}}
    assert len(found.text) <= 600_000
    html = re.sub(r"<script type=\"module\">.*?</script>|<style>.*?</style>", "", found.text, flags=re.DOTALL)
    assert found.text.count("<script") == 1
    assert not re.search(r"\b(?:src|href)=|http", html)
    script = found.text.partition('<script type="module">')[2]
    assert not re.search(r"^\s*(?:import|export)\b|import\.meta|\bfetch\(|localStorage", script, re.MULTILINE)
    assert not re.search(r"@import|url\((?!['\"]?data:)", found.text.partition("<style>")[2].partition("</style>")[0])
    resources = shared_session.ask(lambda client: client.list_resources()).resources
    assert declaration.VIEW_URI not in [resource.uri for resource in resources]
    with pytest.raises(MCPError):
        shared_session.ask(lambda client: client.read_resource("ui://outlive/jobs"))


@MODERN_FIRST
def test_the_view_takes_neither_notices_nor_output_from_the_model(shared_session: McpSession) -> None:
    job = shared_session.ok("exec", command="echo first; read line; echo second", stdin="open", background=True)[
        "job_id"
    ]
    shared_session.ok("process", action="poll", job_id=job)
    assert asked(shared_session, declaration.CONTROL, "process", action="write", job_id=job, data="x\n")[
        "bytes_written"
    ]
    until(lambda: asked(shared_session, declaration.VIEW, "rows", job_id=job)["over"])
    found = asked(shared_session, declaration.VIEW, "process", action="poll", job_id=job)
    assert found["output"] == "first\nsecond\n"
    assert "notices" not in found
    answer = shared_session.ok("exec", command="true")
    assert [notice["job_id"] for notice in answer["notices"]] == [job]
    assert shared_session.ok("process", action="poll", job_id=job)["output"] == "second\n"


@MODERN_FIRST
def test_the_view_kills_and_the_model_is_told(shared_session: McpSession) -> None:
    job = shared_session.ok("exec", command="sleep 600", background=True)["job_id"]
    found = asked(shared_session, declaration.CONTROL, "process", action="kill", job_id=job)
    assert found["state"] == "killed"
    (notice,) = shared_session.ok("exec", command="true")["notices"]
    assert (notice["job_id"], notice["reason"]) == (job, "kill")


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_each_tool_of_the_view_does_what_it_says_alone(shared_session: McpSession) -> None:
    job = shared_session.ok("exec", command="sleep 600", background=True)["job_id"]
    by_right = {verb.right: action for action, verb in process_verbs().items()}
    for action, verb in process_verbs().items():
        for tool, right in ((declaration.VIEW, READ), (declaration.CONTROL, CONTROL)):
            if verb.right != right:
                assert refused(shared_session, tool, "process", action=action) == "invalid_argument"
    assert len(by_right) == 3
    for method in ("approve", "deny", "jobs", "rows", "terminal", "__class__", ""):
        assert refused(shared_session, declaration.CONTROL, method, job_id=job) == "invalid_argument"
    for method in ("approve", "deny", "download", "keyboard", "type", "__class__", ""):
        assert refused(shared_session, declaration.VIEW, method, job_id=job) == "invalid_argument"
    assert refused(shared_session, declaration.VIEW, "rows", job_id="nothing") in ("invalid_argument", "job_not_found")
    assert refused(shared_session, declaration.VIEW, "terminal", job_id=job) == "not_a_pty"
    answer = shared_session.ask(lambda client: client.call_tool(declaration.VIEW, {"given": {}}))
    assert answer.structured_content["error"]["code"] == "invalid_argument"
    assert shared_session.ok("process", action="status", job_id=job)["state"] == "running"


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_a_token_that_may_only_read_sees_and_does_not_control(shared_serve: Served, era: str, place: Path) -> None:
    shared_serve.begin_test()
    job = shared_serve.tool("exec", command="sleep 600", workdir=str(place), background=True)["job_id"]
    secret = shared_serve.token("reader", "--scope", "tests", "--read-only")
    how: dict[str, Any] = {"era": era, "extensions": [SHOWS_VIEWS], "token": "reader"}
    assert secret
    with HttpSession(shared_serve, **how) as reader:
        assert [tool["name"] for tool in listed(reader)] == ["process", declaration.VIEW]
        assert asked(reader, declaration.VIEW, "rows", job_id=job)["state"] == "running"
        assert refused(reader, declaration.CONTROL, "process", action="kill", job_id=job) == "denied"
    shared_serve.tool("process", action="remove", job_id=job)
    shared_serve.end_test()


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_a_view_finds_its_job_where_the_model_gets_text_alone(mcp_connect: Callable[..., McpSession]) -> None:
    session = mcp_connect(args=("--answers", "text"), extensions=[SHOWS_VIEWS])
    answer = session.ask(lambda client: client.call_tool("exec", {"command": "echo x"}))
    assert answer.structured_content is None
    assert answer.content[0].text.endswith("x")
    assert answer.meta[ANSWER]["job_id"]
    session = mcp_connect(args=("--answers", "text"))
    answer = session.ask(lambda client: client.call_tool("exec", {"command": "echo x"}))
    assert ANSWER not in (answer.meta or {})


def test_a_server_without_the_tool_process_has_no_view() -> None:
    (tool,) = listing.tools(("exec",), config.load({}), OF_VIEWS)
    assert tool == listing.tools(("exec",), config.load({}))[0]


def test_the_tools_of_the_view_are_few_bytes() -> None:
    found = listing.tools(("exec", "process"), config.load({}), OF_VIEWS)
    assert dumped(found) == listing.tools(("exec", "process"), config.load({}))
    assert len(json.dumps([tool for tool in found if tool["name"] in declaration.TOOLS])) < 1_000
    assert limits.MCP_CALL_MS >= 25_000, "a long poll of the view is answered in time"
