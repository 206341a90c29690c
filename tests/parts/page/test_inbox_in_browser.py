"""What jobs ask a person, answered in place on the page, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
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
ASK = "for q in one two; do printf '%s? ' $q; read x; echo \"$q=$x\"; done; read x"


@pytest.fixture
def ask(cli: Cli) -> Callable[..., str]:
    def begin(script: str, *words: str) -> str:
        job: str = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", *words, "--", "sh", "-c", script)["job_id"]
        return job

    return begin


@pytest.fixture
def pending(cli: Cli, place: Path) -> Callable[..., str]:
    """A command that a policy asks about."""

    def begin(*words: str) -> str:
        config = place / "home" / ".config" / "outlive"
        config.mkdir(parents=True, exist_ok=True)
        (config / "config.toml").write_text('[policy]\ndefault = "ask"\n')
        try:
            job: str = cli.ok("run", "--snapshot-after", "0", *words)["job_id"]
            return job
        finally:
            (config / "config.toml").unlink()

    return begin


def prompts(tab: Tab) -> list[str]:
    found: list[str] = tab.page.locator(".question .prompt").all_text_contents()
    return found


def log(cli: Cli, job: str) -> str:
    found: str = cli.ok("log", job, "--since-seq", "0")["output"]
    return found


def test_enter_sends_one_line_to_the_question_that_is_shown(tab: Tab, cli: Cli, ask: Any) -> None:
    job = ask(ASK)
    page = tab.page
    until(lambda: prompts(tab) == ["one?"])
    page.keyboard.press("u")  # to the field of the next question
    page.keyboard.type("red")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # for nobody: the first answer is under way, or was taken
    until(lambda: prompts(tab) == ["two?"])
    assert log(cli, job) == "one? one=red\ntwo? "
    page.keyboard.press("u")
    page.keyboard.type("blue")
    page.keyboard.press("Enter")
    until(lambda: log(cli, job) == "one? one=red\ntwo? two=blue\n")


def test_an_answer_is_for_the_question_that_was_asked(ui: Ui, cli: Cli, ask: Any, browser: Browser) -> None:
    job = ask(ASK)
    question = until(lambda: [one for one in browser.call("jobs")["jobs"] if one.get("asked_at")])[0]
    assert question["prompt"] == "one?"
    given = {"job_id": job, "asked_at": question["asked_at"], "line": "red"}
    assert browser.call("answer", **given)["bytes_written"] == 4
    for _ in range(2):  # at once, and when the next one is asked
        assert browser.refused("answer", **given)[1]["code"] == "invalid_state"
        until(lambda: "two?" in log(cli, job))
    assert browser.refused("answer", **{**given, "asked_at": "before"})[1]["code"] == "invalid_state"


def test_yes_and_no_are_a_click_or_a_key_and_several_are_answered_at_once(tab: Tab, cli: Cli, ask: Any) -> None:
    jobs = [ask(f"printf 'Overwrite {n} [y/N] '; read x; echo got $x", "--title", f"job {n}") for n in range(3)]
    page = tab.page
    until(lambda: len(prompts(tab)) == 3)
    page.locator(".question").nth(0).get_by_role("button", name="n", exact=True).click()
    until(lambda: "got n" in log(cli, jobs[0]))
    until(lambda: prompts(tab) == ["Overwrite 1 [y/N]", "Overwrite 2 [y/N]"])
    page.get_by_label("Pick job 1").check()
    page.get_by_label("Pick job 2").focus()
    page.keyboard.press("x")
    page.get_by_text("2 picked").wait_for()
    page.keyboard.press("y")
    for job in jobs[1:]:
        until(lambda job=job: "got y" in log(cli, job))
    page.locator(".inbox").wait_for(state="hidden")


def test_commands_are_approved_denied_with_a_reason_and_approved_for_always(
    tab: Tab, cli: Cli, pending: Any, place: Path
) -> None:
    jobs = [pending("--title", f"job {n}", "--", "echo", f"it is; {n}") for n in range(4)]
    page = tab.page
    until(lambda: page.locator(".question").count() == 4)
    assert "echo 'it is; 0'" in page.locator(".question dd").all_text_contents()
    assert str(page.locator(".question .title").first.text_content()).endswith(("just now", " ago"))
    page.get_by_label("Why not job 0").fill("not today")
    page.get_by_label("Why not job 0").press("Enter")
    until(lambda: cli.ok("status", jobs[0])["approval"]["state"] == "denied")
    assert cli.ok("status", jobs[0])["approval"]["answer"] == "not today"
    until(lambda: page.locator(".question").count() == 3)
    for number in (1, 2):
        page.get_by_label(f"Pick job {number}").check()
    page.locator(".question").nth(0).get_by_role("button", name="Approve").click()
    for job in jobs[1:3]:
        until(lambda job=job: cli.ok("status", job)["state"] == "exited")
    until(lambda: page.locator(".question").count() == 1)
    page.locator("#jobs").focus()
    page.keyboard.press("u")
    page.keyboard.press("A")
    until(lambda: cli.ok("status", jobs[3])["state"] == "exited")
    again = cli.ok("policy", "list")["approvals"]
    assert [one["command"] for one in again] == [["echo", "it is; 3"]]


def test_a_password_is_not_shown_and_a_terminal_gets_its_enter(tab: Tab, cli: Cli) -> None:
    script = "stty -echo; printf 'Password: '; read x; stty echo; echo; echo \"$x\" | tr a-z A-Z; read y"
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "sh", "-c", script)["job_id"]
    page = tab.page
    until(lambda: prompts(tab) == ["Password:"])
    field = page.locator(".question .answer input")
    assert field.get_attribute("type") == "password"
    field.fill("secret")
    field.press("Enter")
    until(lambda: any("SECRET" in line for line in cli.ok("screen", job)["lines"]))


def test_questions_are_told_on_the_desktop_where_a_person_allows_it(tab: Tab, ui: Ui, cli: Cli, ask: Any) -> None:
    page = tab.page
    page.add_init_script("""
      window.shown = [];
      window.Notification = class { constructor(title, more) { window.shown.push([title, more.body]); } };
      Notification.permission = "granted";
      Notification.requestPermission = async () => "granted";
      document.hasFocus = () => false;
    """)
    page.reload()
    page.get_by_role("button", name="Notify me").click()
    page.reload()  # it is remembered
    page.locator('[aria-pressed="true"]', has_text="Notify me").wait_for()
    ask(ASK, "--title", "asks")
    until(lambda: page.evaluate("window.shown") == [["asks waits for you", "one?"]])
