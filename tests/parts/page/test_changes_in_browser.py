"""What changed since the run before, as the page shows it in a real browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests


def test_a_failed_job_says_what_changed_since_the_run_before_and_shows_it(
    tab: Tab, ui: Ui, cli: Cli, work: Path
) -> None:
    for report in ("one", "two"):
        (work / "report").write_text(f"FAILED a.py::{report} <b>\n")
        job = cli.ok("run", "--wait", "seq 1 300; cat report; exit 1")["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    page.locator(".previous").get_by_text("exited 1 too: 1 failure gone, 1 new.").wait_for()
    page.get_by_role("button", name="Compare").click()
    page.locator(".found .gone").get_by_text("FAILED a.py::one <b>").wait_for()
    assert page.locator(".found h2").all_text_contents() == ["New: 1 kind of lines", "Gone: 1 kind of lines"]
    page.keyboard.press("Home")
    page.locator(".found button").get_by_text("FAILED a.py::two <b>").click()
    until(lambda: page.locator(".line.target .text").all_text_contents() == ["FAILED a.py::two <b>"])
    page.get_by_role("button", name="Close").click()
    until(lambda: page.locator(".found").is_hidden())
    page.get_by_role("link", name="Open it").click()
    until(lambda: page.locator("#output .line .text").all_text_contents()[-1:] == ["FAILED a.py::one <b>"])
    assert page.locator(".previous").count() == 0


def test_a_job_is_compared_with_the_last_good_run_and_shows_how_long_each_took(
    tab: Tab, ui: Ui, cli: Cli, work: Path
) -> None:
    jobs = []
    for code, report, nap in ((0, "fine", 0.1), (1, "FAILED a.py::one", 0.6), (1, "FAILED a.py::two", 0.1)):
        (work / "report").write_text(f"{report}\nsleep {nap}\n{code}\n")
        jobs.append(cli.ok("run", "--wait", "head -n1 report; `sed -n 2p report`; exit `sed -n 3p report`")["job_id"])
    page = tab.page
    tab.open(f"{ui.page}/job/{jobs[2]}")
    bars = page.locator(".bars a")
    until(lambda: bars.count() == 3)
    assert [one.get_attribute("class") for one in bars.all()] == ["good", "bad", "bad"]
    assert bars.nth(2).get_attribute("aria-current") == "true"
    heights = [one.evaluate("one => one.firstChild.offsetHeight") for one in bars.all()]
    assert max(heights) == heights[1]
    page.keyboard.press("P")  # with the last good one
    page.locator(".found p a").wait_for()
    until(lambda: page.locator(".found li .text").all_text_contents() == ["FAILED a.py::two", "fine"])
    assert jobs[0] in (page.locator(".found p a").get_attribute("href") or "")
    page.keyboard.press("p")  # with the one before
    until(lambda: jobs[1] in (page.locator(".found p a").get_attribute("href") or ""))
    bars.nth(1).click()
    page.wait_for_url(f"**/job/{jobs[1]}")
