"""`outlive mcp --isolate`, attacked: the jobs of other scopes cannot be told from jobs that never were."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import MCPError, types

from outlive.mcp.tools.offer import process_verbs
from support import examples
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpRefusal, McpSession, RawMcp
from support.tasks_client import IDENTIFIER, TasksClient, get, tell
from support.tiers import MODERN_FIRST, ONE_ERA, first

Connect = Callable[..., McpSession]
NEVER = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # the id of no job
# Of these actions an example that would do more harm, or show more
NEEDS: dict[str, dict[str, Any]] = {
    "notify_set": {"notify_file": "/dev/null"},
    "kill": {"signal": "KILL"},
    "log": {"search": "secret"},
}


class Others(NamedTuple):
    """Jobs that the caller must not see: of another client that runs, and that is over; of the command line, defined
    and running, in the caller's own name."""

    running: str
    finished: str
    created: str
    forged: str


@pytest.fixture(scope="module")
def other_client(shared_place: Path, shared_where: dict[str, Any]) -> Iterator[McpSession]:
    with McpSession(log=shared_place / "other.log", client_name="other", **shared_where) as session:
        yield session


@pytest.fixture
def others(other_client: McpSession, cli: Cli, work: Path) -> Iterator[Others]:
    forge = {"OUTLIVE_OWNER": "inside"}
    begun = f"echo secret; {GATE}"
    found = Others(
        other_client.ok("exec", command=begun, background=True, stdin="open", tags=["a.b"])["job_id"],
        other_client.ok("exec", command="echo secret")["job_id"],
        cli.ok("create", "echo secret", env=forge)["job_id"],
        cli.ok("run", "--snapshot-after", "0", "--dedupe-key", "k", begun, env=forge)["job_id"],
    )
    yield found
    (work / "go").touch()
    for job in found:
        if cli.run("status", job).json["ok"]:  # else a test has failed, which it says itself
            cli.run("remove", job)
    (work / "go").unlink()


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    return {"client_name": "inside", "args": ("--isolate",), "extensions": [TasksClient()]}


@pytest.fixture(scope="module")
def shared_raw_options() -> dict[str, Any]:
    return {"client_name": "inside", "args": ("--isolate",)}


@pytest.fixture
def inside(shared_session: McpSession) -> McpSession:
    """A client behind the wall, of a server that this module's tests share."""
    return shared_session


def without(answer: Any, *names: str) -> str:
    """An answer, with the names by which a job was asked for taken out."""
    text = json.dumps(answer, sort_keys=True)
    for name in names:
        text = text.replace(name, "NAME")
    return text


def spellings(job: str) -> list[str]:
    return [job, job[-8:], job.lower(), f" {job} ", job[-6:].lower(), job[:20]]


def of_job() -> list[str]:
    """Every action that takes a job."""
    return [action for action, verb in process_verbs().items() if examples.takes_job(verb)]


@ONE_ERA
@pytest.mark.parametrize("names", first(1, [2, len(spellings(NEVER))]))
def test_the_job_of_another_is_no_job_to_any_action(inside: McpSession, others: Others, cli: Cli, names: int) -> None:
    before = [cli.ok("status", job)["state"] for job in others]
    for number, action in enumerate(of_job()):
        given = {**examples.arguments(process_verbs()[action].name), **NEEDS.get(action, {})}
        # By default each action asks for one of the jobs, and each job is asked for by several actions
        for job in others if names > 2 else others[number % len(others) :][:1]:
            for never, name in list(zip(spellings(NEVER), spellings(job), strict=True))[:names]:
                refused = inside.error("process", job_id=name, code="job_not_found", **given)
                absent = inside.error("process", job_id=never, code="job_not_found", **given)
                assert without(refused.result, name) == without(absent.result, never), action
                assert refused.text.replace(name, "NAME") == absent.text.replace(never, "NAME"), action
    assert [cli.ok("status", job)["state"] for job in others] == before
    assert cli.ok("status", others.running)["tags"] == ["a.b"]


def test_every_action_that_takes_a_job_is_attacked() -> None:
    assert set(NEEDS) < set(of_job())
    assert set(process_verbs()) - set(of_job()) == {"create", "list", "gc", "hosts", "help"}


@ONE_ERA
def test_a_wait_for_own_and_foreign_jobs_tells_nothing(inside: McpSession, others: Others, work: Path) -> None:
    own = inside.ok("exec", command=GATE, background=True)["job_id"]
    for jobs in ([own, others.finished], [others.finished, own]):
        refused = inside.error("process", action="wait", job_id=jobs, timeout_ms=0, code="job_not_found")
        assert "secret" not in refused.text
        assert "jobs" not in refused.result
    (work / "go").touch()
    assert inside.ok("process", action="wait", job_id=[own])["state"] == "exited"


@ONE_ERA
def test_a_short_name_means_the_own_job_and_its_candidates_are_own_ones(inside: McpSession, others: Others) -> None:
    own = inside.ok("exec", command="true")["job_id"]
    first = next(own[:size] for size in range(6, 26) if not others.finished.startswith(own[: size + 1]))
    assert inside.ok("process", action="status", job_id=first)["job_id"] == own, (
        "others with this beginning do not count"
    )
    made = [own, *(inside.ok("exec", command="true")["job_id"] for _ in range(2))]
    # The first six characters change every few minutes: the job in the middle shares them with at least one
    alike = {job for job in made if job.startswith(made[1][:6])}
    found = inside.error("process", action="status", job_id=made[1][:6], code="ambiguous_job_id")
    assert set(found.result["error"]["details"]["candidates"]) == alike
    assert found.result["error"]["message"].startswith(f"{len(alike)} jobs")


@ONE_ERA
def test_lists_and_their_counts_know_own_jobs_only(inside: McpSession, others: Others, cli: Cli, root: Path) -> None:
    own = inside.ok("exec", command="true")["job_id"]
    asked: list[dict[str, Any]] = [
        {"all": True},
        {"all": True, "limit": 1},
        {},
        {"owner": "inside"},
        {"cwd": str(cli.ok("status", others.forged)["cwd"])},
    ]
    for how in asked:
        found = inside.ok("process", action="list", **how)
        assert [job["job_id"] for job in found["jobs"]] == [own], how
        assert (found["truncated"], found["skipped"]) == (False, 0), how
    for how in (
        {"owner": "other"},
        {"owner": "cli"},
        {"state": "running"},
        {"tags": ["a.*"]},
        {"all": True, "state": "created"},
    ):
        assert inside.ok("process", action="list", **how)["jobs"] == [], how
    (root / others.finished / "meta.json").write_text("{")
    assert inside.ok("process", action="list", all=True)["skipped"] == 0
    inside.error("process", action="status", job_id=others.finished, code="job_not_found")


@ONE_ERA
def test_gc_neither_deletes_nor_counts_the_jobs_of_others(
    inside: McpSession, others: Others, cli: Cli, root: Path
) -> None:
    (root / ".gc-left").mkdir()
    found = inside.ok("process", action="gc", older_than="0s", max_jobs=0, max_bytes=0)
    counts = {name: found[name] for name in ("deleted", "skipped", "out_of_scope", "freed_bytes", "jobs", "leftovers")}
    assert counts == {"deleted": 0, "skipped": 0, "out_of_scope": 0, "freed_bytes": 0, "jobs": [], "leftovers": 0}
    (root / ".gc-left").rmdir()
    for job in others:
        assert cli.ok("status", job)["job_id"] == job


@ONE_ERA
def test_a_dedupe_key_finds_no_job_of_another(inside: McpSession, others: Others, work: Path) -> None:
    how: dict[str, Any] = {
        "command": f"echo secret; {GATE}",
        "background": True,
        "dedupe_key": "k",
        "workdir": str(work),
    }
    own = inside.ok("exec", **how)
    assert own["job_id"] != others.forged, "the same key, directory and name of owner"
    assert inside.ok("exec", **how)["deduplicated"]
    (work / "go").touch()
    inside.ok("process", action="wait", job_id=own["job_id"])


@ONE_ERA
def test_nobody_hears_of_anothers_end(inside: McpSession, others: Others, cli: Cli, work: Path) -> None:
    own = inside.ok("exec", command=f"{GATE}; exit 3", background=True)["job_id"]
    (work / "go").touch()
    for job in (own, others.running, others.forged):
        cli.ok("wait", job)
    told = inside.ok("process", action="list", state="created")
    assert [notice["job_id"] for notice in told["notices"]] == [own]


@MODERN_FIRST
@pytest.mark.parametrize("names", first(1, [2, len(spellings(NEVER))]))
def test_resources_are_own_jobs_only(inside: McpSession, others: Others, names: int) -> None:
    own = inside.ok("exec", command="true")["job_id"]
    listed = inside.ask(lambda client: client.list_resources()).resources
    assert [one.uri for one in listed] == [f"job://{own}"]
    for job in others:
        for never, name in list(zip(spellings(NEVER), spellings(job), strict=True))[:names]:
            for uri in ("job://{}", "job://{}/output", "job://{}/events?since_event=0", "job://{}/output?since_seq=0"):
                refused = refusal(inside, uri.format(name))
                absent = refusal(inside, uri.format(never))
                assert refused.error.code == absent.error.code == types.INVALID_PARAMS
                assert without(refused.error.model_dump(), name) == without(absent.error.model_dump(), never)


def refusal(session: McpSession, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        session.ask(lambda client: client.read_resource(uri))
    return caught.value


@MODERN_FIRST
def test_the_job_of_another_cannot_be_subscribed_to(
    shared_raw: RawMcp, others: Others, era: str, work: Path, cli: Cli
) -> None:
    raw = shared_raw
    uris = [f"job://{job}{part}" for job in others for part in ("", "/output", "/events")]
    if era == "legacy":
        for uri in uris:
            with pytest.raises(McpRefusal) as caught:
                raw.request("resources/subscribe", {"uri": uri})
            assert caught.value.code == types.INVALID_PARAMS
    else:
        raw.begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})
        raw.read_until(lambda: raw.others, "the acknowledgement")
        assert not raw.others.pop()["params"]["notifications"].get("resourceSubscriptions")
    (work / "go").touch()
    cli.ok("wait", others.running)
    raw.call("process", action="list")  # whatever was sent before this answer is here
    assert raw.others == []


@ONE_ERA
def test_the_job_of_another_is_no_task(inside: McpSession, others: Others, cli: Cli) -> None:
    asks: list[Callable[[str], Any]] = [
        lambda task: get(inside, task),
        lambda task: tell(inside, "tasks/cancel", task),
        lambda task: tell(inside, "tasks/update", task, inputResponses={"input-0": {"action": "decline"}}),
    ]
    for job in others:
        for ask in asks:
            assert without(task_refusal(ask, job), job) == without(task_refusal(ask, NEVER), NEVER)
    assert cli.ok("status", others.running)["state"] == "running"


def task_refusal(ask: Callable[[str], Any], task: str) -> dict[str, Any]:
    with pytest.raises(MCPError) as caught:
        ask(task)
    found: dict[str, Any] = caught.value.error.model_dump()
    assert found["code"] == types.INVALID_PARAMS
    return found


@ONE_ERA
def test_a_listener_is_not_told_of_the_task_of_another(shared_raw: RawMcp, others: Others) -> None:
    raw = shared_raw
    declared: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {IDENTIFIER: {}}}}
    raw.begin("subscriptions/listen", {"notifications": {"taskIds": list(others)}, "_meta": declared})
    raw.read_until(lambda: raw.others, "the acknowledgement")
    assert raw.others[0]["params"]["notifications"].get("taskIds") == []


# --- what the wall leaves open ---------------------------------------------------------------------------------------


@ONE_ERA
def test_own_jobs_of_before_the_wall_and_of_other_servers_are_inside(
    inside: McpSession, mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    before = mcp_connect(client_name="inside")
    job = before.ok("exec", command=f"echo one; {GATE}; echo two", background=True)["job_id"]
    (work / "go").touch()
    assert inside.ok("process", action="wait", job_id=job[-8:])["state"] == "exited"
    again = inside.ok("process", action="restart", job_id=job)["job_id"]
    created = cli.ok("list", "--all")["jobs"]
    assert {one["job_id"] for one in created} == {job, again}
    assert {one["job_id"] for one in inside.ok("process", action="list", all=True)["jobs"]} == {job, again}


@ONE_ERA
def test_a_session_of_the_same_client_is_another_scope(mcp_connect: Connect) -> None:
    one, other = (
        mcp_connect(client_name="inside", args=("--isolate",), env={"CLAUDE_CODE_SESSION_ID": name})
        for name in ("a", "b")
    )
    job = one.ok("exec", command="true")["job_id"]
    assert one.ok("process", action="status", job_id=job)["owner"] == "inside/a"
    other.error("process", action="status", job_id=job, code="job_not_found")


@ONE_ERA
def test_without_the_wall_every_job_can_be_looked_at(inside: McpSession, other_client: McpSession) -> None:
    job = inside.ok("exec", command="echo secret")["job_id"]
    assert other_client.ok("process", action="tail", job_id=job)["stdout_tail"] == "secret\n"


@MODERN_FIRST
def test_a_title_of_another_scope_names_no_job(shared_session: McpSession, other_client: McpSession, cli: Cli) -> None:
    theirs = other_client.ok("exec", command="true", title="web")["job_id"]
    cli.ok("run", "--title", "web", "true", env={"OUTLIVE_OWNER": "inside"})
    shared_session.error("process", action="status", job_id="web", code="job_not_found")
    assert theirs not in shared_session.error("process", action="remove", job_id="web", code="job_not_found").text
