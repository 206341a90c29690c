"""Many windows of one browser, and a server that ends below them.

What is measured is written to $TEST_FIGURES, one JSON object a line; no test asserts a duration.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Browser, Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=120)
WINDOWS = 10


@pytest.fixture
def own_ui(place: Path) -> Iterator[Ui]:
    """A server that the test may end."""
    with Ui(place / "own-ui.log") as found:
        yield found


def test_ten_windows_on_jobs_load_and_a_kill_is_answered(tab: Tab, ui: Ui, cli: Cli) -> None:
    jobs = [cli.ok("run", "--snapshot-after", "0", f"echo job {n}; sleep 600")["job_id"] for n in range(WINDOWS)]
    tab.context.set_default_navigation_timeout(180_000)
    pages = [tab.page, *(tab.context.new_page() for _ in range(WINDOWS - 1))]
    for number, (page, job) in enumerate(zip(pages, jobs, strict=True)):
        page.goto(f"{ui.page}/job/{job}")
        page.locator("#output .line", has_text=f"job {number}").wait_for(timeout=60_000)
    page = pages[-1]
    page.bring_to_front()
    page.keyboard.press("x")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Grace before SIGKILL").fill("0")
    begun = time.monotonic()
    dialog.get_by_role("button", name="Kill").click()
    page.get_by_text("It is being ended").wait_for()
    answered = time.monotonic() - begun
    until(lambda: cli.ok("status", jobs[-1])["state"] == "killed")
    page.locator("h1 ~ .state", has_text="killed").wait_for()
    if os.environ.get("TEST_FIGURES"):
        with open(os.environ["TEST_FIGURES"], "a", encoding="utf-8") as file:
            figures = {"what": f"a kill, {WINDOWS} windows", "answered_ms": round(1000 * answered)}
            file.write(json.dumps({**figures, "load": os.getloadavg()[0]}) + "\n")
    for number, page in enumerate(pages[:-1]):  # all of them are live
        assert page.locator("#output .line", has_text=f"job {number}").count() == 1


HIDDEN = """
  let hides = false;
  Object.defineProperty(document, "hidden", { get: () => hides });
  window.hide = (now) => { hides = now; document.dispatchEvent(new Event("visibilitychange")); };
  window.Notification = class {};
  Notification.permission = "granted";
  Notification.requestPermission = async () => "granted";
"""


def test_a_hidden_page_asks_for_nothing_but_the_questions_it_promised_to_tell(tab: Tab, ui: Ui, cli: Cli) -> None:
    """Measured: the bytes that it asks and is told in a minute, on a quiet root and on a lively one."""
    page = tab.page
    page.add_init_script(HIDDEN)
    page.reload()
    page.get_by_text("No jobs yet").wait_for()
    calls: list[Any] = []

    def finished(request: Any) -> None:
        calls.append(request)

    page.on("requestfinished", finished)
    page.evaluate("hide(true)")
    page.wait_for_timeout(1500)  # what was under way ends
    asked = len(tab.asked)

    def per_minute(seconds: float) -> int:
        calls.clear()
        begun = time.monotonic()
        page.wait_for_timeout(1000 * seconds)
        total: int = sum(sum(one.sizes().values()) for one in calls)
        return round(60 * total / (time.monotonic() - begun))

    window = float(os.environ.get("TEST_FIGURES_S", "3"))
    page.wait_for_timeout(2000)
    assert len(tab.asked) == asked, "it promised nothing"
    page.evaluate("hide(false)")
    page.get_by_role("button", name="Notify me").click()
    page.evaluate("hide(true)")
    quiet = per_minute(window)
    line = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.3; done"
    jobs = [cli.ok("run", "--snapshot-after", "0", line)["job_id"] for _ in range(5)]
    lively = per_minute(window)
    for _ in range(2):  # it looks ten times a minute, and may be told 60 kB meanwhile
        look = page.wait_for_event("requestfinished", timeout=60_000)
        assert sum(look.sizes().values()) <= 6_000
    assert len(tab.asked) > asked
    for job in jobs:
        cli.ok("kill", job, "--grace-ms", "0")
    page.evaluate("hide(false)")
    until(lambda: page.locator(".row", has_text="killed").count() == 5)  # it takes up what it left
    if os.environ.get("TEST_FIGURES"):
        with open(os.environ["TEST_FIGURES"], "a", encoding="utf-8") as file:
            file.write(json.dumps({"what": "a hidden page", "quiet_bytes": quiet, "lively_bytes": lively}) + "\n")


def test_calls_that_wait_leave_connections_free(tab: Tab, ui: Ui, cli: Cli) -> None:
    """Of all windows together four calls wait at most, however many there are."""
    job = cli.ok("run", "--snapshot-after", "0", "echo begun; sleep 600")["job_id"]
    pages = [tab.context.new_page() for _ in range(6)]
    for page in pages:
        page.goto(f"{ui.page}/job/{job}")
        page.locator("#output .line", has_text="begun").wait_for()
    held = """async () => (await navigator.locks.query()).held.map(one => one.name)"""
    until(lambda: len(pages[0].evaluate(held)) >= 3)
    for _ in range(20):
        assert set(pages[0].evaluate(held)) <= {"outlive-jobs", "outlive-1", "outlive-2", "outlive-3"}


def test_a_server_that_ends_below_open_pages_writes_no_traceback(own_ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "sleep 600")["job_id"]
    statuses: list[int] = []
    waiting = threading.Barrier(3)

    def wait(method: str, given: dict[str, Any]) -> None:
        with Browser(own_ui, own_ui.new_link()) as browser:
            assert browser.keys is not None
            call = browser.keys.seal(method, {**given, "wait_ms": 25_000})
            waiting.wait(60)
            with suppress(httpx2.TransportError):  # it has ended before it was asked
                statuses.append(browser.send(call).status_code)

    with Browser(own_ui) as first:
        found = first.call("jobs")
        rows = first.call("rows", job_id=job)
        known = {name: rows[name] for name in ("end", "state", "events")}
        asked = [
            ("jobs", {"list": found["list"], "after": found["next"]}),
            ("rows", {"job_id": job, "known": known}),
        ]
        threads = [threading.Thread(target=wait, args=one) for one in asked]
        for one in threads:
            one.start()
        waiting.wait(60)
        first.call("samples", jobs=[job])  # those that wait have been taken
        own_ui.process.send_signal(signal.SIGTERM)
        assert own_ui.process.wait(60) == 0
        for one in threads:
            one.join(60)
    assert "Traceback" not in own_ui.said()
    assert set(statuses) <= {503}
    cli.ok("kill", job, "--grace-ms", "0")
