"""The page in a real browser with thousands of jobs, and with a log of a gigabyte.

What is measured is written to $TEST_FIGURES, one JSON object a line; no test asserts a duration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab, first_number
from support.cli import Cli
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=180)
JOBS = 5_000
MANY = int(os.environ.get("TEST_MANY_JOBS", "12000"))  # more than a page reads by itself
READ = 10_000
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LINES = 110_000_000
GIGABYTE = 10**9


@pytest.fixture
def open_page(chrome: Any, place: Path) -> Iterator[Callable[[], tuple[Tab, Ui]]]:
    """A server and a browser of the test's own; what is in its root is deleted at once."""
    opened: list[Any] = []

    def begin() -> tuple[Tab, Ui]:
        ui = Ui(place / "ui.log")
        opened.append(ui)
        ui.__enter__()
        tab = Tab(chrome)
        opened.append(tab)
        tab.page.set_default_timeout(180_000)
        return tab, ui

    yield begin
    for one in reversed(opened):
        one.close() if isinstance(one, Tab) else one.__exit__()
    for path in (place / "jobs").iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)


def measured(**figures: Any) -> None:
    if os.environ.get("TEST_FIGURES"):
        with open(os.environ["TEST_FIGURES"], "a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")


def cpu_s(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tab_memory(tab: Tab) -> int:
    """The memory of the processes that draw pages, without what they share with others."""
    session = tab.page.context.browser.new_browser_cdp_session()
    pids = [one["id"] for one in session.send("SystemInfo.getProcessInfo")["processInfo"] if one["type"] == "renderer"]
    session.detach()
    return own_memory(*pids)


def own_memory(*pids: int) -> int:
    found = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        found += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Private_"))
    return found


def many_jobs(root: Path, ended: str, failed: str, count: int) -> None:
    """Make finished jobs out of two: each has a definition of its own, and shares the other files.

    The page's filter searches ids as well as names, so no id may hold four digits in a row after its timestamp.
    """
    for number in range(2, count):
        job = failed if number % 100 == 0 else ended
        name = ended[:10] + "Z" * 10 + "".join(ALPHABET[number // 32**place % 32] for place in (3, 2, 1, 0)) + "ZZ"
        meta = json.loads((root / job / "meta.json").read_text())
        meta.pop("checksum", None)
        folder = root / f".tmp-{name}"
        folder.mkdir(mode=0o700)
        (folder / "meta.json").write_text(json.dumps({**meta, "job_id": name, "name": f"job {number}", "title": None}))
        for path in (root / job).iterdir():
            if path.is_file() and path.name != "meta.json":
                if path.stat().st_nlink > 30_000:  # ext4 knows 65,000 names of a file
                    shutil.copy2(path, f"{path}~")
                    os.replace(f"{path}~", path)
                os.link(path, folder / path.name)
        folder.rename(root / name)


def test_five_thousand_jobs_are_scrolled_and_filtered(
    open_page: Callable[[], tuple[Tab, Ui]], cli: Cli, root: Path
) -> None:
    ended = cli.ok("run", "--wait", "--title", "the first", "--", "echo", "done")["job_id"]
    failed = cli.ok("run", "--wait", "--title", "broken", "--", "sh", "-c", "echo no; exit 3")["job_id"]
    many_jobs(root, ended, failed, JOBS)
    tab, ui = open_page()
    page = tab.page
    page.add_init_script("""
        new MutationObserver(() => {
          if (!window.firstRow && document.querySelector(".row")) window.firstRow = performance.now();
          if (!window.allRows && document.querySelector(".chip[data-do=failed]")?.textContent === "Failed50") window.allRows = performance.now();
        }).observe(document, { childList: true, subtree: true });
    """)
    tab.open(ui.link)
    until(lambda: page.get_by_role("button", name="All").text_content() == f"All{JOBS:,}")
    until(lambda: page.get_by_role("button", name="Failed").text_content() == "Failed50")
    page.reload()  # the server knows them now: that is how it is all day
    until(lambda: page.evaluate("Boolean(window.allRows)"))
    first_paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null")
    assert page.locator(".row").count() < 60, "only the rows that are seen exist"
    page.locator("#jobs").evaluate("element => { element.scrollTop = 34 * 3000 }")
    until(lambda: page.locator('.row[aria-posinset="3001"]').count() == 1)
    page.keyboard.press("End")
    until(lambda: page.locator(f'.row[aria-posinset="{JOBS}"]').count() == 1)
    page.locator("#filter").click()
    page.keyboard.type("job 3234")
    until(lambda: page.locator(".row .name").all_text_contents() == ["job 3234"])
    lags = page.evaluate("""async () => {
        const input = document.getElementById("filter"), found = [];
        for (const text of ["", "j", "jo", "job", "job 1", "job 12", "job 123", "state:exited", ""]) {
          const begun = performance.now();
          input.value = text;
          input.dispatchEvent(new Event("input"));
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          found.push(performance.now() - begun);
        }
        return found;
    }""")
    until(lambda: page.get_by_role("button", name="All").text_content() == f"All{JOBS:,}")
    new = cli.ok("run", "--wait", "--title", "a new one", "--", "true")["job_id"]
    page.locator(f"#job-{new}").wait_for()
    measured(
        what=f"{JOBS} jobs",
        first_paint_ms=first_paint and round(first_paint),
        first_row_ms=round(page.evaluate("window.firstRow")),
        all_rows_ms=round(page.evaluate("window.allRows")),
        input_lag_ms=[round(lag, 1) for lag in lags],
        tab_bytes=tab_memory(tab),
        load=os.getloadavg()[0],
    )
    assert not tab.wrong


def test_more_jobs_than_a_page_reads_are_there_at_once_and_read_by_scrolling(
    open_page: Callable[[], tuple[Tab, Ui]], cli: Cli, root: Path
) -> None:
    ended = cli.ok("run", "--wait", "--title", "the first", "--", "echo", "done")["job_id"]
    failed = cli.ok("run", "--wait", "--title", "broken", "--", "sh", "-c", "echo no; exit 3")["job_id"]
    many_jobs(root, ended, failed, MANY)
    running = cli.ok("run", "--snapshot-after", "0", "--title", "runs", "--", "sleep", "600")["job_id"]
    tab, ui = open_page()
    page = tab.page
    begun = time.monotonic()
    tab.open(ui.link)
    page.locator(f"#job-{running}").wait_for()
    shown = time.monotonic() - begun
    assert page.get_by_role("button", name="All").text_content() == f"All{MANY + 1:,}"

    def read() -> int:
        found = re.match(rf"([\d,]+) of {MANY + 1:,} jobs read", page.locator(".count").text_content() or "")
        return int(found[1].replace(",", "")) if found else 0

    until(lambda: READ <= read() < MANY)
    page.locator("#jobs").focus()
    page.keyboard.press("End")
    begun = time.monotonic()
    until(lambda: page.locator(".row", has_text="the first").count() == 1)
    measured(
        what=f"{MANY} jobs",
        first_row_ms=round(1000 * shown),
        oldest_ms=round(1000 * (time.monotonic() - begun)),
        tab_bytes=tab_memory(tab),
        server_bytes=own_memory(ui.process.pid),
        load=os.getloadavg()[0],
    )
    page.get_by_role("button", name="Failed").click()
    until(lambda: page.get_by_role("button", name="Failed").text_content() == f"Failed{MANY // 100:,}")
    cli.ok("kill", running, "--grace-ms", "0")
    assert not tab.wrong


def test_a_gigabyte_is_open_at_once_and_searched(open_page: Callable[[], tuple[Tab, Ui]], cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--", "sh", "-c", f"seq 1 {LINES}; echo 'error: the end'")["job_id"]
    tab, ui = open_page()
    page = tab.page
    tab.open(ui.link)
    page.get_by_text("error: the end", exact=True).wait_for()
    before = tab_memory(tab)
    begun = time.monotonic()
    tab.open(f"{ui.page}/job/{job}")

    def rows() -> list[str]:
        found: list[str] = page.locator("#output .line .text").all_text_contents()
        return found

    until(lambda: rows()[-1:] == ["error: the end"])
    opened = time.monotonic() - begun
    assert page.locator("#output .line").count() < 100
    until(lambda: page.locator(".counting:visible").count() == 0)  # lines have numbers
    counted = time.monotonic() - begun
    page.keyboard.press("Home")
    until(lambda: rows()[:1] == ["1"])
    times = []
    for part in (0.25, 0.5, 0.9):
        begun = time.monotonic()
        page.locator("#output").evaluate("(element, part) => { element.scrollTop = element.scrollHeight * part }", part)
        low, high = LINES * (part - 0.02), LINES * (part + 0.02)
        until(lambda low=low, high=high: low < first_number(rows()) < high)
        times.append(round(1000 * (time.monotonic() - begun)))
    page.keyboard.press("/")
    page.keyboard.type("^77777777$")
    begun = time.monotonic()
    until(lambda: page.locator(".line.target mark").all_text_contents() == ["77777777"])
    searched = time.monotonic() - begun
    page.locator("#search").fill("")
    page.locator("#output").click()
    page.keyboard.press("End")
    until(lambda: rows()[-1:] == ["error: the end"])
    figures = cli.ok("status", job)
    assert figures["next_seq"] > 0.9 * GIGABYTE
    measured(
        what="1 GB",
        bytes=figures["next_seq"],
        open_ms=round(1000 * opened),
        counted_ms=round(1000 * counted),
        line_ms=times,
        search_ms=round(1000 * searched),
        tab_bytes_before=before,
        tab_bytes=tab_memory(tab),
        load=os.getloadavg()[0],
    )
    assert not tab.wrong


def test_a_server_works_only_while_a_page_looks(open_page: Callable[[], tuple[Tab, Ui]], cli: Cli) -> None:
    """Measured: what the server uses with a viewer and without one. Asserted: without one, nothing is asked."""
    script = "while :; do echo tick; sleep 1; done"
    begun = [cli.ok("run", "--snapshot-after", "0", "--", "sh", "-c", script)["job_id"] for _ in range(5)]
    tab, ui = open_page()
    page = tab.page
    tab.open(ui.link)
    until(lambda: page.locator(".row .small-curve").count() == 5)

    def spent(seconds: float, there: Callable[[], Any]) -> float:
        before, since = cpu_s(ui.process.pid), time.monotonic()
        until(lambda: there() and time.monotonic() - since > seconds)
        return (cpu_s(ui.process.pid) - before) / (time.monotonic() - since)

    window = float(os.environ.get("TEST_FIGURES_S", "3"))
    viewed = spent(window, lambda: page.locator(".row").count() == 5)
    page.goto("about:blank")
    asked = len(tab.asked)
    spent(1, lambda: True)  # what was under way ends
    alone = spent(window, lambda: True)
    assert len(tab.asked) == asked
    for job in begun:
        cli.ok("kill", job, "--grace-ms", "0")
    measured(what="server", one_viewer=round(viewed, 4), no_viewer=round(alone, 4), load=os.getloadavg()[0])
