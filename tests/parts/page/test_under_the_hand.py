"""What a person reads, decides and clicks on the page all day, in a real browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests


def begin(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", "--snapshot-after", "0", *words)["job_id"]
    return job


def asked(cli: Cli, place: Path, *words: str) -> str:
    """Start a command that a policy asks about."""
    config = place / "home" / ".config" / "outlive"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[policy]\ndefault = "ask"\n')
    try:
        return begin(cli, *words)
    finally:
        (config / "config.toml").unlink()


# --- what is shown is what runs --------------------------------------------------------------------------------------

WORDS = ("echo", "origin main; rm -rf", "a\u00a0b", "c\u202ed", "it's")
SHOWN = "echo 'origin main; rm -rf' $'a\\u00a0b' $'c\\u202ed' 'it'\"'\"'s'"


def test_words_are_quoted_wherever_a_person_decides(tab: Tab, ui: Ui, cli: Cli, place: Path) -> None:
    job = asked(cli, place, "--env", "GIT_DIR=x y", "--", *WORDS)
    page = tab.page
    until(lambda: page.locator(".row .command").all_text_contents() == [SHOWN])
    tab.open(f"{ui.page}/job/{job}")
    until(lambda: page.locator(".facts .command").text_content() == SHOWN)
    for where in ("notice", "question"):  # of the job, and in the list
        page.locator(f".{where}").get_by_role("button", name="Approve").wait_for()
        page.locator(f".{where}").get_by_role("button", name="Deny").wait_for()
        facts = page.locator(f".{where} dd").all_text_contents()
        assert SHOWN in facts and "'GIT_DIR=x y'" in facts and "none" in facts
        page.keyboard.press("Escape")
    for answer in (cli.text("status", "--human", job), cli.text("list", "--human", "-v", "--all")):
        assert SHOWN in answer.stdout


def test_a_script_is_shown_with_the_lines_that_it_has(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = begin(cli, "true\nsleep\u00a00 || true")
    tab.open(f"{ui.page}/job/{job}")
    until(lambda: tab.page.locator(".facts .command").text_content() == "true\\nsleep\\u00a00 || true")


# --- how it ended ----------------------------------------------------------------------------------------------------


def names(tab: Tab) -> list[str]:
    found: list[str] = tab.page.locator(".row .name").all_text_contents()
    return sorted(found)


def test_a_denied_job_never_ran(tab: Tab, ui: Ui, cli: Cli, place: Path) -> None:
    job = asked(cli, place, "--", "true")
    cli.ok("deny", job)
    page = tab.page
    row = page.locator(".row.ended", has_text="denied")
    row.wait_for()
    assert row.locator(".took").text_content() == "never ran"
    tab.open(f"{ui.page}/job/{job}")
    page.locator(".side dt", has_text="given up").wait_for()
    assert "started" not in page.locator(".side dt").all_text_contents()
    assert page.locator("#age").text_content() == "never ran"
    tab.open(f"{ui.page}/timeline")
    page.locator(".lane a.waited").wait_for()
    assert page.locator(".ran").count() == 0


def test_failed_is_what_the_list_of_the_command_line_calls_so(tab: Tab, cli: Cli, place: Path) -> None:
    cli.ok("run", "--wait", "--title", "code", "exit 3")
    cli.ok("run", "--wait", "--title", "good", "true")
    cli.ok("run", "--wait", "--title", "late", "--timeout", "50ms", "sleep 600")
    cli.ok("kill", begin(cli, "--title", "killed", "sleep 600"), "--grace-ms", "0")
    cli.ok("deny", asked(cli, place, "--title", "denied", "--", "true"))
    wanted = sorted(one["name"] for one in cli.ok("list", "--all", "--failed")["jobs"])
    assert wanted == ["code", "denied", "killed", "late"]
    page = tab.page
    until(lambda: len(names(tab)) == 5)
    page.locator(".chip[data-do=failed]").click()
    until(lambda: names(tab) == wanted)
    page.locator(".chip[data-do=all]").click()
    page.locator("#filter").fill("is:failed")
    until(lambda: names(tab) == wanted)


def fact(tab: Tab, name: str) -> str:
    found: str = tab.page.locator(".side dl div", has=tab.page.get_by_text(name, exact=True)).locator("dd").inner_text()
    return found


def test_details_follow_a_job_and_count_the_lines_that_the_log_numbers(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = begin(cli, "--quota-bytes", "65536", "--stdin", "open", "seq 1 20000; while read x; do echo $x; done")
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    until(lambda: page.locator(".line .number").all_text_contents()[-1:] == ["20\u2009000"])
    until(lambda: fact(tab, "lines") == "20,000")
    cli.ok("write", job, "--data", "more\n")
    until(lambda: fact(tab, "lines") == "20,001")
    gap = cli.ok("log", job, "--since-seq", "0")["gaps"][0]
    tab.open(f"{ui.page}/job/{job}#seq={gap['to_seq']}")
    page.locator(".line.gap", has_text="lines").wait_for()


# --- nothing by accident ---------------------------------------------------------------------------------------------


def test_a_restart_asks_first(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--", *WORDS)["job_id"]
    tab.open(f"{ui.page}/job/{job}")
    tab.page.get_by_role("button", name="Run again").wait_for()
    tab.page.keyboard.press("R")
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_text(SHOWN).wait_for()
    tab.page.keyboard.press("Escape")
    until(lambda: dialog.count() == 0)
    assert len(cli.ok("list", "--all")["jobs"]) == 1
    tab.page.get_by_role("button", name="Run again").click()
    dialog.get_by_role("button", name="Run again").click()
    until(lambda: len(cli.ok("list", "--all")["jobs"]) == 2)


def test_a_key_for_the_terminal_of_a_job_that_has_none_does_nothing(tab: Tab, ui: Ui, cli: Cli) -> None:
    tab.open(f"{ui.page}/job/{begin(cli, 'echo begun; sleep 600')}")
    tab.page.locator(".line", has_text="begun").wait_for()
    tab.page.keyboard.press("m")
    tab.page.keyboard.press("x")
    tab.page.get_by_role("dialog").wait_for()
    assert not tab.wrong


def test_enter_in_the_help_closes_it(tab: Tab, ui: Ui) -> None:
    page = tab.page
    page.get_by_text("No jobs yet").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Enter")
    until(lambda: page.get_by_role("dialog").count() == 0)
    page.reload()
    page.get_by_text("No jobs yet").wait_for()


# --- solid under the hand --------------------------------------------------------------------------------------------

UNDER = "([x, y]) => document.elementFromPoint(x, y)?.closest('.row')?.dataset.job"


@pytest.fixture
def lively(cli: Cli, tab: Tab) -> None:
    """A list in which jobs begin and end all the time, before everything that has ended."""
    for number in range(30):
        cli.ok("run", "--wait", "--title", f"job-{number}", "true")
    line = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.3; done"
    for _ in range(2):
        begin(cli, line)
    until(lambda: tab.page.locator(".row").count() > 8)


def test_every_click_opens_the_job_under_it_while_the_list_changes(tab: Tab, ui: Ui, cli: Cli, lively: None) -> None:
    page = tab.page
    opened = []
    for number in range(20):
        until(lambda: page.locator(".row").count() > 8)
        page.mouse.move(400 + number, 250 + 10 * number)
        aimed = page.evaluate(UNDER, [400 + number, 250 + 10 * number])
        page.mouse.down()
        begin(cli, "--title", "in between", "true")  # takes longer than the 150 ms of a hand
        page.mouse.up()
        page.wait_for_url("**/job/*")
        opened.append(page.evaluate("location.pathname").endswith(f"/job/{aimed}"))
        page.go_back()
    assert opened == [True] * 20


def test_the_focus_stays_on_a_job_whatever_happens_to_the_list(tab: Tab, ui: Ui, cli: Cli, lively: None) -> None:
    page = tab.page
    for _ in range(4):
        page.keyboard.press("j")
    focused = "document.activeElement.closest('.row')?.dataset.job"
    chosen = until(lambda: page.evaluate(focused))
    for _ in range(3):
        new = begin(cli, "--title", "another", "sleep 600")
        page.locator(f"#job-{new}").wait_for()
        assert page.evaluate(focused) == chosen
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/job/{chosen}")


def test_rows_are_links_and_the_address_has_the_filter(tab: Tab, ui: Ui, cli: Cli, lively: None) -> None:
    page = tab.page
    page.set_viewport_size({"width": 1280, "height": 300})
    page.locator("#filter").fill("name:job-1")
    until(lambda: "q=name%3Ajob-1" in page.evaluate("location.search"))
    until(lambda: page.locator(".row").count() == 11)
    with page.context.expect_page() as other:
        page.locator(".row").nth(3).click(modifiers=["Control"])
    wanted = page.locator(".row").nth(3).get_attribute("data-job")
    other.value.wait_for_url(f"**/job/{wanted}")
    other.value.close()
    page.locator("#jobs").evaluate("one => { one.scrollTop = 77 }")
    box = page.locator(".row").nth(5).bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)  # a locator's click may scroll
    page.wait_for_url("**/job/*")
    page.go_back()
    until(lambda: page.locator(".row").count() == 11)
    until(lambda: page.locator("#jobs").evaluate("one => one.scrollTop") == 77)
    page.reload()
    until(lambda: page.locator(".row").count() == 11)
    assert page.locator("#filter").input_value() == "name:job-1"
    page.locator(".row").nth(5).click()
    page.wait_for_url("**/job/*")
    page.keyboard.press("Escape")  # all jobs, as they were left
    until(lambda: page.locator(".row").count() == 11)


def test_a_selection_in_a_log_stays_while_the_log_grows(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = begin(cli, "--stdin", "open", "seq 1 300; while read x; do echo $x; done")
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    page.locator(".notice").get_by_text("It waits for input").wait_for()  # nothing moves any more
    line = page.locator(".line", has_text="295").locator(".text")
    line.wait_for()
    box = line.bounding_box()
    assert box
    page.mouse.move(box["x"] + 1, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"], box["y"] + 8, steps=5)
    cli.ok("write", job, "--data", "while it is pressed\n")
    page.mouse.up()
    assert page.evaluate("String(getSelection())") == "295"
    for number in range(3):
        cli.ok("write", job, "--data", f"more {number}\n" * 30)
        until(lambda number=number: fact(tab, "lines") == f"{331 + 30 * number}")
    assert page.evaluate("String(getSelection())") == "295"
    assert page.get_by_role("button", name="Follow").get_attribute("aria-pressed") == "false"
    page.get_by_role("button", name="Follow").click()
    until(lambda: page.locator(".line .text").all_text_contents()[-1:] == ["more 2"])


# --- a narrow window -------------------------------------------------------------------------------------------------


def test_a_phone_gives_its_room_to_the_log(chrome: Any, ui: Ui, cli: Cli, place: Path) -> None:
    words = ("--title", "build the wheel", "--tag", "ci.build", "seq 1 400; echo the last line; sleep 600")
    job = begin(cli, *words)
    tab = Tab(chrome, width=390, height=844)
    try:
        page = tab.page
        tab.open(ui.new_link())
        page.locator(".row").wait_for()
        tab.open(f"{ui.page}/job/{job}")
        last = page.locator(".line", has_text="the last line")
        last.wait_for()
        page.get_by_role("button", name="Kill").wait_for()
        tab.shot("room-phone", place)
        output = page.locator("#output").bounding_box()
        line = last.bounding_box()
        assert output and line
        assert output["height"] > 0.75 * 844
        assert line["y"] + line["height"] <= 844
        over = "([x, y]) => document.elementFromPoint(x, y).closest('.line')?.textContent"
        assert "the last line" in page.evaluate(over, [100, line["y"] + 9])
        assert page.locator(".side").is_hidden()
        page.keyboard.press("s")
        page.locator(".side h2", has_text="Events").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    finally:
        tab.close()


# --- search ----------------------------------------------------------------------------------------------------------


def test_a_search_ignores_case_until_it_is_told_to_says_how_many_and_steps(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "seq 1 50; echo ERROR one; seq 1 50; echo an error; seq 1 50; echo Error")["job_id"]
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    page.locator(".line", has_text="Error").wait_for()
    target = page.locator(".line.target mark")
    page.keyboard.press("/")
    page.keyboard.type("error")
    until(lambda: page.locator(".hits").text_content() == "1 of 3")
    until(lambda: target.all_text_contents() == ["ERROR"])
    page.keyboard.press("Enter")
    until(lambda: page.locator(".hits").text_content() == "2 of 3" and target.all_text_contents() == ["error"])
    page.locator("#output").focus()
    page.keyboard.press("n")
    until(lambda: target.all_text_contents() == ["Error"])
    page.keyboard.press("N")
    until(lambda: target.all_text_contents() == ["error"])
    page.keyboard.press("C")
    until(lambda: page.locator(".hits").text_content() == "1 of 1" and target.all_text_contents() == ["error"])
    page.keyboard.press("C")
    page.locator("#search").fill("(?i)AN e")
    until(lambda: target.all_text_contents() == ["an e"])
    page.locator("#search").fill("(?-i:Error)")
    until(lambda: page.locator(".hits").text_content() == "1 of 1")


# --- keys ------------------------------------------------------------------------------------------------------------


def test_tab_passes_a_terminal_that_is_watched_and_a_chord_leaves_one_that_is_typed_into(
    tab: Tab, ui: Ui, cli: Cli
) -> None:
    job = begin(cli, "--pty", "cat -A")
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    page.locator(".xterm-screen").click()
    inside = "Boolean(document.activeElement.closest('.xterm'))"
    assert page.evaluate(inside)
    for _ in range(3):
        page.keyboard.press("Tab")
    assert not page.evaluate(inside)
    for _ in range(4):
        page.keyboard.press("Shift+Tab")
    page.get_by_role("tab", name="Terminal").focus()
    page.keyboard.press("m")
    page.get_by_role("button", name="Let go of the keyboard").wait_for()
    page.get_by_text("Ctrl+] d lets go").wait_for()
    for key in ("a", "Tab", "b", "Enter"):  # Tab is the job's now
        page.keyboard.press(key)
    until(lambda: any("a^Ib" in line for line in cli.ok("screen", job)["lines"]))
    page.keyboard.press("Control+]")
    page.keyboard.type("x")  # no chord: both go to the job
    page.keyboard.press("Control+]")
    page.keyboard.press("Control+]")
    page.keyboard.press("Enter")
    until(lambda: any("^]x^]$" in line for line in cli.ok("screen", job)["lines"]))
    page.keyboard.press("Control+]")
    page.keyboard.press("d")
    take = page.get_by_role("button", name="Take the keyboard")
    take.wait_for()
    until(lambda: take.evaluate("one => one === document.activeElement"))
    assert not any("d" in line for line in cli.ok("screen", job)["lines"])


def keys_of(tab: Tab) -> set[str]:
    tab.page.keyboard.press("?")
    tab.page.get_by_role("dialog").wait_for()
    found = set(tab.page.locator(".help dd").all_text_contents())
    tab.page.keyboard.press("Escape")
    until(lambda: tab.page.get_by_role("dialog").count() == 0)
    return found


def test_every_action_has_a_key_that_the_help_names(tab: Tab, ui: Ui, cli: Cli, place: Path) -> None:
    job = begin(cli, "--stdin", "open", "echo begun; cat")
    page = tab.page
    tab.open(f"{ui.page}/job/{job}")
    page.get_by_role("button", name="Kill").wait_for()
    shown = keys_of(tab)
    for key, heading, said in (
        ("x", "End this job?", "kill"),
        ("i", "Write into its input", "write into its input"),
        ("T", "Tags", "tags"),
    ):
        page.keyboard.press(key)
        page.get_by_role("dialog", name=heading).wait_for()
        page.keyboard.press("Escape")
        until(lambda: page.get_by_role("dialog").count() == 0)
        assert said in shown
    job = asked(cli, place, "--", "echo", "approved")
    tab.open(f"{ui.page}/job/{job}")
    page.get_by_role("button", name="Approve").wait_for()
    page.keyboard.press("D")
    until(lambda: page.evaluate("document.activeElement.getAttribute('aria-label')") == "Why not echo approved")
    page.locator("#output").focus()
    page.keyboard.press("a")
    until(lambda: page.evaluate("document.activeElement.textContent") == "Approve")
    page.keyboard.press("Enter")
    until(lambda: cli.ok("status", job)["state"] == "exited")
    assert {"approve", "deny", "copy the id", "tell me of its end", "compare with the run before"} <= keys_of(tab)
