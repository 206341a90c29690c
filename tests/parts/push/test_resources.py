"""Jobs as resources: listed, read, and subscribed to, in both eras of the protocol."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError, types

from outlive import limits
from outlive.parts.push.subscriptions import UPDATE_EVERY_S
from support import pair, processes
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpRefusal, McpSession, RawMcp
from support.tiers import MODERN_FIRST, ONE_ERA
from support.tools import background
from support.wait import until

Connect = Callable[..., McpSession]
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NOT_THERE = types.INVALID_PARAMS


@pytest.fixture
def mcp_session(shared_session: McpSession) -> McpSession:
    return shared_session


def _read(session: McpSession, uri: str) -> types.TextResourceContents:
    result = session.ask(lambda client: client.read_resource(uri))
    (content,) = result.contents
    assert content.uri == uri
    if session.era == "modern":
        assert (result.ttl_ms, result.cache_scope) == (0, "private")
    found: types.TextResourceContents = content
    return found


def _refused(session: McpSession, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        session.ask(lambda client: client.read_resource(uri))
    return caught.value


def _is_followed(session: McpSession, job: str) -> bool:
    """Return whether the server holds the directory of a job open."""
    return any(job in link for link in processes.open_files(session.pid).values())


def _connections(job: str) -> int:
    """Return how many clients are connected to the supervisor of a job; 0 also where there is no supervisor. In
    /proc/net/unix (unix(7)) a socket that a server accepted has state 3 and the path of the server."""
    supervisor = pair.supervisor_now(job)
    if not supervisor:
        return 0
    rows = [row.split() for row in Path("/proc/net/unix").read_text().splitlines()[1:]]
    accepted = {f"socket:[{row[6]}]" for row in rows if row[5] == "03" and row[-1].endswith("/control")}
    return len(accepted.intersection(processes.open_files(supervisor).values()))


def _costs_nothing(session: McpSession, job: str) -> bool:
    """Return whether the server holds nothing of a job."""
    return not _is_followed(session, job) and not _connections(job)


# --- what is offered -----------------------------------------------------------------------------------------------


def test_the_server_promises_updates_of_resources_and_of_nothing_else(mcp_session: McpSession) -> None:
    found = mcp_session.ask(_capabilities)
    assert found.resources.subscribe is True
    assert (found.resources.list_changed, found.tools.list_changed, found.prompts) == (False, False, None)
    assert not found.experimental


async def _capabilities(client: Any) -> Any:
    return client.server_capabilities


def test_three_templates_are_listed(mcp_session: McpSession) -> None:
    found = mcp_session.ask(lambda client: client.list_resource_templates()).resource_templates
    assert {one.uri_template: one.mime_type for one in found} == {
        "job://{id}": "application/json",
        "job://{id}/output{?since_seq}": "text/plain",
        "job://{id}/events{?since_seq,since_event}": "application/json",
    }
    assert all(one.title and one.description for one in found)


@MODERN_FIRST
def test_the_list_has_the_jobs_of_this_client_running_ones_first(
    mcp_session: McpSession, mcp_connect: Connect, work: Path
) -> None:
    session = mcp_session
    assert session.ask(lambda client: client.list_resources()).resources == []
    running = background(session, GATE, title="the gate")
    ended = session.ok("exec", command="exit 3")["job_id"]
    other = mcp_connect(client_name="somebody-else")
    assert other.ask(lambda client: client.list_resources()).resources == []
    result = session.ask(lambda client: client.list_resources())
    if session.era == "modern":
        assert (result.ttl_ms, result.cache_scope) == (0, "private")
    assert [one.uri for one in result.resources] == [f"job://{running}", f"job://{ended}"]
    first, second = result.resources
    assert (first.title, first.mime_type) == ("the gate", "application/json")
    assert GATE in first.description and "running" in first.description
    assert "exit 3" in second.description and "exited 3" in second.description
    assert json.loads(_read(session, first.uri).text)["job_id"] == running
    (work / "go").touch()


# --- reading -------------------------------------------------------------------------------------------------------


def test_a_job_reads_as_the_answer_of_status(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="echo hello; exit 4")["job_id"]
    content = _read(mcp_session, f"job://{job}")
    found = json.loads(content.text)
    assert content.mime_type == "application/json"
    assert (found["type"], found["job_id"], found["state"], found["exit_code"]) == ("status", job, "exited", 4)
    assert found.keys() == mcp_session.ok("process", action="status", job_id=job).keys()


@ONE_ERA
@pytest.mark.parametrize("named", [lambda job: job[-8:], str.lower, lambda job: job[-6:].lower() + "/"])
def test_a_job_is_named_as_in_a_call(mcp_session: McpSession, named: Callable[[str], str]) -> None:
    job = mcp_session.ok("exec", command="true")["job_id"]
    assert json.loads(_read(mcp_session, f"job://{named(job)}").text)["job_id"] == job


def test_output_reads_from_a_position_and_moves_no_read_position(mcp_session: McpSession, work: Path) -> None:
    job = background(mcp_session, f"echo one; {GATE}; echo two")
    until(lambda: _read(mcp_session, f"job://{job}/output").text == "one\n", what="the first line")
    first = _read(mcp_session, f"job://{job}/output")
    assert first.mime_type == "text/plain"
    assert first.meta == {"since_seq": 0, "next_seq": 4, "truncated": False, "state": "running"}
    (work / "go").touch()
    mcp_session.ok("process", action="wait", job_id=job, since_seq=0)
    rest = _read(mcp_session, f"job://{job}/output?since_seq=4")
    assert rest.text == "two\n"
    assert rest.meta == {"since_seq": 4, "next_seq": 8, "truncated": False, "state": "exited"}
    fresh = background(mcp_session, "until [ -e on ]; do sleep 0.1; done; echo new")
    (work / "on").touch()
    until(lambda: _read(mcp_session, f"job://{fresh}/output").text == "new\n", what="its output")
    assert mcp_session.ok("process", action="poll", job_id=fresh)["output"] == "new\n"


def test_events_read_as_the_answer_of_events(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="echo hello; exit 4")["job_id"]
    # The outcome is visible before it is history.
    until(lambda: '"finished"' in _read(mcp_session, f"job://{job}/events").text, what="the whole history")
    content = _read(mcp_session, f"job://{job}/events")
    found = json.loads(content.text)
    assert content.mime_type == "application/json"
    assert (found["type"], found["job_id"], found["state"]) == ("events", job, "exited")
    assert [event["type"] for event in found["events"]] == ["started", "finished"]
    assert found == mcp_session.ok("process", action="events", job_id=job)
    later = json.loads(_read(mcp_session, f"job://{job}/events?since_event=1").text)
    assert [event["type"] for event in later["events"]] == ["finished"]
    behind = json.loads(_read(mcp_session, f"job://{job}/events?since_seq=1&since_event=0").text)
    assert [event["seq"] for event in behind["events"]] == [6]


@ONE_ERA
def test_long_output_reads_as_its_head_and_tail(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="seq 100000")["job_id"]
    content = _read(mcp_session, f"job://{job}/output")
    assert content.text.startswith("1\n2\n") and content.text.endswith("\n100000\n")
    assert len(content.text.encode()) <= limits.SHOWN_BYTES
    assert content.meta
    assert content.meta["truncated"]["from_seq"] < content.meta["truncated"]["to_seq"] < content.meta["next_seq"]


@ONE_ERA
def test_bytes_that_are_no_text_can_be_listed_and_read(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="printf '\\377\\n'", title="odd")["job_id"]
    assert _read(mcp_session, f"job://{job}/output").text == "\N{REPLACEMENT CHARACTER}\n"
    (listed,) = mcp_session.ask(lambda client: client.list_resources()).resources
    assert listed.title == "odd"


def test_what_is_not_there_is_refused_as_the_protocol_has_it(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="true")["job_id"]
    wrong = [
        f"job://{UNKNOWN}",
        f"job://{UNKNOWN}/output",
        "job://short",
        "job://",
        f"job://{job}/input",
        f"job://{job}?since_seq=1",
        f"job://{job}/output?since_seq=-1",
        f"job://{job}/output?since_seq=x",
        f"job://{job}/output?since=1",
        f"job://{job}/output?since_event=1",
        f"job://{job}/events?since_event=1&since_event=2",
        f"job://{job}/../{job}",
        f"file:///{job}",
        "%",
    ]
    for uri in wrong:
        error = _refused(mcp_session, uri).error
        assert (error.code, error.data["uri"]) == (NOT_THERE, uri)
    assert json.loads(_read(mcp_session, f"job://{job}").text)["ok"]


# --- subscribing ---------------------------------------------------------------------------------------------------


def test_a_subscriber_is_told_of_output_of_the_end_and_then_costs_nothing(mcp_session: McpSession, work: Path) -> None:
    job = background(mcp_session, f"{GATE}; echo out; until [ -e on ]; do sleep 0.1; done")
    status, output = f"job://{job}", f"job://{job}/output"
    with mcp_session.subscribed(status, output):
        (work / "go").touch()
        until(lambda: mcp_session.updates(output), what="an update of the output")
        assert mcp_session.updates(status) == 0, "output is no change of state"
        assert _read(mcp_session, output).text == "out\n"
        assert _is_followed(mcp_session, job)
        (work / "on").touch()
        until(lambda: mcp_session.updates(status), what="an update of the state")
        until(lambda: _costs_nothing(mcp_session, job), what="the files of a subscription to a finished job closed")
        assert json.loads(_read(mcp_session, status).text)["state"] == "exited"
        until(lambda: mcp_session.updates(output) >= 2, what="an update of the output that says that nothing will come")
        last = mcp_session.updates(status), mcp_session.updates(output)
    assert last == (mcp_session.updates(status), mcp_session.updates(output))


def test_a_subscriber_of_events_is_told_of_a_watch_that_is_hit(mcp_session: McpSession, work: Path) -> None:
    command = f"{GATE}; echo calm; echo needle; until [ -e on ]; do sleep 0.1; done"
    job = background(mcp_session, command, watch=["needle"])
    uri = f"job://{job}/events"
    with mcp_session.subscribed(uri):
        until(lambda: _is_followed(mcp_session, job), what="the job followed")
        known = mcp_session.updates(uri)
        (work / "go").touch()
        until(lambda: mcp_session.updates(uri) > known, what="an update of the events")
        found = json.loads(_read(mcp_session, uri).text)["events"]
        assert [event["line"] for event in found if event["type"] == "watch_hit"] == ["needle"]
        (work / "on").touch()
        until(lambda: not _is_followed(mcp_session, job), what="the last update")
        assert json.loads(_read(mcp_session, uri).text)["events"][-1]["type"] == "finished"


def test_a_subscription_to_a_finished_job_gives_one_update(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="echo done")["job_id"]
    with mcp_session.subscribed(f"job://{job}/output"):
        until(lambda: mcp_session.updates(f"job://{job}/output"), what="the update of a job that is over")
        until(lambda: _costs_nothing(mcp_session, job), what="its files closed")
    assert mcp_session.updates(f"job://{job}/output") == 1


@MODERN_FIRST
def test_who_subscribes_no_longer_frees_everything(mcp_session: McpSession, work: Path) -> None:
    jobs = [background(mcp_session, GATE) for _ in range(3)]
    for _ in range(3):
        with mcp_session.subscribed(*(f"job://{job}{part}" for job in jobs for part in ("", "/output"))):
            until(lambda: all(_is_followed(mcp_session, job) for job in jobs), what="jobs that are followed")
        until(lambda: all(_costs_nothing(mcp_session, job) for job in jobs), what="their files closed")
    (work / "go").touch()


@ONE_ERA
def test_of_two_streams_the_one_that_is_left_goes_on(mcp_session: McpSession, work: Path) -> None:
    job = background(mcp_session, f"{GATE}; echo out; until [ -e on ]; do sleep 0.1; done")
    uri = f"job://{job}/output"
    with mcp_session.subscribed(uri):
        until(lambda: _connections(job) == 1, what="the job followed")
        with mcp_session.subscribed(uri):
            until(lambda: _connections(job) == 2, what="the job followed once more")
        (work / "go").touch()
        until(lambda: mcp_session.updates(uri), what="the stream that is left goes on")
    until(lambda: _costs_nothing(mcp_session, job), what="the files closed")
    (work / "on").touch()


@MODERN_FIRST
def test_an_unknown_job_cannot_be_subscribed_to(raw_mcp: Callable[..., RawMcp], era: str) -> None:
    raw = raw_mcp(era=era)
    job = raw.call("exec", command="true")["job_id"]
    uris = [f"job://{UNKNOWN}", "job://x/y/z", f"job://{job}"]
    if era == "legacy":
        for uri in uris[:2]:
            with pytest.raises(McpRefusal) as caught:
                raw.request("resources/subscribe", {"uri": uri})
            assert caught.value.code == NOT_THERE
        return
    wanted = {"resourceSubscriptions": uris, "resourcesListChanged": True, "toolsListChanged": True}
    raw.begin("subscriptions/listen", {"notifications": wanted})
    raw.read_until(lambda: raw.others, "the acknowledgement")
    assert raw.others[0]["method"] == "notifications/subscriptions/acknowledged"
    assert raw.others[0]["params"]["notifications"] == {"resourceSubscriptions": uris[2:]}


@pytest.mark.fault("F75")
@MODERN_FIRST
def test_a_flood_of_output_is_a_trickle_of_updates(mcp_session: McpSession, work: Path) -> None:
    code = "import os, time\nfor n in range(2000):\n    os.write(1, b'x' * 999 + b'\\n'); time.sleep(0.001)"
    job = background(mcp_session, ["sh", "-c", f'{GATE}; exec "$@"', "sh", sys.executable, "-c", code])
    uri = f"job://{job}/output"
    with mcp_session.subscribed(uri):
        (work / "go").touch()
        ended = mcp_session.ok("process", action="wait", job_id=job, timeout_ms=40_000)
        until(lambda: not _is_followed(mcp_session, job), what="the end of following")
        mcp_session.tools()  # whatever was sent before this answer is here
        assert ended["state"] == "exited"
        assert 1 < mcp_session.updates(uri) <= ended["duration_ms"] / 1000 / UPDATE_EVERY_S + 2


def test_a_killed_supervisor_costs_no_update(mcp_session: McpSession, work: Path) -> None:
    job = background(mcp_session, f"{GATE}; echo out; until [ -e on ]; do sleep 0.1; done; exit 5")
    status, output = f"job://{job}", f"job://{job}/output"
    with mcp_session.subscribed(status, output):
        until(lambda: _is_followed(mcp_session, job), what="the job followed")
        pair.end(pair.supervisor(job))
        (work / "go").touch()
        until(lambda: mcp_session.updates(output), what="an update from the guardian")
        (work / "on").touch()
        until(lambda: json.loads(_read(mcp_session, status).text).get("exit_code") == 5, what="the end")
        until(lambda: mcp_session.updates(status), what="an update of the state")
        until(lambda: not _is_followed(mcp_session, job), what="the end of following")


@ONE_ERA
def test_a_job_whose_both_supervisors_were_killed_gets_a_new_one(mcp_session: McpSession, work: Path) -> None:
    job = background(mcp_session, f"{GATE}; echo out")
    uri = f"job://{job}/output"
    with mcp_session.subscribed(uri):
        until(lambda: _is_followed(mcp_session, job), what="the job followed")
        guardian, supervisor = pair.guardian(job), pair.supervisor(job)
        os.kill(guardian, signal.SIGKILL)
        pair.end(supervisor)
        until(lambda: pair.supervisor_now(job) not in (0, guardian, supervisor), what="a supervisor that adopts it")
        (work / "go").touch()
        until(lambda: not _is_followed(mcp_session, job), what="the end of following")
        until(lambda: mcp_session.updates(uri), what="an update")
    assert _read(mcp_session, uri).text == "out\n"


def test_a_job_that_is_removed_gives_a_last_update(mcp_session: McpSession, cli: Cli) -> None:
    job = background(mcp_session, "sleep 1000")
    uri = f"job://{job}"
    with mcp_session.subscribed(uri):
        until(lambda: _is_followed(mcp_session, job), what="the job followed")
        cli.ok("remove", job)
        until(lambda: _costs_nothing(mcp_session, job), what="its files closed")
        until(lambda: mcp_session.updates(uri), what="the last update")
        assert _refused(mcp_session, uri).error.code == NOT_THERE


@pytest.mark.fault("F75")
@MODERN_FIRST
def test_a_client_that_goes_away_leaves_no_connection_to_a_job(mcp_connect: Connect, cli: Cli, work: Path) -> None:
    session = mcp_connect()
    job = background(session, GATE)
    subscribed = session.subscribed(*(f"job://{job}{part}" for part in ("", "/output", "/events")))
    with contextlib.suppress(MCPError), subscribed:
        until(lambda: _is_followed(session, job) and _connections(job), what="a connection to the supervisor")
        session.kill()
        until(lambda: not _connections(job), what="the connection closed")
    (work / "go").touch()
    assert cli.ok("wait", job)["state"] == "exited"
