"""What a page is told of jobs in order: what each starts after, and whose turn it is in a line."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, configured
from support.commands import GATE
from support.serve import Served
from support.ui import Browser, Visitor
from support.wait import until

QUEUES = """
[queue.heavy]
slots = 1
[queue.big]
slots = 4
memory_free = "9000000G"
[queue.calm]
slots = 4
load = 0.000001
"""


@pytest.fixture(autouse=True)
def work(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, of this test alone: the server of all has one for all."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(cli: Cli, command: str, *words: str) -> str:
    job: str = cli.ok("run", "--snapshot-after", "0", *words, command)["job_id"]
    return job


def entries(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["job_id"]: one for one in found["jobs"]}


def turns_of(browser: Browser | Visitor, name: str) -> dict[str, Any]:
    """The line of this name as a page that was just loaded sees it; {} if there is none."""
    found: list[dict[str, Any]] = browser.call("jobs")["turns"]
    return next((one for one in found if one["name"] == name), {})


def test_a_job_says_what_it_starts_after_and_what_of_that_holds(browser: Browser, cli: Cli, work: Path) -> None:
    build = started(cli, GATE, "--title", "build")
    db = started(cli, f"echo ready; {GATE}", "--title", "db")
    job = started(cli, "true", "--after", "build", "--after", "db regex=ready")
    built = {"job_id": build, "name": "build", "condition": "", "holds": False}
    ready = {"job_id": db, "name": "db", "condition": "regex=ready", "holds": True}
    until(lambda: entries(browser.call("jobs"))[job]["needs"] == [built, ready], what="the condition that holds")
    found = entries(browser.call("jobs"))
    assert (found[job]["state"], found[job]["waits"]) == ("created", True)
    assert "started_at" not in found[job]
    assert [(found[one]["waits"], "needs" in found[one]) for one in (build, db)] == [(False, False)] * 2
    (work / "go").touch()
    cli.ok("wait", job)
    ended = entries(browser.call("jobs"))[job]
    assert ([one["holds"] for one in ended["needs"]], ended["waits"]) == ([True, True], False)


def test_what_did_not_come_true_is_said_not_to_hold(browser: Browser, cli: Cli) -> None:
    build = started(cli, "exit 3", "--title", "build")
    job = cli.ok("run", "--wait", "--after", build, "true")["job_id"]
    ended = entries(browser.call("jobs"))[job]
    assert (ended["reason"], [one["holds"] for one in ended["needs"]]) == ("dependency", [False])
    assert ended["started_at"] == ended["created_at"]


def test_a_line_has_those_whose_turn_it_is_and_those_that_wait_in_order(
    browser: Browser, cli: Cli, place: Path, work: Path
) -> None:
    configured(place, QUEUES)
    assert browser.call("jobs")["turns"] == []
    heavy = ("--queue", "heavy")
    first = started(cli, GATE, *heavy)
    low = started(cli, "true", *heavy)
    elsewhere = cli.ok("--root", str(place / "other"), "run", "--snapshot-after", "0", *heavy, "true")["job_id"]
    high = started(cli, "true", *heavy, "--priority", "5")
    line = {"name": "heavy", "at_once": 1, "running": [first], "waiting": [high, low, ""], "held_back": ""}
    assert turns_of(browser, "heavy") == line
    assert [one["waits"] for one in entries(browser.call("jobs")).values()] == [True, True, False]
    inner = started(cli, GATE, *heavy)  # not inside of the first: it waits too
    assert turns_of(browser, "heavy")["waiting"] == [high, low, "", inner]
    (work / "go").touch()
    for job in (first, low, high, inner):
        cli.ok("wait", job)
    cli.ok("--root", str(place / "other"), "remove", elsewhere)
    until(lambda: browser.call("jobs")["turns"] == [], what="the end of the line")


def test_a_line_that_nobody_is_let_out_of_says_why(browser: Browser, cli: Cli, place: Path) -> None:
    configured(place, QUEUES)
    for queue, why in (
        ("big", "Jobs start when 8789 TiB of memory are available for each."),
        ("calm", "Jobs start while the load is below 1e-06 for each core."),
    ):
        job = started(cli, "true", "--queue", queue)
        line = {"name": queue, "at_once": 4, "running": [], "waiting": [job], "held_back": why}
        assert turns_of(browser, queue) == line
        cli.ok("kill", job)


def test_a_page_that_waits_is_told_when_a_place_changes_which_no_file_of_a_job_says(
    browser: Browser, cli: Cli, place: Path
) -> None:
    configured(place, QUEUES)
    other = ("--root", str(place / "other"))
    gone = cli.ok(*other, "run", "--snapshot-after", "0", "--queue", "heavy", "exec sleep 600")["job_id"]
    ahead = cli.ok(*other, "run", "--snapshot-after", "0", "--queue", "heavy", "exec sleep 600")["job_id"]
    job = started(cli, "exec sleep 600", "--queue", "heavy")
    found = browser.call("jobs")
    assert found["turns"][0]["waiting"] == ["", job]
    quiet = browser.call("jobs", list=found["list"], after=found["next"])
    assert "turns" not in quiet and quiet["next"] == found["next"]
    answers: list[dict[str, Any]] = []
    asked = {"list": found["list"], "after": found["next"], "wait_ms": 20_000}
    waiting = threading.Thread(target=lambda: answers.append(browser.call("jobs", **asked)))
    waiting.start()
    cli.ok(*other, "kill", ahead)
    waiting.join()
    (news,) = answers
    assert (news["jobs"], news["turns"][0]["waiting"]) == ([], [job])
    cli.ok("kill", job)
    cli.ok(*other, "remove", gone, ahead)


def test_a_job_that_waits_is_taken_out(browser: Browser, cli: Cli, place: Path, work: Path) -> None:
    configured(place, QUEUES)
    first = started(cli, GATE, "--queue", "heavy")
    one, two = (started(cli, "touch ran", "--queue", "heavy") for _ in range(2))
    shown = browser.run("status", job_id=two)
    assert (shown["waits"], shown["advice"][0]["kind"]) == (True, "waits_for")
    assert "number 2 in line" in shown["advice"][0]["text"]
    assert not {"started_at", "elapsed_ms"} & shown.keys()
    assert "started" not in {name for name, _, _ in shown["facts"]}
    killed = browser.run("kill", job_id=one)
    assert (killed["state"], killed["reason"]) == ("failed", "kill")
    assert turns_of(browser, "heavy")["waiting"] == [two]
    browser.run("kill", job_id=two)
    ended = browser.run("status", job_id=two)
    assert (ended["waits"], [name for name, _, _ in ended["facts"]][:2]) == (False, ["reason", "given up"])
    (work / "go").touch()
    cli.ok("wait", first)
    assert not (work / "ran").exists()


@pytest.fixture
def visitor(shared_serve: Served, cli: Cli) -> Iterator[Visitor]:
    with Visitor(shared_serve.base, shared_serve.tokens["tests"]) as found:
        yield found
    for job in cli.ok("list", "--all", "--limit", "0")["jobs"]:
        cli.ok("remove", job["job_id"], "--grace-ms", "0")


def test_a_page_beside_mcp_is_told_the_same(visitor: Visitor, shared_serve: Served, cli: Cli, work: Path) -> None:
    def called(command: str, **given: Any) -> str:
        job: str = shared_serve.tool("exec", command=command, workdir=str(work), background=True, **given)["job_id"]
        return job

    build = called(GATE, title="build")
    job = called("true", after=[build])
    found = visitor.call("jobs")
    needs = [{"job_id": build, "name": "build", "condition": "", "holds": False}]
    assert (entries(found)[job]["needs"], entries(found)[job]["waits"], found["turns"]) == (needs, True, [])
    assert visitor.run("status", job_id=job)["waits"] is True
    assert visitor.run("kill", job_id=job)["reason"] == "kill"
    (work / "go").touch()
