"""A failed job opens at the line that says why, in a real browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Browser, Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests
BUILD = (
    "seq 1 500; echo 'src/a.c:3:5: error: no such thing'; seq 1 500; echo 'src/b.c:7:1: error: <b>another</b>'; "
    "seq 1 500; echo 'make: *** [Makefile:2: all] Error 1'; exit 2"
)
JUNIT = """<testsuite><testcase classname="a" name="good"/><testcase classname="a" name="bad &lt;b&gt;">
<failure message="assert 1 == 2">a.py:12: AssertionError</failure></testcase></testsuite>"""


def target(tab: Tab) -> list[str]:
    found: list[str] = tab.page.locator(".line.target .text").all_text_contents()
    return found


def test_a_failed_job_opens_at_the_line_that_says_why_and_lists_the_others(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", BUILD)["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    until(lambda: target(tab) == ["src/a.c:3:5: error: no such thing"])
    listed = page.locator(".found .text")
    assert listed.all_text_contents()[:2] == ["src/a.c:3:5: error: no such thing", "src/b.c:7:1: error: <b>another</b>"]
    assert page.locator(".found .now .number").text_content() == "why"
    page.keyboard.press("e")
    until(lambda: target(tab) == ["src/b.c:7:1: error: <b>another</b>"])
    page.keyboard.press("E")
    until(lambda: target(tab) == ["src/a.c:3:5: error: no such thing"])
    page.locator(".found button", has_text="another").click()
    until(lambda: target(tab) == ["src/b.c:7:1: error: <b>another</b>"])
    page.get_by_role("button", name="Close").click()
    until(lambda: page.locator(".found").is_hidden())


def seen_whole(tab: Tab) -> bool:
    """Return whether the line that is pointed at lies within the output, from edge to edge."""
    found: bool = tab.page.evaluate(
        "() => { const line = document.querySelector('.line.target').getBoundingClientRect(),"
        " output = document.querySelector('#output').getBoundingClientRect();"
        " return line.top >= output.top - 0.5 && line.bottom <= output.bottom + 0.5; }"
    )
    return found


@pytest.mark.parametrize("after", [0, 1, 20])
def test_the_line_that_says_why_is_seen_whole_when_few_follow_it(tab: Tab, ui: Ui, cli: Cli, after: int) -> None:
    failure = "src/a.c:3:5: error: no such thing"
    job = cli.ok("run", "--wait", f"seq 1 200; echo '{failure}'; seq 1 {after}; exit 2")["job_id"]
    tab.page.set_viewport_size({"width": 1280, "height": 800})
    tab.open(f"{ui.page}/job/{job}")
    tab.page.locator(".found .now").wait_for()
    tab.page.locator(".events .finished").first.wait_for()
    until(lambda: target(tab) == [failure] and seen_whole(tab))
    tab.page.set_viewport_size({"width": 1280, "height": 500})
    until(lambda: target(tab) == [failure] and seen_whole(tab))


def test_a_job_that_fails_while_one_looks_jumps_there_unless_one_has_scrolled(tab: Tab, ui: Ui, cli: Cli) -> None:
    page = tab.page
    for has_scrolled in (False, True):
        job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", f"seq 1 500; read x; {BUILD}")["job_id"]
        tab.open(f"{ui.page}/job/{job}")
        page.locator(".line", has_text="500").wait_for()
        if has_scrolled:
            page.keyboard.press("Home")
            until(lambda: page.locator("#output .line .text").first.text_content() == "1")
        cli.ok("write", job, "--data", "go\n")
        page.locator("h1 ~ .state", has_text="exit 2").wait_for()
        if has_scrolled:
            page.locator(".bars a, .events .finished").first.wait_for()
            assert target(tab) == [] and page.locator("#output .line .text").first.text_content() == "1"
        else:
            until(lambda: target(tab) == ["src/a.c:3:5: error: no such thing"])


def test_events_of_one_kind_are_one(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--watch", "tick", "for i in 1 2 3 4; do echo tick; done")["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    until(lambda: page.locator(".event .same").all_text_contents() == ["× 4"])
    assert page.locator(".event", has_text="tick").count() == 1


def test_a_place_in_the_address_comes_before_the_failure(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", BUILD)["job_id"]
    tab.open(f"{ui.page}/job/{job}#seq=0")
    until(lambda: target(tab) == ["1"])
    assert tab.page.locator(".found").is_hidden()


def test_a_job_without_a_failure_opens_at_its_end(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "seq 1 500; echo done")["job_id"]
    tab.open(f"{ui.page}/job/{job}")
    until(lambda: tab.page.locator("#output .line .text").all_text_contents()[-1:] == ["done"])
    tab.page.keyboard.press("e")
    tab.page.get_by_text("No line reports a failure").first.wait_for()
    assert target(tab) == []


def test_a_test_report_is_a_table(tab: Tab, ui: Ui, cli: Cli, work: Path) -> None:
    (work / "report").write_text(JUNIT)
    job = cli.ok("run", "--wait", "--report", "r.xml", "cp report r.xml; exit 1")["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    page.locator(".found", has_text="Tests: 1 passed, 1 failed, 0 skipped").wait_for()
    cells = page.locator(".found td").all_text_contents()
    assert "bad <b>" in cells[0]
    assert cells[1:] == ["a.py:12", "assert 1 == 2"]


def test_failures_are_those_that_answers_show_the_one_that_says_most_first(cli: Cli, browser: Browser) -> None:
    job = cli.ok("run", "--wait", BUILD)["job_id"]
    found = browser.call("failures", job_id=job)
    assert found["failures"][0][1] == "src/a.c:3:5: error: no such thing"
    assert found["total"] == len(found["failures"]) >= 2
    seq = found["failures"][0][0]
    assert cli.ok("log", job, "--since-seq", str(seq))["output"].startswith("src/a.c:3:5")
