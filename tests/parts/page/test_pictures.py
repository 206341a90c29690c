"""The pictures of the page in README and docs/: written here, into $TEST_PICTURES if that is set.

`TEST_PICTURES=$PWD/docs/pictures python -m pytest -m slow tests/parts/page/test_pictures.py` writes them again.
"""

from __future__ import annotations

import base64
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=120)
DOCS = Path(__file__).parents[3] / "docs" / "pictures"
NAMES = ("list", "job", "terminal", "timeline")
MOST_BYTES = 100_000
BUILD = 'for i in $(seq 1 400); do echo "[$i/400] compiling module_$i.c"; done; echo "error: undefined reference to \'foo\'" >&2; exit 2'
TRAIN = (
    "i=0; while :; do i=$((i+1)); j=0; while [ $j -lt $((i % 5 * 9000)) ]; do j=$((j+1)); done; "
    "printf 'epoch %d \\033[32mloss 0.%d\\033[0m\\n' $i $((900-i)); sleep 0.4; done"
)


def picture(tab: Tab, name: str, place: Path) -> None:
    folder = Path(os.environ.get("TEST_PICTURES") or place)
    folder.mkdir(parents=True, exist_ok=True)
    session = tab.context.new_cdp_session(tab.page)
    found = session.send("Page.captureScreenshot", {"format": "webp", "quality": 82})["data"]
    session.detach()
    (folder / f"{name}.webp").write_bytes(base64.b64decode(found))
    assert (folder / f"{name}.webp").stat().st_size < MOST_BYTES


def drawn_often(tab: Tab, selector: str, times: int) -> None:
    """Wait until a curve has been drawn so many times, each time with more."""
    seen: set[str] = set()

    def look() -> bool:
        seen.add(tab.page.locator(selector).first.evaluate("one => one.toDataURL()"))
        return len(seen) > times

    until(look, what=f"{times} drawings of {selector}")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_pictures_of_the_page_are_drawn(chrome: Any, ui: Ui, cli: Cli, place: Path, dark: bool) -> None:
    def run(title: str, script: str, *words: str, owner: str = "codex") -> str:
        given = ("run", "--title", title, "--cwd", "/srv", *words, "--", "sh", "-c", script)
        found: str = cli.ok(*given, env={"OUTLIVE_OWNER": owner})["job_id"]
        return found

    now = ("--snapshot-after", "0")
    run("build the wheel", BUILD, "--wait", "--tag", "ci.build")
    run("pytest -q", "printf '\\033[32m212 passed\\033[0m in 48.1 s\\n'", "--wait", "--tag", "ci.test")
    run("web", "echo listening on 127.0.0.1:8000; sleep 600", *now, owner="claude-code")
    train = run("train the model", TRAIN, *now, "--tag", "ml", owner="claude-code")
    shell = cli.ok("run", *now, "--pty", "--title", "python shell", "--cwd", "/srv", "--", "python3", "-q")["job_id"]
    tab = Tab(chrome, dark=dark, width=1100, height=620)
    page, look = tab.page, "dark" if dark else "light"
    try:
        tab.open(ui.new_link())
        page.locator(".row", has_text="waits for input").wait_for()
        drawn_often(tab, ".row .small-curve", 6)
        picture(tab, f"list-{look}", place)
        page.locator(f"#job-{train}").click()
        page.locator(".curve canvas").first.wait_for()
        drawn_often(tab, ".curve canvas", 8)
        picture(tab, f"job-{look}", place)
        page.get_by_role("link", name="Timeline").click()
        page.locator(".lane").nth(4).wait_for()
        picture(tab, f"timeline-{look}", place)
        tab.open(f"{ui.page}/job/{shell}")
        page.locator(".xterm-rows").wait_for()
        page.get_by_role("button", name="Take the keyboard").click()
        page.get_by_role("button", name="Let go of the keyboard").wait_for()
        page.keyboard.type("[n * n for n in range(8)]\n")
        until(lambda: "[0, 1, 4, 9" in (page.locator(".xterm-rows").text_content() or ""))
        picture(tab, f"terminal-{look}", place)
        assert not tab.wrong
    finally:
        tab.close()


def test_readme_and_docs_show_the_pictures_that_are_written() -> None:
    assert {path.name for path in DOCS.glob("*.webp")} == {
        f"{name}-{look}.webp" for name in NAMES for look in ("light", "dark")
    }
    assert sum(path.stat().st_size for path in DOCS.iterdir()) < 400_000
