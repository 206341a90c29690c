"""Jobs in a queue: so many run at a time, the others wait in line, and a caller who asks is shown how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, configured
from support.commands import GATE
from support.face import Face
from support.mcp_client import McpSession
from support.wait import until

QUEUES = """
[queue.heavy]
slots = 1
[queue.wide]
slots = 2
[queue.big]
slots = 4
memory_free = "9000000G"
[queue.calm]
slots = 4
load = 0.000001
"""


@pytest.fixture(autouse=True)
def _queues(place: Path) -> None:
    configured(place, QUEUES)


@pytest.fixture(params=["cli", "mcp"])
def face(request: pytest.FixtureRequest, cli: Cli, place: Path) -> Iterator[Face]:
    with McpSession(log=place / "mcp.log") as session:
        yield Face(request.param, cli, session)


def started(face: Face, command: str, queue: str = "heavy", **given: Any) -> tuple[str, str]:
    found = face.ok("run", command=command, queue=queue, yield_ms=0, **given)
    return found["job_id"], found["state"]


def test_only_so_many_run_and_the_others_wait_in_line(face: Face, work: Path) -> None:
    first, state = started(face, GATE)
    assert state == "running"
    others = [started(face, f"echo {number} >> order", priority=number // 2) for number in range(4)]
    assert [state for _, state in others] == ["created"] * 4
    jobs = [job for job, _ in others]
    shown = [face.ok("status", job) for job in jobs]
    places = {"name": "heavy", "slots": 1, "running": 1, "reason": "slots"}
    assert [one["queued"] for one in shown] == [{**places, "position": position} for position in (3, 4, 1, 2)]
    assert shown[0]["hint"] == "It waits for a slot of the queue heavy: number 3 in line, 1 job runs."
    assert shown[2]["hint"] == "It waits for a slot of the queue heavy: next in line, 1 job runs."
    assert [one["kind"] for one in face.ok("status", jobs[0], detail="full")["advice"]] == ["waits_for"]
    listed = face.ok("list", queue="heavy")
    assert [one["job_id"] for one in listed["jobs"]] == [first, jobs[2], jobs[3], jobs[0], jobs[1]]
    assert [one.get("queued", {}).get("position") for one in listed["jobs"]] == [None, 1, 2, 3, 4]
    assert listed["hint"] == "Queue heavy: 1 of 1 slots taken, 4 jobs in line."
    assert face.ok("list", queue="wide")["jobs"] == []
    (work / "go").touch()
    for job in jobs:
        ended = face.until(job, lambda found: found["state"] == "exited", what="its end")
        assert "queued" not in ended
    assert (work / "order").read_text().split() == ["2", "3", "0", "1"]
    assert face.ok("list", queue="heavy")["jobs"] == []


def test_several_slots_are_for_several_jobs(face: Face, work: Path) -> None:
    found = [started(face, GATE, "wide") for _ in range(3)]
    assert [state for _, state in found] == ["running", "running", "created"]
    assert started(face, "true")[1] != "created", "another queue has slots of its own"
    assert "next in line, 2 jobs run." in face.ok("status", found[2][0])["hint"]
    (work / "go").touch()
    for job, _ in found:
        face.until(job, lambda found: found["state"] == "exited", what="its end")


def test_a_job_that_is_taken_out_never_runs_and_the_next_one_moves_up(face: Face, work: Path) -> None:
    started(face, GATE)
    one, two, three = (started(face, "touch ran")[0] for _ in range(3))
    killed = face.ok("kill", one)
    assert (killed["state"], killed["reason"]) == ("failed", "kill")
    face.until(two, lambda found: found["queued"]["position"] == 1, what="the first place")
    face.ok("remove", two)
    face.until(three, lambda found: found["queued"]["position"] == 1, what="the first place")
    face.ok("kill", three)
    (work / "go").touch()
    until(lambda: face.ok("list", queue="heavy")["jobs"] == [], what="the end")
    assert not (work / "ran").exists()


def test_a_time_limit_counts_from_the_start(face: Face) -> None:
    started(face, "sleep 1.6")
    job, state = started(face, "echo it ran", timeout_ms=1000)
    assert state == "created"
    ended = face.until(job, lambda found: found["state"] != "created" and found["state"] != "running", what="its end")
    assert (ended["state"], ended["exit_code"]) == ("exited", 0)


def test_a_call_that_waits_for_the_end_is_answered_then(face: Face, work: Path) -> None:
    started(face, GATE)
    call = face.begin("run", command="echo it ran", queue="heavy", yield_ms=40_000)
    until(lambda: len(face.ok("list", queue="heavy")["jobs"]) == 2, what="the place in line")
    (work / "go").touch()
    assert call.result()["output"] == "it ran\n"


def test_what_a_job_lacks_is_said(face: Face) -> None:
    big, calm = started(face, "touch ran", "big")[0], started(face, "touch ran", "calm")[0]
    found = face.ok("status", big)
    assert found["queued"]["reason"] == "memory"
    assert found["hint"].startswith("It waits in the queue big, next in line: its jobs start when ")
    found = face.ok("status", calm)
    assert found["queued"]["reason"] == "load"
    said = "It waits in the queue calm, next in line: its jobs start while the load is below 1e-06 for each core."
    assert found["hint"] == said
    for job in (big, calm):
        face.ok("kill", job)
    assert not Path("ran").exists()


def test_a_restart_waits_in_the_same_queue(face: Face, work: Path) -> None:
    job, _ = started(face, "true")
    face.until(job, lambda found: found["state"] == "exited", what="its end")
    started(face, GATE)
    again = face.ok("restart", job, yield_ms=0)
    assert (again["state"], again["queued"]["name"]) == ("created", "heavy")
    (work / "go").touch()
    face.until(again["job_id"], lambda found: found["state"] == "exited", what="its end")
