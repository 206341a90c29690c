"""The columns of the list, its filters, and its texts, in a real browser."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests


def names(tab: Tab) -> list[str]:
    found: list[str] = tab.page.locator(".row .name").all_text_contents()
    return found


def test_columns_are_sorted_by_a_click_and_by_keys_and_stay_so(tab: Tab, ui: Ui, cli: Cli) -> None:
    for name, script in (("b", "sleep 1.5"), ("c", "exit 3"), ("a", "true")):
        cli.ok("run", "--wait", "--title", name, script)
    page = tab.page
    until(lambda: names(tab) == ["a", "c", "b"])  # the newest first
    head = page.locator(".heads")
    head.get_by_role("button", name="Job").click()
    until(lambda: names(tab) == ["a", "b", "c"])
    head.get_by_role("button", name="Job").click()
    until(lambda: names(tab) == ["c", "b", "a"])
    head.get_by_role("button", name="Took").click()
    until(lambda: names(tab)[0] == "b")  # the longest first
    page.reload()
    until(lambda: names(tab)[:1] == ["b"])
    assert "sort=took" in page.evaluate("location.search")
    for name in ("Took", "Took"):
        head.get_by_role("button", name=name).click()
    until(lambda: names(tab) == ["a", "c", "b"])
    page.locator("#jobs").focus()
    page.keyboard.press("o")
    until(lambda: names(tab) == ["a", "b", "c"])
    cli.ok("run", "--wait", "--title", "d", "seq 1 2000")
    head.get_by_role("button", name="Output").click()
    until(lambda: names(tab)[0] == "d")
    assert page.locator(".row .size").first.text_content() == "8.9 kB"


def test_words_filter_by_result_time_session_directory_and_tag(tab: Tab, cli: Cli, work: Path) -> None:
    (work / "below").mkdir()
    words = ("--cwd", str(work / "below"), "--tag", "ci.build")
    agents = [
        {"OUTLIVE_OWNER": "claude-code", "CLAUDE_CODE_SESSION_ID": f"{name}-0000"} for name in ("first", "second")
    ]
    cli.ok("run", "--wait", "--title", "bad", *words, "exit 3", env=agents[0])
    cli.ok("run", "--wait", "--title", "good", "true", env=agents[1])
    page = tab.page
    until(lambda: len(names(tab)) == 2)
    for text, left in (
        ("exit:3", ["bad"]),
        ("exit:0", ["good"]),
        ("since:1h", ["good", "bad"]),
        ("since:0m", []),
        ("cwd:/below", ["bad"]),
        ("tag:ci", ["bad"]),
        ("owner:claude-code exit:0", ["good"]),
    ):
        page.locator("#filter").fill(text)
        until(lambda left=left: names(tab) == left)
    page.locator("#filter").fill("")
    page.locator(".row", has_text="bad").locator(".who .tag").click()  # the session that started it
    until(lambda: names(tab) == ["bad"])
    assert (page.locator("#filter").input_value()).startswith("session:")


def test_a_window_of_a_laptop_shows_twenty_jobs_and_says_how_long_they_took(tab: Tab, cli: Cli) -> None:
    for number in range(22):
        cli.ok("run", "--wait", "--title", f"job {number}", "true")
    page = tab.page
    page.set_viewport_size({"width": 1440, "height": 900})
    until(lambda: page.locator(".row").count() >= 20)
    bottom = "one => one.getBoundingClientRect().bottom <= innerHeight"
    assert sum(row.evaluate(bottom) for row in page.locator(".row").all()) >= 20
    row = page.locator(".row", has_text="job 21")
    assert (row.locator(".took").text_content() or "").startswith("took ")
    assert (row.locator(".when").text_content() or "").endswith(("just now", " ago"))


def test_the_texts_of_a_row_can_be_selected_and_a_click_on_them_opens_it(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--title", "prints", "echo a-line-to-copy")["job_id"]
    page = tab.page
    last = page.locator(".row .last", has_text="a-line-to-copy")
    last.wait_for()
    box = last.bounding_box()
    assert box
    page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    assert page.evaluate("String(getSelection())") == "a-line-to-copy"
    assert page.evaluate("location.pathname") == "/", "no job was opened"
    page.evaluate("getSelection().removeAllRanges()")
    last.click()
    page.wait_for_url(f"**/job/{job}")


def backdated(root: Path, job: str, days: int) -> None:
    """Have the files of a job that is over say that it ran so many days ago."""
    for name in ("meta.json", "state.json"):
        values = json.loads((root / job / name).read_bytes())
        values.pop("checksum", None)
        for key in ("created_at", "started_at", "finished_at"):
            if key in values:
                then = datetime.fromisoformat(values[key]) - timedelta(days=days)
                values[key] = then.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        (root / job / name).write_text(json.dumps(values))


def test_the_timeline_shows_all_that_there_is_and_says_its_range(tab: Tab, ui: Ui, cli: Cli, root: Path) -> None:
    old = cli.ok("run", "--wait", "--title", "long ago", "true")["job_id"]
    backdated(root, old, 40)
    cli.ok("run", "--wait", "--title", "today", "true")
    page = tab.page
    tab.open(f"{ui.page}/timeline")
    lanes = page.locator(".lane .label")
    until(lambda: lanes.all_text_contents() == ["today"])  # the last day
    page.get_by_role("button", name="7 d").click()
    assert lanes.all_text_contents() == ["today"]
    page.get_by_role("button", name="All", exact=True).click()
    until(lambda: lanes.all_text_contents() == ["today", "long ago"])
    first, last = str(page.locator(".timeline-page h1").text_content()).split(" – ")
    begins, began = datetime.fromisoformat(first), datetime.now() - timedelta(days=40)
    assert last == "now" and timedelta() < began - begins < timedelta(days=2)
    page.get_by_role("button", name="Earlier").click()
    until(lambda: lanes.all_text_contents() == ["long ago"])
    assert "now" not in str(page.locator(".timeline-page h1").text_content())
    page.get_by_role("button", name="Now").click()
    until(lambda: lanes.all_text_contents() == ["today", "long ago"])
