"""The page with jobs of other machines: behind a real sshd, and on a real Slurm cluster. Driven by HTTP, as a browser does."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import processes, sshd
from support.cli import Cli
from support.on_slurm import Slurm
from support.on_ssh import SOON_S
from support.ui import Browser, Ui
from support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.real_start]
TALKS = ("--pty", "--", "bash", "--norc", "-i")
PRINTS = "echo one; while [ ! -e {go} ]; do sleep 0.1; done; echo two; exit 5"


class Page:
    """An open page: it keeps the list of jobs up to date."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._jobs: dict[str, dict[str, Any]] = {}
        self._next, self._list = 0, ""

    def until(self, job: str, holds: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """Wait until the entry of a job in the list is so."""

        def look() -> dict[str, Any] | None:
            found = self.browser.call("jobs", after=self._next, list=self._list)
            self._next, self._list = found["next"], found["list"]
            self._jobs |= {entry["job_id"]: entry for entry in found["jobs"]}
            return self._jobs[job] if job in self._jobs and holds(self._jobs[job]) else None

        entry = until(look, what=what, timeout=SOON_S)
        assert entry is not None
        return entry

    def shows(self, job: str, lines: list[str]) -> None:
        """Wait until the output of a job is so."""

        def look() -> bool:
            rows = self.browser.call("rows", job_id=job)["rows"]
            return [row[2][1] for row in rows if row[2]] == lines

        until(look, what=f"the rows {lines}", timeout=SOON_S)

    def types_and_kills(self, job: str) -> None:
        """A tab takes the keyboard, types, sees the reaction, and ends the job."""
        assert self.browser.call("keyboard", job_id=job, tab="one", take=True, size=[100, 40])["mine"]
        self.browser.call("type", job_id=job, tab="one", data="stty size; echo ty''ped\r")
        seen = self.browser.call("terminal", job_id=job, tab="one")
        shown = base64.b64decode(seen["data"])

        def look() -> bool:
            nonlocal seen, shown
            seen = self.browser.call("terminal", job_id=job, tab="one", seq=seen["next_seq"], wait_ms=1000)
            shown += base64.b64decode(seen["data"])
            return b"40 100" in shown and b"typed" in shown

        until(look, what="the reaction", timeout=SOON_S)
        killed = self.browser.run("kill", job_id=job)
        assert (killed["state"], killed["reason"], killed["signal"]) == ("killed", "kill", "SIGTERM")
        self.until(job, lambda entry: entry["state"] == "killed", "the list tells its end")


@pytest.fixture
def ui(place: Path) -> Iterator[Callable[[], Page]]:
    """Open the page, when the hosts are configured."""
    opened: list[Any] = []

    def show() -> Page:
        server = Ui(place / "ui.log")
        opened.append(server.__enter__())
        browser = Browser(server)
        opened.append(browser)
        return Page(browser)

    yield show
    for one in reversed(opened):
        one.__exit__(None, None, None)


def test_the_page_shows_types_into_and_ends_a_job_over_ssh(cli: Cli, box: sshd.Machine, ui: Callable[[], Page]) -> None:
    page = ui()
    run = ("run", "--host", "box", "--snapshot-after", "0")
    printing = cli.ok(*run, "--", PRINTS.format(go="go"))["job_id"]
    entry = page.until(printing, lambda entry: entry.get("last_line") == "one", "it prints")
    assert (entry["host"], entry["state"]) == ("box", "running")
    page.shows(printing, ["one"])
    talking = cli.ok(*run, *TALKS)["job_id"]
    page.until(talking, lambda entry: entry["state"] == "running", "it runs")
    box.cut()
    (box.home / "go").touch()
    entry = page.until(printing, lambda entry: entry.get("reachable") is False, "that it is out of reach")
    assert (entry["state"], bool(entry["unreachable_since"])) == ("running", True)
    status, error = page.browser.refused("process", action="kill", job_id=printing)
    assert (status, error["code"], error["retryable"]) == (409, "io_error", True)
    box.link()
    entry = page.until(printing, lambda entry: entry["state"] == "exited", "its end")
    assert (entry["exit_code"], entry.get("reachable")) == (5, None)
    page.shows(printing, ["one", "two"])
    page.until(talking, lambda entry: "reachable" not in entry, "that it is back")
    page.types_and_kills(talking)


def test_the_page_shows_types_into_and_ends_a_job_on_a_node(on: Slurm, ui: Callable[[], Page], work: Path) -> None:
    page = ui()
    printing = on.start("--", PRINTS.format(go=work / "go"))["job_id"]
    entry = page.until(printing, lambda entry: entry.get("last_line") == "one", "it prints")
    assert (entry["host"], entry["engine"]["name"]) == ("cluster", "slurm")
    page.shows(printing, ["one"])
    (work / "go").touch()
    assert page.until(printing, lambda entry: entry["state"] == "exited", "its end")["exit_code"] == 5
    page.shows(printing, ["one", "two"])
    page.types_and_kills(on.start(*TALKS)["job_id"])


def test_the_page_tells_why_a_job_waits_and_what_only_slurm_saw(on: Slurm, ui: Callable[[], Page]) -> None:
    """No file of the job changes then: the page has to ask."""
    page = ui()
    waiting = on.run("--snapshot-after", "0", "--resource", "options.hold=true", "true")["job_id"]
    entry = page.until(waiting, lambda entry: entry.get("queue", {}).get("reason") == "JobHeldUser", "why it waits")
    assert entry["state"] == "created"
    killed = page.browser.run("kill", job_id=waiting)
    assert (killed["state"], killed["reason"]) == ("failed", "kill")
    page.until(waiting, lambda entry: entry["state"] == "failed", "that it is cancelled")
    lost = on.start("--", "exec sleep 300")["job_id"]
    page.until(lost, lambda entry: entry["state"] == "running", "it runs")
    processes.kill(*on.pair(lost))
    entry = page.until(lost, lambda entry: entry["state"] == "failed", "its end")
    assert (entry["reason"], entry.get("exit_code")) == ("lost", None)
    processes.kill(*on.cluster.pids_of(lost))  # without control groups Slurm may miss one
    until(lambda: not on.cluster.pids_of(lost), what="nothing of it is left", timeout=SOON_S)
