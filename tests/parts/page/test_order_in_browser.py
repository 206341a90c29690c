"""Jobs in order, as a person sees them: a chain as boxes, a line with its places, and a job that waits is taken out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.chromium import Tab
from support.cli import Cli, configured
from support.commands import GATE
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests
CHAIN = f"""
[[jobs]]
name = "build"
command = "echo built"

[[jobs]]
name = "unit"
command = "{GATE}"
after = ["build"]

[[jobs]]
name = "report"
command = "true"
after = ["unit"]
"""
GRAPH = f"""
[[jobs]]
name = "db"
command = "echo ready; {GATE}"

[[jobs]]
name = "assets"
command = "{GATE}"

[[jobs]]
name = "api"
command = "{GATE}"
after = [{{ job = "db", regex = "ready" }}]

[[jobs]]
name = "e2e"
command = "true"
after = ["api", "assets", {{ job = "db", until = "exit" }}]
"""
# What moved since this was asked the last time, as the browser counts it; none of it was after a click or a key
SHIFTS = """() => {
  if (!window.shifts) {
    window.shifts = [];
    new PerformanceObserver((list) => window.shifts.push(...list.getEntries())).observe({ type: "layout-shift" });
  }
  return window.shifts.splice(0).map((one) => [one.value, one.sources.map(({ node }) => node?.className ?? String(node))]);
}"""


@pytest.fixture(autouse=True)
def work(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, of this test alone: the server of all has one for all."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Box(NamedTuple):
    """A box as it is drawn."""

    left: int
    top: int
    width: int
    height: int


def chain(cli: Cli, work: Path, text: str) -> dict[str, str]:
    """Start a chain: name → id."""
    (work / "jobs.toml").write_text(text, encoding="utf-8")
    found = cli.ok("run", "--file", "jobs.toml", "--snapshot-after", "0")
    return {one["name"]: one["job_id"] for one in found["jobs"]}


def started(cli: Cli, command: str, *words: str) -> str:
    job: str = cli.ok("run", "--snapshot-after", "0", *words, command)["job_id"]
    return job


def boxes(tab: Tab, inside: str = ".picture") -> dict[str, Box]:
    """Where each box is, by its name."""
    found = tab.page.locator(f"{inside} .box").all()
    places = {str(one.locator(".called").text_content()): one.bounding_box() for one in found}
    assert all(places.values()), places
    return {name: Box(*(round(at[side]) for side in ("x", "y", "width", "height"))) for name, at in places.items()}


def words(tab: Tab, selector: str) -> list[str]:
    """What boxes say, as a screen reader hears it, without marks that are hidden from it."""
    script = """some => some.map((one) => {
      const heard = one.cloneNode(true);
      heard.querySelectorAll('[aria-hidden="true"]').forEach((hidden) => hidden.remove());
      return heard.textContent.trim();
    })"""
    found: list[str] = tab.page.locator(selector).evaluate_all(script)
    return found


def kinds(tab: Tab, selector: str) -> list[str]:
    found: list[str] = tab.page.locator(selector).evaluate_all("some => some.map((one) => one.classList[1])")
    return found


def opened(tab: Tab, ui: Ui, job: str) -> None:
    tab.open(f"{ui.page}/job/{job}")
    tab.page.locator(".order .box[aria-current]").first.wait_for()


@pytest.fixture(params=[(False, 1280), (True, 390)], ids=["light-desk", "dark-phone"])
def looks(request: pytest.FixtureRequest, chrome: Any, ui: Ui) -> Iterator[Tab]:
    dark, width = request.param
    found = Tab(chrome, dark=dark, width=width, height=800)
    found.open(ui.new_link())
    yield found
    found.close()
    assert not found.wrong


def test_a_row_shows_its_chain_with_a_link_to_each_job(tab: Tab, cli: Cli, work: Path) -> None:
    page = tab.page
    page.set_viewport_size({"width": 1600, "height": 800})
    jobs = chain(cli, work, CHAIN)
    row = page.locator(f"#job-{jobs['report']}")
    row.locator(".chain").wait_for()
    small = f"#job-{jobs['report']} .small"
    until(lambda: words(tab, small) == ["build done", "unit running, after build", "report waits, after unit"])
    assert kinds(tab, small) == ["good", "runs", "idle"]
    assert row.locator(".arrow").count() == 2
    assert row.locator(".small[aria-current]").text_content() == "report ○waits, after unit"
    until(lambda: row.locator(".badge").text_content() == "○after unit")
    height = "one => one.scrollHeight <= one.clientHeight"
    assert row.evaluate(height), "a row stays one line"
    (work / "go").touch()
    until(lambda: words(tab, small) == ["build done", "unit done, after build", "report done, after unit"])
    row.locator(".small").first.click()
    page.wait_for_url(f"**/job/{jobs['build']}")


def test_the_page_of_a_job_draws_its_chain_as_a_line_and_nothing_moves_when_a_job_starts(
    looks: Tab, ui: Ui, cli: Cli, work: Path, place: Path
) -> None:
    page = looks.page
    jobs = chain(cli, work, CHAIN)
    opened(looks, ui, jobs["report"])
    items = ".picture li .box"
    until(lambda: words(looks, items) == ["build done", "unit running, after build", "report waits, after unit"])
    looks.shot(f"chain-{page.viewport_size['width']}", place)
    before = boxes(looks)
    assert len({box.top for box in before.values()}) == 1, "a line"
    assert before["build"].left < before["unit"].left < before["report"].left
    assert page.locator(".picture .tip").count() == 2
    assert page.locator(".box[aria-current]").bounding_box()["x"] >= 0, "its own box is in view"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(SHIFTS)
    (work / "go").touch()
    until(lambda: words(looks, items) == ["build done", "unit done, after build", "report done, after unit"])
    assert kinds(looks, items) == ["good", "good", "good"]
    assert boxes(looks) == before
    in_order = [one for one in page.evaluate(SHIFTS) if any("box" in name or "order" in name for name in one[1])]
    assert not in_order
    page.locator(f".picture a[href$='{jobs['unit']}']").click()
    page.wait_for_url(f"**/job/{jobs['unit']}")
    until(lambda: page.locator(".box[aria-current] .called").text_content() == "unit")


def test_a_graph_that_is_no_line_is_drawn_in_layers(tab: Tab, ui: Ui, cli: Cli, work: Path) -> None:
    jobs = chain(cli, work, GRAPH)
    opened(tab, ui, jobs["api"])
    after = "after api, assets, db (exit)"
    until(
        lambda: (
            sorted(words(tab, ".picture li .box"))
            == ["api running, after db (regex=ready)", "assets running", "db running", f"e2e waits, {after}"]
        )
    )
    drawn = boxes(tab)
    assert drawn["db"].left == drawn["assets"].left < drawn["api"].left < drawn["e2e"].left
    places = list(drawn.values())
    assert not [
        (one, other)
        for at, one in enumerate(places)
        for other in places[at + 1 :]
        if abs(one.left - other.left) < one.width and abs(one.top - other.top) < one.height
    ], "no box is on another"
    labels = tab.page.locator('.picture .label[aria-hidden="true"]')  # said with the box already
    assert labels.all_text_contents() == ["regex=ready", "exit"]
    # What holds is a whole line, what is waited for a broken one
    assert tab.page.locator(".picture .tip.holds").count() == 1
    (work / "go").touch()
    until(lambda: "e2e done" in " ".join(words(tab, ".picture li .box")))
    until(lambda: tab.page.locator(".picture .tip:not(.holds)").count() == 0)


def test_a_deleted_job_of_a_chain_leaves_a_box_without_a_link(tab: Tab, ui: Ui, cli: Cli, work: Path) -> None:
    jobs = chain(cli, work, CHAIN)
    opened(tab, ui, jobs["unit"])
    cli.ok("remove", jobs["build"])
    until(lambda: "build deleted" in words(tab, ".picture li .box"))
    assert tab.page.locator(".picture a.box").count() == 2
    (work / "go").touch()


@pytest.fixture
def queues(place: Path) -> None:
    configured(place, "[queue.heavy]\nslots = 1\n[queue.calm]\nslots = 4\nload = 0.000001\n")


@pytest.mark.usefixtures("queues")
def test_a_line_shows_who_runs_and_who_waits_at_which_place_and_one_is_taken_out(
    looks: Tab, ui: Ui, cli: Cli, work: Path, place: Path
) -> None:
    page = looks.page
    heavy = ("--queue", "heavy")
    first = started(cli, GATE, *heavy, "--title", "first")
    jobs = [started(cli, "touch ran", *heavy, "--title", f"suite {number}") for number in range(3)]
    elsewhere = cli.ok("--root", str(place / "other"), "run", "--snapshot-after", "0", *heavy, "true")["job_id"]
    opened(looks, ui, jobs[2])
    items = ".turns > li"
    waits = [f"{nth} of 4suite {number} waits" for number, nth in enumerate(("1st", "2nd", "3rd"))]
    other = "4th of 4another job not on this page"
    until(lambda: words(looks, items) == ["runsfirst running", *waits, other])
    assert page.locator(".boxes p").text_content() == "Line for heavy: 1 of 1 run, 4 in line. "
    assert page.locator(".head .badge").text_content() == "○3rd of 4 in heavy"
    until(lambda: "heavy: number 3 in line, 1 job runs." in (page.locator(".place > .empty").text_content() or ""))
    assert page.locator("#age").text_content() == "", "it has no age before its start"
    own = page.locator(".turns .box[aria-current]").bounding_box()
    assert own["x"] >= 0 and own["x"] + own["width"] <= page.viewport_size["width"], "its own box is in view"
    looks.shot(f"line-{page.viewport_size['width']}", place)
    page.locator(".turns").get_by_role("link", name="suite 1").click()
    page.wait_for_url(f"**/job/{jobs[1]}")
    page.get_by_role("button", name="Kill…").click()
    page.get_by_role("dialog").get_by_text("It has not started, and never will.").wait_for()
    page.get_by_role("button", name="Take out").click()
    page.locator(".head .badge", has_text="taken out").wait_for()
    page.locator(".facts", has_text="never ran").wait_for()
    page.locator(".order").wait_for(state="hidden")
    opened(looks, ui, jobs[2])
    until(lambda: page.locator(".head .badge").text_content() == "○2nd of 3 in heavy")
    until(lambda: "number 2 in line" in (page.locator(".place > .empty").text_content() or ""))
    assert not (work / "ran").exists()
    (work / "go").touch()
    page.locator(".head .badge", has_text="done").wait_for()
    for job in (first, jobs[0]):
        cli.ok("wait", job)
    cli.ok("--root", str(place / "other"), "remove", elsewhere)


@pytest.mark.usefixtures("queues")
def test_the_list_shows_places_and_one_line_in_its_order(tab: Tab, cli: Cli) -> None:
    page = tab.page
    started(cli, "exec sleep 600", "--title", "of no queue")
    started(cli, "exec sleep 600", "--queue", "heavy", "--title", "first")
    for number, priority in enumerate("005"):
        started(cli, "true", "--queue", "heavy", "--priority", priority, "--title", f"suite {number}")
    badges = {"suite 2": "1st of 3 in heavy", "suite 0": "2nd of 3 in heavy", "suite 1": "3rd of 3 in heavy"}
    for name, said in badges.items():
        page.locator(".row", has_text=name).locator(".badge", has_text=said).wait_for()
    page.locator(".row", has_text="suite 0").locator("button.line").click()
    assert page.locator("#filter").input_value() == "line:heavy"
    until(lambda: page.locator(".row .name").all_text_contents() == ["first", "suite 2", "suite 0", "suite 1"])
    until(lambda: page.locator(".count").text_content() == "Line for heavy: 1 of 1 run, 3 in line. ")
    page.locator("#filter").fill("line:calm")
    page.get_by_text("No job matches").wait_for()
    started(cli, "true", "--queue", "calm", "--title", "held back")
    page.locator(".row", has_text="held back").locator(".badge", has_text="1st of 1 in calm").wait_for()
    until(lambda: "the load is below 1e-06 for each core." in (page.locator(".count").text_content() or ""))
