"""Every flow of the page in a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance import npm
from support.chromium import Tab, first_number
from support.cli import Cli
from support.commands import in_order
from support.hostile import HOSTILE
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
AXE = "axe-core@4.14.1"
until = partial(so_within, timeout=60)  # a browser shares the machine with the rest of the tests


@pytest.fixture(autouse=True)
def loads_nothing_from_elsewhere(tab: Tab, ui: Ui) -> Iterator[None]:
    yield
    assert all(address.startswith((ui.page, "data:", "blob:")) for address in tab.asked), (
        "nothing is loaded from elsewhere"
    )


@pytest.fixture
def start(cli: Cli) -> Callable[..., str]:
    def begin(script: str, *words: str) -> str:
        job: str = cli.ok("run", "--snapshot-after", "0", *words, "--", "sh", "-c", script)["job_id"]
        return job

    return begin


@pytest.fixture
def finish(cli: Cli) -> Callable[..., str]:
    def run(script: str, *words: str) -> str:
        job: str = cli.ok("run", "--wait", *words, "--", "sh", "-c", script)["job_id"]
        return job

    return run


def rows(tab: Tab) -> list[str]:
    found: list[str] = tab.page.locator("#output .line .text").all_text_contents()
    return found


def address(tab: Tab) -> str:
    """The address as the page has it: Playwright's own copy is renewed only while it is asked something."""
    found: str = tab.page.evaluate("location.href")
    return found


def open_job(tab: Tab, ui: Ui, job: str, hash_: str = "") -> None:
    tab.open(f"{ui.page}/job/{job}{hash_}")
    shown = "#output .line:visible, .emulator .xterm-screen:visible, .place > .empty:visible"
    tab.page.locator(shown).first.wait_for()


# --- the list --------------------------------------------------------------------------------------------------------


def test_the_list_is_live_filtered_as_one_types_and_opened_by_keys(tab: Tab, ui: Ui, start: Any, finish: Any) -> None:
    page = tab.page
    page.get_by_text("No jobs yet").wait_for()
    assert page.url == f"{ui.page}/", "the link does not stay in the address"
    finish("exit 3", "--title", "broken build", "--tag", "ci.build")
    page.locator(".badge", has_text="exit 3").wait_for()
    start("echo working; sleep 600", "--title", "long run")
    page.locator(".row", has_text="working").wait_for()
    assert page.locator(".row .name").all_text_contents() == ["long run", "broken build"], "running ones first"
    page.keyboard.press("/")
    page.keyboard.type("tag:ci")
    until(lambda: page.locator(".row .name").all_text_contents() == ["broken build"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/job/*")
    page.go_back()
    page.locator("#filter").fill("")
    page.get_by_role("button", name="Running").click()
    until(lambda: page.locator(".row .name").all_text_contents() == ["long run"])


def is_inked(tab: Tab, selector: str) -> bool:
    """Whether anything is drawn on a canvas."""
    script = """one => {
      const blank = Object.assign(document.createElement("canvas"), { width: one.width, height: one.height });
      return one.toDataURL() !== blank.toDataURL();
    }"""
    found: bool = tab.page.locator(selector).first.evaluate(script)
    return found


def test_what_jobs_use_is_drawn_while_the_page_looks(tab: Tab, ui: Ui, start: Any) -> None:
    job = start("echo begun; while :; do :; done", "--title", "busy")
    page = tab.page
    until(lambda: page.locator(".row .small-curve").count() and is_inked(tab, ".row .small-curve"))
    until(lambda: "%" in (page.locator(".row .use").first.text_content() or ""))
    open_job(tab, ui, job)
    page.locator(".curve canvas").first.wait_for()
    until(lambda: is_inked(tab, ".curve canvas"))
    until(lambda: "%" in (page.locator(".curve", has_text="CPU").text_content() or ""))
    page.locator(".curve").first.click()
    until(lambda: page.locator(".line.target .text").all_text_contents() == ["begun"])  # what was printed by then


def test_what_a_job_used_is_drawn_though_no_page_was_open(tab: Tab, ui: Ui, start: Any, cli: Cli, root: Path) -> None:
    job = start("echo begun; while :; do :; done", "--title", "busy")
    until((root / job / "usage.ndjson").exists)
    cli.ok("kill", job)
    open_job(tab, ui, job)
    tab.page.locator(".curve canvas").first.wait_for()
    until(lambda: is_inked(tab, ".curve canvas"))
    until(lambda: "%" in (tab.page.locator(".curve", has_text="CPU").text_content() or ""))


def test_jobs_of_other_hosts_say_where_they_are_and_wait(tab: Tab, ui: Ui, finish: Any) -> None:
    for title in ("here", "queued", "away", "boxed"):
        finish("true", "--title", title)
    told = {
        "queued": {"host": "cluster", "state": "created", "queue": {"state": "PENDING", "reason": "Priority"}},
        "away": {"host": "box.lab", "state": "running", "reachable": False},
        "boxed": {"sandbox": {"mode": "workspace-write", "network": "none"}},
    }

    page = tab.page  # no host is needed to see how one is shown; nothing between server and page could change an answer
    page.add_init_script(f"""
      const told = {json.dumps(told)}, decrypt = crypto.subtle.decrypt.bind(crypto.subtle);
      crypto.subtle.decrypt = async (...given) => {{
        const said = await decrypt(...given);
        const found = JSON.parse(new TextDecoder().decode(said));
        for (const job of found.type === "ui.jobs" ? found.jobs : []) Object.assign(job, told[job.name]);
        return new TextEncoder().encode(JSON.stringify(found));
      }};""")
    page.reload()
    page.get_by_text("queued: Priority").wait_for()
    page.get_by_text("out of reach, was running").wait_for()
    page.get_by_text("workspace-write").wait_for()
    page.locator(".tag.host", has_text="on cluster").click()
    until(lambda: page.locator(".row .name").all_text_contents() == ["queued"])
    page.locator("#filter").fill("host:local")
    until(lambda: sorted(page.locator(".row .name").all_text_contents()) == ["boxed", "here"])
    page.locator("#filter").fill("priority")
    until(lambda: page.locator(".row .name").all_text_contents() == ["queued"])


# --- a job -----------------------------------------------------------------------------------------------------------


def drawn(tab: Tab) -> list[str]:
    """The rows, if two frames have not changed them; else none."""
    before = rows(tab)
    tab.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
    return before if rows(tab) == before else []


def test_output_is_live_and_follow_lets_go_on_scrolling_up(tab: Tab, ui: Ui, start: Any, cli: Cli) -> None:
    job = start("seq 1 300; while read x; do echo got $x; done", "--stdin", "open")
    open_job(tab, ui, job)
    page = tab.page
    until(lambda: rows(tab)[-1:] == ["300"])
    cli.ok("write", job, "--data", "one\n")
    until(lambda: rows(tab)[-1:] == ["got one"])
    follow = page.get_by_role("button", name="Follow")
    page.locator("#output").hover()
    page.mouse.wheel(0, -1500)
    until(lambda: follow.get_attribute("aria-pressed") == "false")
    seen = until(lambda: drawn(tab), what="the scrolling is over")
    cli.ok("write", job, "--data", "two\n")
    page.get_by_text("302", exact=False).first.wait_for()
    now = rows(tab)  # more or fewer than before, when the line that says that the job waits for input comes or goes
    room = min(len(now), len(seen))
    assert room > 10
    assert now[:room] == seen[:room], "it stays where it was scrolled to"
    page.keyboard.press("f")
    until(lambda: rows(tab)[-1:] == ["got two"])


def test_colours_progress_bars_and_stderr_are_shown(tab: Tab, ui: Ui, cli: Cli) -> None:
    progress, red = "\r10 %\r20 %\r30 %\n", "\x1b[1;31mred\x1b[0m plain\n"
    words = in_order((1, progress + red), (2, "trouble\n"), (1, "abc\b\bX\na\x1b[2Kb\n"))
    job = cli.ok("run", "--wait", *words)["job_id"]
    open_job(tab, ui, job)
    until(lambda: rows(tab) == ["30 %", "red plain", "trouble", "aXc", " b"])
    page = tab.page
    assert page.locator(".line.stderr .text").all_text_contents() == ["trouble"]
    assert page.locator(".fg-1.s-bold").text_content() == "red"


def test_any_line_of_large_output_is_reached_searched_and_linked(tab: Tab, ui: Ui, finish: Any) -> None:
    job = finish("seq 1 3000000; echo 'error: it broke'; seq 1 1000")
    open_job(tab, ui, job)
    page = tab.page
    until(lambda: rows(tab)[-1:] == ["1000"])
    page.keyboard.press("Home")
    until(lambda: rows(tab)[:1] == ["1"])
    page.locator("#output").evaluate("element => { element.scrollTop = element.scrollHeight / 2 }")
    until(lambda: 1_400_000 < first_number(rows(tab)) < 1_600_000)
    page.locator("#output").hover()
    before = until(lambda: max(0, first_number(drawn(tab))))
    page.mouse.wheel(0, 190)
    until(lambda: 5 <= first_number(rows(tab)) - before <= 15)  # a small step, at any length
    page.keyboard.press("e")
    until(lambda: page.locator(".line.target .text").all_text_contents() == ["error: it broke"])
    page.locator(".line.target a.number").click()
    link = until(lambda: "#seq=22888896" in address(tab) and address(tab))
    page.goto("about:blank")
    tab.open(link)
    until(lambda: page.locator(".line.target .text").all_text_contents() == ["error: it broke"])
    page.keyboard.press("/")
    page.keyboard.type("^27...77$")
    until(lambda: page.locator(".hits").text_content() == "1 of 1,000")
    until(lambda: page.locator(".line.target mark").all_text_contents() == ["2700077"])
    page.keyboard.press("Shift+Enter")
    until(lambda: page.locator(".line.target mark").all_text_contents() == ["2799977"])


def test_the_gap_is_shown_at_its_place(tab: Tab, ui: Ui, finish: Any, cli: Cli) -> None:
    job = finish("seq 1 100000", "--quota-bytes", "65536")
    gap = cli.ok("log", job, "--since-seq", "0")["gaps"][0]
    open_job(tab, ui, job, f"#seq={gap['from_seq']}")
    shown = tab.page.locator(".line.gap")
    shown.wait_for()
    assert f"{gap['lines']:,} lines" in (shown.text_content() or "")


def test_events_lead_to_their_places(tab: Tab, ui: Ui, finish: Any) -> None:
    job = finish("seq 1 2000; echo needle; seq 1 2000", "--watch", "needle")
    open_job(tab, ui, job)
    tab.page.locator(".event", has_text="needle").get_by_role("button").click()
    until(lambda: tab.page.locator(".line.target .text").all_text_contents() == ["needle"])


# --- actions ---------------------------------------------------------------------------------------------------------


def test_a_job_is_killed_with_its_grace_and_restarted(tab: Tab, ui: Ui, start: Any, cli: Cli) -> None:
    job = start("sleep 600")
    open_job(tab, ui, job)
    page = tab.page
    page.keyboard.press("x")
    page.get_by_label("Grace before SIGKILL").fill("0.5")
    page.get_by_role("dialog").get_by_role("button", name="Kill").click()
    until(lambda: cli.ok("status", job)["state"] == "killed")
    page.get_by_role("button", name="Run again").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    until(lambda: not address(tab).endswith(job))
    assert cli.ok("status", address(tab).rpartition("/")[2])["restarted_from"] == job


def test_a_waiting_job_is_answered(tab: Tab, ui: Ui, start: Any) -> None:
    job = start("printf 'name? '; read x; echo hello $x", "--stdin", "open")
    open_job(tab, ui, job)
    page = tab.page
    page.keyboard.press("i")
    page.get_by_role("dialog").get_by_label("Text").fill("world")
    page.get_by_role("dialog").get_by_role("button", name="Write").click()
    until(lambda: rows(tab) and rows(tab)[-1].endswith("hello world"))
    page.locator("h1 ~ .state", has_text="done").wait_for()


def test_a_command_is_approved_on_the_page(tab: Tab, ui: Ui, cli: Cli, place: Path) -> None:
    config = place / "home" / ".config" / "outlive"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[policy]\ndefault = "ask"\n')
    job = cli.ok("run", "--snapshot-after", "0", "--", "echo", "<b>approved</b>")["job_id"]
    (config / "config.toml").unlink()
    page = tab.page
    page.get_by_text("waits for approval").wait_for()
    page.locator(".row").click()
    page.locator(".notice").get_by_text("<b>approved</b>").wait_for()
    page.locator(".notice dd", has_text="this machine").wait_for()  # all that decides is shown
    page.get_by_role("button", name="Approve").click()
    until(lambda: rows(tab) == ["<b>approved</b>"])
    assert cli.ok("status", job)["approval"]["by"].endswith("(outlive ui)")


def test_keys_go_to_the_job_once_they_were_taken(tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "sh", "-c", "read x; echo [$x]; read y; echo [$y]")[
        "job_id"
    ]
    open_job(tab, ui, job)
    page = tab.page
    screen = page.locator(".xterm-rows")
    screen.wait_for()
    page.locator(".xterm-screen").click()
    page.get_by_text("waiting for input").first.wait_for()
    assert page.locator(".notice:visible").count() == 0, "a bar that comes and goes would resize the terminal"
    page.keyboard.type("watched")
    page.get_by_role("button", name="Take the keyboard").click()
    page.keyboard.type("hello\n")
    until(lambda: "[hello]" in (screen.text_content() or ""))
    page.get_by_role("button", name="Let go of the keyboard").click()
    cli.ok("submit", job, "--text", "bye")
    until(lambda: "[bye]" in (screen.text_content() or ""))


def test_a_page_shows_who_holds_the_keyboard_and_takes_it_on_a_click(chrome: Any, tab: Tab, ui: Ui, cli: Cli) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    other = Tab(chrome, width=800, height=600)
    try:
        other.open(ui.new_link())
        open_job(tab, ui, job)
        open_job(other, ui, job)
        tab.page.get_by_role("button", name="Take the keyboard").click()
        tab.page.get_by_role("button", name="Let go of the keyboard").wait_for()
        wide = until(lambda: (now := cli.ok("screen", job))["cols"] != 120 and now)["cols"]
        other.page.get_by_text("(outlive ui) holds the keyboard").wait_for()
        other.page.get_by_role("button", name="Take the keyboard from them").click()
        tab.page.get_by_text("(outlive ui) holds the keyboard").wait_for()
        until(lambda: cli.ok("screen", job)["cols"] < wide)  # a smaller window
        other.page.keyboard.type("mine\n")
        until(lambda: "mine" in (tab.page.locator(".xterm-rows").text_content() or ""))
        rows_before = cli.ok("screen", job)["rows"]
        other.page.set_viewport_size({"width": 800, "height": 450})
        until(lambda: cli.ok("screen", job)["rows"] < rows_before)  # the program follows the window
        other.page.get_by_role("button", name="Let go of the keyboard").click()
        tab.page.get_by_text("You watch. What you type goes nowhere.").wait_for()
        until(lambda: cli.ok("screen", job)["cols"] == 120)
        assert not other.wrong
    finally:
        other.close()


def test_vim_is_typed_into_and_saves(tab: Tab, ui: Ui, cli: Cli, work: Path) -> None:
    vim = shutil.which("vim") or shutil.which("vi")
    if vim is None:
        pytest.skip("there is no vim")
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", vim, "-u", "NONE", "note.txt")["job_id"]
    open_job(tab, ui, job)
    page = tab.page
    until(lambda: "~" in (page.locator(".xterm-rows").text_content() or ""))
    page.get_by_role("button", name="Take the keyboard").click()
    page.keyboard.type("ihello from the page")
    page.keyboard.press("Escape")
    page.keyboard.type("yypA, again")
    until(lambda: "hello from the page, again" in (page.locator(".xterm-rows").text_content() or ""))
    page.keyboard.press("Escape")
    page.keyboard.type(":wq\n")
    until(lambda: cli.ok("status", job)["state"] == "exited")
    assert (work / "note.txt").read_text() == "hello from the page\nhello from the page, again\n"


# --- hostile ---------------------------------------------------------------------------------------------------------


def test_what_a_job_prints_and_is_called_is_text(tab: Tab, ui: Ui, cli: Cli, work: Path) -> None:
    (work / "evil.txt").write_text("\n".join(HOSTILE) + "\n", encoding="utf-8")
    folder = work / "<img src=x onerror=alert(10)>"
    folder.mkdir()
    for number, words in enumerate(HOSTILE[:8]):
        cli.ok(
            "run",
            "--wait",
            "--title",
            words[:100],
            "--cwd",
            str(folder),
            "--",
            "cat",
            str(work / "evil.txt"),
            env={"OUTLIVE_OWNER": f"<b>{number}"},
        )
    page = tab.page
    until(lambda: page.locator(".row").count() == 8)
    assert HOSTILE[1] in page.locator(".row .name").all_text_contents()
    for path in ("timeline", ""):
        tab.open(f"{ui.page}/{path}")
        page.get_by_text("<svg onload=alert(3)>").first.wait_for()
    for job in cli.ok("list", "--all")["jobs"][:2]:
        open_job(tab, ui, job["job_id"])
        page.keyboard.press("Home")
        until(lambda: rows(tab)[:2] == list(HOSTILE[:2]))
        assert "⟨202E⟩evil⟨202C⟩" in rows(tab)[13]
        page.keyboard.press("/")
        page.keyboard.type("alert")
        page.locator(".found li").nth(3).wait_for()
        page.locator(".found li").nth(1).get_by_text("<img src=x").wait_for()
    assert page.locator("#main img, #main iframe, #main svg, #main script, #main a[href*=evil]").count() == 0
    assert page.evaluate("document.title").endswith("outlive")


def test_a_hostile_terminal_neither_types_nor_links_nor_names_the_page(tab: Tab, ui: Ui, cli: Cli, work: Path) -> None:
    (work / "evil.txt").write_text("\n".join(HOSTILE) + "\n", encoding="utf-8")
    script = "read go; cat evil.txt; printf '\\033[c'; read x; printf '%s' \"$x\" | grep -o '\\[?' | wc -l; sleep 600"
    words = ("--pty", "--snapshot-after", "0", "--title", "innocent")
    job = cli.ok("run", *words, "--", "sh", "-c", script)["job_id"]
    open_job(tab, ui, job)
    page = tab.page
    page.get_by_role("button", name="Take the keyboard").click()
    page.keyboard.press("Enter")
    # Two questions, one of them in the file: the supervisor answers both, and the page none
    until(lambda: (page.locator(".xterm-rows").text_content() or "").count("^[[?") == 2)  # as they are echoed
    page.keyboard.press("Enter")
    until(lambda: "2" in [line.strip() for line in cli.ok("screen", job)["lines"]])
    assert page.locator("#main a[href*=evil]").count() == 0
    assert page.title().endswith("innocent · outlive")


# --- all day ---------------------------------------------------------------------------------------------------------


def test_the_keys_are_shown(tab: Tab) -> None:
    tab.page.get_by_text("No jobs yet").wait_for()
    tab.page.keyboard.press("?")
    tab.page.get_by_role("dialog").get_by_text("this help").wait_for()
    tab.page.keyboard.press("Escape")
    until(lambda: tab.page.get_by_role("dialog").count() == 0)


@pytest.fixture(scope="module")
def axe() -> str:
    folder = npm.CACHE / AXE.replace("@", "-")
    try:
        npm.keep(folder, ["install", "--no-save", AXE])
    except npm.Unavailable as reason:
        pytest.skip(str(reason))
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_axe_finds_nothing_and_the_page_is_drawn(
    chrome: Any, ui: Ui, axe: str, place: Path, start: Any, finish: Any, cli: Cli, dark: bool, width: int
) -> None:
    finish("for i in $(seq 1 400); do echo \"[$i/400] compiling module_$i.c\"; done; echo 'warning: unused variable' >&2; "
           "echo \"error: undefined reference to 'foo'\" >&2; exit 2", "--title", "build the wheel", "--tag", "ci.build")  # fmt: skip
    finish("printf '\\033[32m212 passed\\033[0m in 48.1 s\\n'", "--title", "pytest -q", "--tag", "ci.test")
    job = start(
        "i=0; while [ $i -lt 40 ]; do i=$((i+1)); printf 'epoch %d \\033[32mloss 0.%d\\033[0m\\n' $i $((900-i*7)); done; sleep 600",
        "--title",
        "train the model",
        "--tag",
        "ml",
    )
    pty = cli.ok("run", "--pty", "--snapshot-after", "0", "--title", "python shell", "--", "python3", "-q")["job_id"]
    tab = Tab(chrome, dark=dark, width=width, height=800 if width > 500 else 844)
    page = tab.page
    tab.open(ui.new_link())
    name = f"{'dark' if dark else 'light'}{'' if width > 500 else '-phone'}"
    try:
        until(lambda: page.locator(".row").count() == 4 and page.get_by_text("waits for input").count())
        found = [("list", _axe(page, axe))]
        tab.shot(f"list-{name}", place)
        open_job(tab, ui, job)
        until(lambda: rows(tab)[-1:] and rows(tab)[-1].startswith("epoch 40"))
        page.locator("#search").fill("loss 0.7")
        page.locator(".found li").first.wait_for()
        found.append(("job", _axe(page, axe)))
        tab.shot(f"job-{name}", place)
        open_job(tab, ui, pty)
        until(lambda: ">>>" in (page.locator(".xterm-rows").text_content() or ""))
        found.append(("terminal", _axe(page, axe)))
        tab.shot(f"terminal-{name}", place)
        tab.open(f"{ui.page}/timeline")
        page.locator(".lane").nth(3).wait_for()
        found.append(("timeline", _axe(page, axe)))
        tab.shot(f"timeline-{name}", place)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, "nothing stands out of the window"
    finally:
        tab.close()
    assert "\n".join(f"{where}: {one}" for where, some in found for one in some) == ""
    assert not tab.wrong


def _axe(page: Any, source: str) -> list[str]:
    """What axe finds, targets that are too small too."""
    page.evaluate(source)
    found = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })"
    )
    return [
        f"{one['id']}: {node['html'][:150]} {node['failureSummary'][:200]}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]
