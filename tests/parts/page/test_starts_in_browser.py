"""Running commands from the page, and deleting jobs, in a real browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Browser, Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests


def output(cli: Cli, job: str) -> str:
    found: str = cli.ok("log", job, "--since-seq", "0")["output"]
    return found


def opened(tab: Tab, but: str = "") -> str:
    """The id of the job whose page is shown, once it is another one."""
    found: str = until(
        lambda: (at := tab.page.evaluate("location.pathname")).startswith("/job/") and at[5:] != but and at[5:]
    )
    return found


def test_a_command_is_run_from_the_list_with_directory_sandbox_and_limits(tab: Tab, cli: Cli, work: Path) -> None:
    (work / "below").mkdir()
    page = tab.page
    page.keyboard.press("r")
    dialog = page.get_by_role("dialog", name="Run a command")
    dialog.get_by_label("Command").fill("pwd; echo 'a  b'")
    dialog.get_by_label("Directory").fill(str(work / "below"))
    dialog.get_by_label("Title").fill("from the page")
    dialog.get_by_label("Sandbox").select_option("off")
    dialog.get_by_label("Time limit").fill("60")
    dialog.get_by_label("Most memory").fill("2G")
    dialog.get_by_label("Command").press("Enter")
    job = opened(tab)
    until(lambda: cli.ok("status", job)["state"] == "exited")
    told = cli.ok("status", job)
    assert (told["name"], told["timeout_ms"], told["cwd"]) == ("from the page", 60_000, str(work / "below"))
    assert output(cli, job) == f"{work / 'below'}\na  b\n"


def test_a_command_is_run_again_with_changes(tab: Tab, ui: Ui, cli: Cli) -> None:
    first = cli.ok("run", "--wait", "--title", "words", "--", "printf", "%s\n", "it's", "a  b\u00a0c")["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{first}")
    page.get_by_role("button", name="Change and run").click()
    field = page.get_by_role("dialog").get_by_label("Command")
    field.press("Control+End")
    page.keyboard.type(" more")
    page.get_by_role("dialog").get_by_role("button", name="Run").click()
    job = opened(tab, first)
    until(lambda: cli.ok("status", job)["state"] == "exited")
    assert output(cli, job) == "it's\na  b\u00a0c\nmore\n"
    assert cli.ok("status", job)["name"] == "words"


def test_what_is_run_from_the_page_goes_through_the_policy(chrome: Any, cli: Cli, place: Path) -> None:
    config = place / "home" / ".config" / "outlive"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[policy]\ndefault = "ask"\n')
    with Ui(place / "asking-ui.log") as ui:
        (config / "config.toml").unlink()
        tab = Tab(chrome)
        tab.open(ui.link)
        page = tab.page
        page.get_by_text("No jobs yet").wait_for()
        page.keyboard.press("r")
        page.get_by_role("dialog").get_by_label("Command").fill("echo asked")
        page.get_by_role("dialog").get_by_role("button", name="Run").click()
        job = opened(tab)
        page.locator(".notice", has_text="waits for your approval").wait_for()
        assert cli.ok("status", job)["approval"]["state"] == "pending"
        page.get_by_role("button", name="Approve").click()
        until(lambda: output(cli, job) == "asked\n")
        tab.close()


def test_jobs_are_deleted_one_or_many_with_what_that_frees(tab: Tab, ui: Ui, cli: Cli) -> None:
    for name in ("a", "b", "c"):
        cli.ok("run", "--wait", "--title", name, "--tag", "x" if name == "a" else "y", "seq 1 50000")
    runs = cli.ok("run", "--snapshot-after", "0", "--title", "runs", "--tag", "y", "sleep 600")["job_id"]
    page = tab.page
    until(lambda: page.locator(".row").count() == 4)
    page.get_by_role("link", name="c", exact=True).click()
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog", name="Delete?")
    dialog.get_by_text("1 job, 2").or_(
        dialog.get_by_text("1 job, 3")
    ).first.wait_for()  # 290 kB, and what is beside them
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_text("Deleted: 1 job").wait_for()
    until(lambda: sorted(one["name"] for one in cli.ok("list", "--all")["jobs"]) == ["a", "b", "runs"])
    page.locator("#filter").fill("tag:y")
    until(lambda: page.locator(".row").count() == 2)
    page.get_by_role("button", name="Clean up").click()
    dialog.get_by_role("button", name="Cancel").click()
    until(lambda: dialog.count() == 0)
    page.locator("#jobs").focus()
    page.keyboard.press("X")
    dialog.get_by_role("button", name="Delete").click()
    until(lambda: sorted(one["name"] for one in cli.ok("list", "--all")["jobs"]) == ["a", "runs"])
    assert cli.ok("status", runs)["state"] == "running"


def test_several_rows_are_picked_by_keys_and_clicks_and_deleted_together(tab: Tab, cli: Cli) -> None:
    for name in ("a", "b", "c", "d", "e"):
        cli.ok("run", "--wait", "--title", name, "true")
    page = tab.page
    until(lambda: page.locator(".row").count() == 5)  # e, d, c, b, a
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_text("1 picked").wait_for()
    page.get_by_role("checkbox", name="Select c").click(modifiers=["Shift"])  # and d, which is between them
    page.get_by_text("3 picked").wait_for()
    page.keyboard.press("k")  # the keys go on where the hand clicked
    page.keyboard.press("x")
    page.get_by_text("2 picked").wait_for()
    assert [box.is_checked() for box in page.locator(".pick").all()] == [True, False, True, False, False]
    page.locator("#filter").fill("name:c")
    page.get_by_text("1 picked").wait_for()  # what the list does not show is not deleted
    page.locator("#filter").fill("")
    page.get_by_role("button", name="Delete 2…").click()
    dialog = page.get_by_role("dialog", name="Delete?")
    dialog.get_by_text("2 jobs, ").wait_for()
    dialog.get_by_role("button", name="Delete").click()
    until(lambda: sorted(one["name"] for one in cli.ok("list", "--all")["jobs"]) == ["a", "b", "d"])
    page.get_by_role("button", name="Clean up…").wait_for()


def test_deleting_tells_what_it_would_free_and_leaves_what_runs(cli: Cli, browser: Browser) -> None:
    ended = cli.ok("run", "--wait", "seq 1 50000")["job_id"]
    runs = cli.ok("run", "--snapshot-after", "0", "sleep 600")["job_id"]
    would = browser.call("delete", jobs=[ended, runs, "01J00000000000000000000000"], dry_run=True)
    assert (would["deleted"], would["freed_bytes"] > 288_000) == (1, True)
    assert browser.call("delete", jobs=[ended, runs])["deleted"] == 1
    assert [one["job_id"] for one in cli.ok("list", "--all")["jobs"]] == [runs]
