"""Lines of output: when each was printed, and groups that fold, in a real browser."""

from __future__ import annotations

import re
from functools import partial

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Browser, Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests
CLOCK = r"\d\d:\d\d:\d\d\.\d\d\d"


def test_lines_say_when_they_were_printed_and_where_that_is_not_known(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "echo one; echo two; sleep .2; echo three >&2; sleep .2; echo four")["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    page.locator(".line", has_text="four").wait_for()
    assert page.locator(".line time").count() == 0
    page.keyboard.press("c")
    until(lambda: page.locator(".line time").count() == 4)
    texts = [one or "" for one in page.locator(".line time").all_text_contents()]
    # Only where output changes between stdout and stderr is the time known
    assert [bool(re.fullmatch(CLOCK, one)) for one in texts] == [True, False, True, True]
    assert re.fullmatch(f"≥ {CLOCK}", texts[1])
    assert texts[0] < texts[2] < texts[3]
    page.get_by_role("button", name="Times").click()
    until(lambda: page.locator(".line time").count() == 0)


def test_rows_with_times_are_those_of_the_record(cli: Cli, browser: Browser) -> None:
    job = cli.ok("run", "--wait", "echo one; echo two; sleep .2; echo three >&2")["job_id"]
    found = browser.call("rows", job_id=job, times=True)["rows"]
    assert [row[5] for row in found] == [True, False, True]
    assert found[0][4] == found[1][4] < found[2][4]
    assert [len(row) for row in browser.call("rows", job_id=job)["rows"]] == [3, 3, 3]


def test_a_line_within_a_run_is_not_older_than_a_sample_that_did_not_have_it(cli: Cli, browser: Browser) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", "echo one; read line; echo $line")["job_id"]
    samples = until(lambda: browser.call("usage", job_id=job)["samples"][1:])
    cli.ok("write", job, "--data", "two\n")
    until(lambda: cli.ok("status", job)["state"] == "exited")
    first, second = browser.call("rows", job_id=job, times=True)["rows"]
    assert (first[5], second[5]) == (True, False)
    assert first[4] < samples[0]["at"] <= second[4]


GROUPS = """
echo before; echo '::group::Install <b>'; seq 1 300; echo '::group::inside'; echo deep; echo '::endgroup::'; echo '::endgroup::'
printf 'section_start:1700000000:build\\r\\033[0KBuild\\n'; seq 301 600; printf 'section_end:1700000001:build\\r\\033[0K\\n'
echo '::endgroup::'; echo after"""


def lines(tab: Tab) -> list[str]:
    found: list[str] = tab.page.locator("#output .line .text").all_text_contents()
    return found


def test_groups_fold_and_a_line_in_one_is_shown_when_one_goes_there(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", GROUPS)["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    until(lambda: lines(tab)[-1:] == ["after"])
    page.keyboard.press("Home")
    fold = page.get_by_role("button", name="Lines of this group")
    until(lambda: fold.count() == 1)
    page.keyboard.press("z")
    until(lambda: lines(tab) == ["before", "▸::group::Install <b>", "▸Build", "::endgroup::", "after"])
    assert page.locator("#output .line .number").all_text_contents() == ["1", "2", "307", "609", "610"]
    fold.nth(1).click()
    until(lambda: lines(tab)[2:5] == ["▾Build", "301", "302"])
    page.keyboard.press("/")
    page.keyboard.type("^deep$")  # in a group that is folded
    until(lambda: page.locator(".line.target .text").all_text_contents() == ["deep"])
    page.locator("#output").focus()
    page.keyboard.press("End")
    until(lambda: lines(tab)[-1:] == ["after"])
    page.keyboard.press("z")
    until(lambda: len(lines(tab)) == 5)
    page.keyboard.press("z")
    page.keyboard.press("Home")
    until(lambda: lines(tab)[2:4] == ["1", "2"])


def test_groups_are_told_as_rows(cli: Cli, browser: Browser) -> None:
    job = cli.ok("run", "--wait", GROUPS)["job_id"]
    assert browser.call("groups", job_id=job)["groups"] == [[1, 305], [302, 304], [306, 607]]
    none = cli.ok("run", "--wait", "echo '::group::never ended'; echo ::endgroup:; echo group")["job_id"]
    assert browser.call("groups", job_id=none)["groups"] == []
