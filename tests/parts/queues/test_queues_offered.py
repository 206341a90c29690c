"""What the configuration says of queues, and what of a call is refused before anything is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from outlive import config
from outlive.errors import OutliveError
from outlive.mcp.tools import listing
from outlive.parts.queues import settings
from outlive.parts.queues.settings import Queue
from support.cli import Cli, configured
from support.commands import GATE
from support.jobs import rewrite
from support.mcp_client import McpSession
from support.tiers import ONE_ERA

TWO = "[queue.heavy]\nslots = 2\n[queue.gpu]\nslots = 1\n"


def meta(root: Path, job: str) -> Any:
    return json.loads((root / job / "meta.json").read_text()).get("queue")


def test_what_a_queue_may_have(place: Path) -> None:
    def found(table: str) -> Any:
        try:
            return settings.of(config.load({}, str(configured(place, table))))
        except OutliveError as error:
            return error.message.partition("config.toml")[2].partition(": ")[2]

    def one(keys: str) -> Any:
        table = found(f"[queue.heavy]\n{keys}")
        return table["heavy"] if isinstance(table, dict) else table

    assert found("") == {}
    assert found(TWO).keys() == {"heavy", "gpu"}
    assert one('slots = 4\nmemory_free = "4G"\nload = 1.5') == Queue(4, 4 << 30, 1.5)
    assert one("slots = 1024\nmemory_free = 4096\nload = 2") == Queue(1024, 4096, 2.0)
    assert one("") == "[queue.heavy] has no slots"
    for slots in ("0", "-1", "1025", "1.5", "true", '"4"'):
        assert one(f"slots = {slots}").startswith("queue.heavy.slots must be a number from 1 to 1024, not "), slots
    for load in ("0", "-1", "nan", "true", '"1"', "1e9"):
        assert one(f"slots = 1\nload = {load}").startswith("queue.heavy.load must be a number above 0"), load
    for memory in ("0", "-1", "1.5", "true", "[]"):
        assert one(f"slots = 1\nmemory_free = {memory}").startswith("queue.heavy.memory_free must be a size"), memory
    assert one('slots = 1\nmemory_free = "much"').startswith("queue.heavy.memory_free: ")
    assert one("slots = 1\nslot = 2") == "unknown key slot in [queue.heavy]"
    assert found("[queue]\nheavy = 2\n") == "queue.heavy is a table; write [queue.heavy]"
    for name in ('"a b"', '"../x"', '""', '"ü"', '"none"', f'"{"x" * 65}"', '"a/b"'):
        assert found(f"[queue.{name}]\nslots = 1\n").startswith("not a name for a queue"), name
    assert found("[queue.heavy-2_x]\nslots = 1\n").keys() == {"heavy-2_x"}


def test_a_job_keeps_the_queue_that_it_was_made_for(cli: Cli, place: Path, root: Path) -> None:
    configured(place, '[queue.heavy]\nslots = 4\nmemory_free = "1K"\nload = 900\n')
    job = cli.ok("create", "--queue", "heavy", "--priority", "-3", "true")["job_id"]
    table = str(place / "home/.local/state/outlive/queues/heavy")
    assert meta(root, job) == {
        "name": "heavy", "slots": 4, "memory_free": 1024, "load": 900.0, "priority": -3, "table": table,
    }  # fmt: skip
    assert meta(root, cli.ok("create", "true")["job_id"]) is None


def test_the_queue_of_all_calls_is_in_the_configuration_and_a_call_may_leave_it(
    cli: Cli, place: Path, root: Path
) -> None:
    configured(place, f'[exec]\nqueue = "gpu"\n{TWO}[hosts.box]\nkind = "ssh"\ntarget = "box"\n')

    def name(*words: str, **how: Any) -> str | None:
        found = meta(root, cli.ok("create", *words, "true", **how)["job_id"])
        return None if found is None else str(found["name"])

    assert name() == "gpu"
    assert name("--queue", "heavy") == "heavy"
    assert name("--queue", "none") is None
    assert name("--queue", "") is None
    assert name("--priority", "2") == "gpu"
    assert name("--host", "local") == "gpu"
    assert name(env={"OUTLIVE_EXEC_QUEUE": "heavy"}) == "heavy"
    configured(place, f'[exec]\nqueue = "gp"\n{TWO}')
    error = cli.error("create", "true", code="config_error")
    assert (error["message"], error["hint"]) == ("exec.queue names no queue: 'gp'", "Did you mean gpu?")
    assert name("--queue", "heavy") == "heavy"
    assert name("--queue", "none") is None


def test_what_no_job_could_wait_for_is_refused(cli: Cli, place: Path, work: Path) -> None:
    def refused(*words: str) -> tuple[str, str | None]:
        error = cli.error("run", *words, "touch ran", code="invalid_argument")
        return error["message"], error.get("hint")

    nothing = "The configuration has no queue: [queue.NAME] with slots makes one."
    assert refused("--queue", "heavy") == ("--queue names no queue: 'heavy'", nothing)
    configured(place, f'{TWO}[hosts.box]\nkind = "ssh"\ntarget = "box"\n')
    assert refused("--queue", "heav") == ("--queue names no queue: 'heav'", "Did you mean heavy?")
    assert refused("--queue", "../x") == ("--queue names no queue: '../x'", "Queues: heavy, gpu.")
    assert refused("--queue", "heavy", "--priority", "11")[0] == "--priority is at most 10, not 11"
    assert refused("--priority", "1")[0] == "--priority is that in a queue, and the job is in none"
    assert refused("--queue", "none", "--priority", "1")[0] == "--priority is that in a queue, and the job is in none"
    said = "--queue: slots are of this machine, and the job is to run on box"
    assert refused("--queue", "heavy", "--host", "box")[0] == said
    assert not (work / "ran").exists()


def test_a_record_that_another_program_has_spoilt_is_refused(cli: Cli, place: Path, root: Path, work: Path) -> None:
    configured(place, TWO)
    job = cli.ok("create", "--queue", "heavy", "touch ran")["job_id"]
    path = root / job / "meta.json"
    sound = meta(root, job)
    junk: list[Any] = [1, [], {}]
    junk += [
        sound | wrong for wrong in ({"slots": 0}, {"priority": 99}, {"name": "../x"}, {"table": "x"}, {"load": "1"})
    ]
    for queue in junk:
        rewrite(path, queue=queue)
        error = cli.error("start", job, code="invalid_argument")
        assert error["message"] == "meta.json was changed by another program: queue makes no sense", queue
        assert cli.ok("status", job)["state"] == "created"
        assert len(cli.ok("list")["jobs"]) == 1
    assert not (work / "ran").exists()


def test_neither_argument_is_listed_to_models(place: Path) -> None:
    for text in ("", TWO):
        tools = listing.tools(("exec", "process"), config.load({}, str(configured(place, text))))
        listed = json.loads(json.dumps(tools[0]))["inputSchema"]["properties"]
        assert not {"queue", "priority"} & listed.keys()


@pytest.fixture
def two_queues(place: Path) -> None:
    configured(place, TWO)


@ONE_ERA
def test_a_model_and_a_person_read_how_a_job_waits(
    two_queues: None, mcp_session: McpSession, cli: Cli, work: Path
) -> None:
    session = mcp_session
    session.ok("exec", command=GATE, queue="gpu", background=True)
    job = session.ok("exec", command="echo it ran", queue="gpu", background=True)["job_id"]
    said = session.call("process", action="status", job_id=job).text
    first, *_, last = said.splitlines()
    assert first == f"Job {job} is created: it waits in a queue."
    assert last == "It waits for a slot of the queue gpu: next in line, 1 job runs."
    assert "queued: (name gpu, position 1)" in session.call("process", action="list", queue="gpu").text
    assert "it waits in a queue" in cli.text("status", "--human", job).stdout
    assert "(name gpu, position 1)" in cli.text("list", "--human", "--all").stdout
    (work / "go").touch()
    assert "it ran" in session.call("process", action="wait", job_id=job).text


def test_a_list_of_a_queue_that_there_is_not_is_refused(cli: Cli, place: Path) -> None:
    configured(place, TWO)
    error = cli.error("list", "--queue", "heav", code="invalid_argument")
    assert (error["message"], error["hint"]) == ("--queue names no queue: 'heav'", "Did you mean heavy?")
    found = cli.ok("list", "--queue", "heavy")
    assert (found["jobs"], found["hint"]) == ([], "Queue heavy: 0 of 2 slots taken, 0 jobs in line.")
