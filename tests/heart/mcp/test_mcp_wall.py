"""One server, several callers: what a transport that knows its callers gets from the wall."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, types

from outlive import config, limits
from outlive.core.records import READ
from outlive.errors import OutliveError
from outlive.jobs.told import notices
from outlive.mcp import server, threads
from outlive.mcp.caller import Caller, client_of, on_stdio
from outlive.mcp.tools.call import Calls
from outlive.mcp.tools.offer import EXEC, PROCESS
from outlive.store.job_dir import JobDir
from support.calls import BOUND_S, ask
from support.cli import Cli
from support.commands import GATE

TOKEN = Caller("ci", "token:ci", "token:ci", walled=True)
ADMIN = Caller("root", "token:root", "token:root")


def refused(calls: Calls, caller: Caller, **given: Any) -> str:
    with pytest.raises(OutliveError) as caught:
        ask(calls, caller, PROCESS, **given)
    return caught.value.code


def test_no_name_of_a_stdio_client_is_the_scope_of_a_token() -> None:
    for name in ["ci", "token:ci", "ci/../ci", "stdio:ci", "TOKEN:ci", "token：ci"]:
        forged = on_stdio(name, {"CLAUDE_CODE_SESSION_ID": "token:ci"}, isolate=True)
        assert forged.scope.startswith("stdio:")
        assert ":" not in forged.scope.removeprefix("stdio:")
        assert forged.client != TOKEN.client


def test_a_stdio_client_with_the_name_of_a_token_has_other_jobs_and_other_notices(
    calls: Calls, cli: Cli, work: Path
) -> None:
    forged = on_stdio("ci", {}, isolate=False)
    started = ask(calls, forged, EXEC, command=f"{GATE}; exit 3", background=True)
    theirs = started["job_id"]
    sent = notices.known(calls.context(forged, READ, "this"), started)
    sent(True)  # until then the call is under way, and its answer will tell
    (work / "go").touch()
    cli.ok("wait", theirs)
    assert refused(calls, TOKEN, action="status", job_id=theirs) == "job_not_found"
    assert ask(calls, TOKEN, PROCESS, action="list", owner="ci")["jobs"] == []
    assert calls.notices(TOKEN, {}).notices == []
    assert [notice["job_id"] for notice in calls.notices(forged, {}).notices] == [theirs]


def test_a_list_behind_the_wall_reads_the_definition_of_a_job_of_others_once(
    calls: Calls, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {cli.ok("run", "true")["job_id"] for _ in range(3)}
    mine = ask(calls, TOKEN, EXEC, command="true")["job_id"]
    read: list[str] = []
    really = JobDir.read_meta

    def read_meta(job: JobDir) -> Any:
        read.append(job.job_id)
        return really(job)

    monkeypatch.setattr(JobDir, "read_meta", read_meta)
    for expected in (others, set()):
        read.clear()
        assert [job["job_id"] for job in ask(calls, TOKEN, PROCESS, action="list", all=True)["jobs"]] == [mine]
        assert set(read) - {mine} == expected
    later = ask(calls, TOKEN, EXEC, command="true")["job_id"]
    assert {job["job_id"] for job in ask(calls, TOKEN, PROCESS, action="list", all=True)["jobs"]} == {mine, later}
    assert len(ask(calls, ADMIN, PROCESS, action="list", all=True)["jobs"]) == 5


def test_a_job_that_an_environment_claims_for_a_token_is_not_the_tokens(calls: Calls, cli: Cli) -> None:
    for owner in ("ci", "token:ci"):
        job = cli.ok("run", "true", env={"OUTLIVE_OWNER": owner})["job_id"]
        assert refused(calls, TOKEN, action="status", job_id=job) == "job_not_found"


def test_who_is_not_walled_sees_every_scope_and_takes_none_of_its_jobs_over(calls: Calls, cli: Cli) -> None:
    job = ask(calls, TOKEN, PROCESS, action="create", command="true")["job_id"]
    assert ask(calls, ADMIN, PROCESS, action="list", all=True)["jobs"][0]["job_id"] == job
    assert ask(calls, ADMIN, PROCESS, action="start", job_id=job)["state"] == "exited"
    assert ask(calls, TOKEN, PROCESS, action="status", job_id=job)["owner"] == "ci"
    again = ask(calls, ADMIN, PROCESS, action="restart", job_id=job)["job_id"]
    assert refused(calls, TOKEN, action="status", job_id=again) == "job_not_found"


def test_two_clients_of_one_scope_share_its_jobs_and_no_positions(calls: Calls) -> None:
    one, other = (Caller(name, f"token:{name}", "team", walled=True) for name in ("one", "other"))
    job = ask(calls, one, EXEC, command="echo out")["job_id"]
    assert ask(calls, one, PROCESS, action="poll", job_id=job)["output"] == ""
    assert ask(calls, other, PROCESS, action="poll", job_id=job)["output"] == "out\n"
    assert [found["job_id"] for found in ask(calls, other, PROCESS, action="list", all=True)["jobs"]] == [job]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_update_of_a_short_uri_stays_on_its_side_of_the_wall(
    calls: Calls, root: Path, work: Path, mode: str
) -> None:
    """The first six characters of an id are a time: one text names a job of mine, and at once one of yours."""
    mine, yours = (Caller(name, name, name, walled=True) for name in ("mine", "yours"))
    jobs = _with_one_beginning(calls, mine, yours)
    uri = f"job://{jobs[mine][:6]}/output"
    built = server.build(
        calls,
        config.load({"XDG_CONFIG_HOME": "/nonexistent"}),
        lambda ctx: {"mine": mine, "yours": yours}[_name(ctx)],
    )
    told: dict[Caller, list[str]] = {mine: [], yours: []}

    async def listen(caller: Caller, ready: anyio.Event, end: anyio.Event) -> None:
        async def take(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                told[caller].append(message.params.uri)

        info = types.Implementation(name=caller.owner, version="1")
        async with Client(built, mode=mode, client_info=info, message_handler=take) as client:
            if mode == "legacy":
                await client.session.send_request(
                    types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)), types.EmptyResult
                )
                ready.set()
                await end.wait()
            else:
                async with client.listen(resource_subscriptions=[uri]):
                    ready.set()
                    await end.wait()
            await client.list_tools()  # whatever was sent before this answer is here

    async def run() -> None:
        ready, end = [anyio.Event(), anyio.Event()], anyio.Event()
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                for caller, event in zip(told, ready, strict=True):
                    group.start_soon(listen, caller, event, end)
                for event in ready:
                    await event.wait()
                (work / f"go-{yours.owner}").touch()
                while not told[yours]:
                    await anyio.sleep(0.01)
                end.set()

    anyio.run(run)
    assert told[mine] == []
    assert set(told[yours]) == {uri}
    for caller in told:
        (work / f"go-{caller.owner}").touch()
        ask(calls, caller, PROCESS, action="remove", job_id=jobs[caller])


def _with_one_beginning(calls: Calls, *callers: Caller) -> dict[Caller, str]:
    """A running job of each, which prints when the file go-OWNER is there."""
    while True:
        found = {}
        for caller in callers:
            gated = f"until [ -e go-{caller.owner} ]; do sleep 0.1; done; echo out; exec sleep 1000"
            found[caller] = ask(calls, caller, EXEC, command=gated, background=True)["job_id"]
        if len({job[:6] for job in found.values()}) == 1:
            return found
        for caller, job in found.items():  # the time that they begin with went on in between
            ask(calls, caller, PROCESS, action="remove", job_id=job)


def _name(ctx: Any) -> str:
    return str(client_of(ctx))


def test_a_call_whose_cancellation_crosses_its_answer_leaves_its_job(
    calls: Calls, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is sent no answer then, although nothing waited for the cancellation to stop it."""
    run = threads.run

    async def talk() -> list[dict[str, Any]]:
        with anyio.fail_after(BOUND_S), anyio.CancelScope() as scope:

            async def crossed(*given: Any, **more: Any) -> Any:
                found = await run(*given, **more)
                scope.cancel()
                return found

            monkeypatch.setattr(threads, "run", crossed)
            await calls.run(EXEC, {"command": "exec sleep 60", "yield_ms": 0}, ADMIN)
        return calls.notices(ADMIN, {}).notices

    (notice,) = anyio.run(talk)
    assert (notice["event"], notice["state"]) == ("unanswered", "running")
    cli.ok("remove", notice["job_id"], "--grace-ms", "0")


def test_a_client_that_names_ever_new_sessions_uses_up_no_files(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Codex does over HTTP: each of its conversations has a name, and none of them says that it is over."""
    monkeypatch.setattr(limits, "HTTP_SESSIONS", 3)

    def kept_open() -> int:
        paths = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        return sum(os.path.lexists(path) and os.readlink(path).endswith("/live") for path in paths)

    one = Caller("one", "token:one", "team", program="token:one", session="first")
    job = ask(calls, one, EXEC, command="sleep 0.1", background=True)["job_id"]
    for number in range(10):
        ask(calls, one.changed(session=f"s{number}"), PROCESS, action="list")
    assert kept_open() == 3
    assert ask(calls, one, PROCESS, action="wait", job_id=job)["state"] == "exited"
