"""The view of a job in a real host: the official AppBridge, in Chromium, over a server on stdio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.extension import advertise

from conformance import npm
from outlive.mcp.apps import declaration
from support.app_host import AppHost
from support.chromium import Tab
from support.hostile import HOSTILE
from support.mcp_client import BOUND_S, McpSession
from support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("era", ["modern"], indirect=True)]
SHOWS_VIEWS = advertise(declaration.EXTENSION, {"mimeTypes": [declaration.MIME_TYPE]})
ALL = {"serverTools": {}}
BUILD = r"""
printf '[1/7] fetching sources\n[2/7] configuring\n'
printf '\033[33mwarning:\033[0m option --fast is deprecated\n' >&2
printf '[3/7] compiling 412 files\n'
printf '\033[32m%s\033[0m\n' '  412 compiled, 0 failed'
printf '[4/7] linking\n'
sleep 600
"""


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    return {"extensions": [SHOWS_VIEWS], "detail": None}


@pytest.fixture
def host(shared_session: McpSession) -> Iterator[AppHost]:
    try:
        packages = npm.installed().folder
    except npm.Unavailable as reason:
        pytest.skip(str(reason))
    found = shared_session.ask(lambda client: client.read_resource(declaration.VIEW_URI)).contents[0]
    assert found.mime_type == declaration.MIME_TYPE

    def call(name: str, given: dict[str, Any]) -> dict[str, Any]:
        answer = shared_session.ask(lambda client: client.call_tool(name, given, read_timeout_seconds=BOUND_S))
        result: dict[str, Any] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        return result

    with AppHost(packages, found.text, call) as made:
        yield made


class Chat(Tab):
    """A chat with one tool call in it, and the view of its answer."""

    view: Any

    def show(self, host: AppHost, name: str, given: dict[str, Any], **how: Any) -> None:
        about = {"theme": "light", "capabilities": ALL, "modes": ["inline", "fullscreen"], "refuses": [], **how}
        self.open(host.url)
        self.page.wait_for_function("window.ready")
        self.page.evaluate("given => { window.shown = window.show(given) }", {**about, "name": name, "given": given})
        self.page.wait_for_function("window.loaded")  # until then a look into the frame may meet the page before it
        self.view = self.page.frame_locator("iframe")

    def called(self) -> list[str]:
        """What the view has asked, as `rows`, `process kill`."""
        script = (
            "window.calls.map(({ arguments: { method, given } }) => [method, given?.action ?? ''].join(' ').trim())"
        )
        found: list[str] = self.page.evaluate(script)
        return found

    def height(self) -> float:
        """The height of the view, if the view and its host have drawn twice without another one; else 0."""
        before = self.page.locator("iframe").bounding_box()["height"]
        for frame in reversed(self.page.frames):
            frame.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        found: float = self.page.locator("iframe").bounding_box()["height"]
        return found if found == before else 0

    def rows(self) -> list[str]:
        found: list[str] = self.view.locator(".line .text").all_text_contents()
        return found


@pytest.fixture
def chat(chrome: Any, host: AppHost) -> Iterator[Chat]:
    found = Chat(chrome, width=760, height=640)
    yield found
    found.close()
    assert not found.wrong, "\n".join(found.wrong)
    assert all(address.startswith((host.url, host.view_url, "data:")) for address in found.asked), found.asked


def test_a_job_is_shown_live_from_its_beginning_to_its_exit_code(chat: Chat, host: AppHost, work: Path) -> None:
    command = "echo one; while [ ! -e go ]; do sleep .1; done; echo two; exit 3"
    chat.show(host, "exec", {"command": command, "workdir": str(work), "yield_ms": 50_000})
    until(lambda: chat.rows() == ["one"])
    assert chat.page.evaluate("window.answer === undefined"), "the tool has not answered yet"
    (work / "go").touch()
    chat.view.locator(".badge", has_text="exit 3").wait_for()
    until(lambda: chat.rows() == ["one", "two"])
    chat.page.wait_for_function("window.answer")
    assert chat.rows() == ["one", "two"], "the answer changes nothing of what is shown already"
    asked = chat.called()
    until(lambda: chat.page.evaluate("window.sizes.at(-1) === document.querySelector('iframe').clientHeight"))
    assert chat.called() == asked, "a job that is over is not asked about again"


def test_colours_and_long_output_are_shown_and_the_rest_in_the_whole_window(chat: Chat, host: AppHost) -> None:
    command = "seq -f 'line %g' 1000; printf '\\033[31mred\\033[0m\\n'; echo wrong >&2"
    chat.show(host, "exec", {"command": command})
    chat.view.get_by_text("1,002 lines").wait_for()
    until(lambda: set(chat.rows()[-2:]) == {"red", "wrong"})
    assert chat.view.locator(".fg-1").text_content() == "red"
    assert chat.view.locator(".line.stderr .text").text_content() == "wrong"
    assert len(chat.rows()) < 40
    few = until(chat.height, what="a height that stays")
    assert few < 500, "a view in a chat is not as long as its output"
    chat.view.get_by_role("button", name="Whole window").click()
    until(lambda: chat.page.locator("iframe").bounding_box()["height"] == 640)
    chat.view.locator(".rows").hover()
    chat.page.mouse.wheel(0, -100_000)
    until(lambda: chat.rows()[:1] == ["line 1"])
    chat.view.get_by_role("button", name="Into the chat").click()
    until(lambda: chat.page.locator("iframe").bounding_box()["height"] == few)


def test_a_person_kills_a_job_and_the_model_is_told(chat: Chat, host: AppHost, shared_session: McpSession) -> None:
    chat.show(host, "exec", {"command": "sleep 600", "background": True})
    chat.view.get_by_role("button", name="Kill").click()
    chat.view.get_by_role("button", name="Keep it").click()
    chat.view.get_by_role("button", name="Kill").click()
    assert "process kill" not in chat.called()
    chat.view.get_by_role("button", name="Kill it now").click()
    chat.view.locator(".badge", has_text="killed").wait_for()
    assert chat.called().count("process kill") == 1
    job = chat.page.evaluate("window.answer.structuredContent.job_id")
    (notice,) = shared_session.ok("exec", command="true")["notices"]
    assert (notice["job_id"], notice["state"], notice["reason"]) == (job, "killed", "kill")


def test_what_a_job_prints_and_is_called_is_text(chat: Chat, host: AppHost, work: Path) -> None:
    (work / "evil.txt").write_text("\n".join(HOSTILE) + "\n", encoding="utf-8")
    chat.show(host, "exec", {"command": "cat evil.txt", "workdir": str(work), "title": HOSTILE[0]})
    chat.view.get_by_role("button", name="Whole window").click()
    until(lambda: HOSTILE[1] in chat.rows())
    assert chat.view.locator(".top .name").text_content() == HOSTILE[0]
    assert chat.view.locator("a[href], iframe, img, main script").count() == 0
    given = {"command": HOSTILE[0], "background": True}
    result = {"content": [{"type": "text", "text": HOSTILE[1]}], "isError": True}
    chat.show(host, "exec", given, result=result)
    chat.view.get_by_text(HOSTILE[1]).wait_for()
    assert chat.view.locator("img").count() == 0


def test_a_host_without_calls_shows_the_answer_and_says_so(chat: Chat, host: AppHost) -> None:
    chat.show(host, "exec", {"command": "echo given; exit 4"}, capabilities={})
    chat.view.get_by_text("This host does not let the view ask outlive").wait_for()
    chat.view.locator(".badge", has_text="exit 4").wait_for()
    assert chat.view.locator(".given").text_content() == "given"
    assert chat.called() == []


def test_a_host_that_refuses_a_call_is_quoted(chat: Chat, host: AppHost) -> None:
    chat.show(host, "exec", {"command": "echo on; sleep 600", "background": True}, refuses=["job_control"])
    chat.view.get_by_role("button", name="Kill").click()
    chat.view.get_by_role("button", name="Kill it now").click()
    said = chat.view.get_by_text("The host does not allow this: ")
    said.wait_for()
    assert "A person has to allow this" in str(said.text_content())
    until(lambda: chat.rows() == ["on"])
    chat.show(host, "exec", {"command": "echo off; sleep 600", "until": ["output"]}, refuses=["job_view"])
    chat.view.get_by_text("This host does not let the view ask outlive").wait_for()
    assert chat.view.locator(".given").text_content() == "off"
    assert chat.view.get_by_role("button", name="Kill").count() == 0


def test_a_terminal_is_drawn_and_typed_into(chat: Chat, host: AppHost) -> None:
    script = "stty size; printf 'name? '; read name; echo hello $name; sleep 600"
    chat.show(host, "exec", {"command": script, "pty": True, "background": True})
    screen = chat.view.locator(".xterm-rows")
    until(lambda: "name?" in str(screen.text_content()))
    frame = chat.page.locator("iframe").bounding_box()["width"]
    until(lambda: 0 < chat.view.locator(".xterm-screen").bounding_box()["width"] <= frame)
    chat.page.keyboard.type("nothing")
    chat.view.get_by_role("button", name="Take the keyboard").click()
    chat.page.keyboard.type("world")
    chat.page.keyboard.press("Enter")
    until(lambda: "hello world" in str(screen.text_content()))


def test_a_question_of_a_job_is_answered(chat: Chat, host: AppHost) -> None:
    command = "printf 'password: '; read word; echo got $word"
    chat.show(host, "exec", {"command": command, "stdin": "open", "background": True})
    field = chat.view.get_by_label("Answer")
    chat.view.locator(".answer", has_text="password:").wait_for()
    field.fill("sesame")
    field.press("Enter")
    chat.view.locator(".badge", has_text="done").wait_for()
    until(lambda: chat.rows()[-1:] == ["password: got sesame"])


def test_an_answer_about_a_job_is_one_line_until_it_is_opened(
    chat: Chat, host: AppHost, shared_session: McpSession
) -> None:
    job = shared_session.ok("exec", command="echo before")["job_id"]
    chat.show(host, "process", {"action": "poll", "job_id": job})
    chat.view.locator(".badge", has_text="done").wait_for()
    assert chat.rows() == []
    assert "rows" not in chat.called()
    chat.view.get_by_role("button", name="Show").click()
    until(lambda: chat.rows() == ["before"])
    shared_session.ok("exec", command="exit 5", title="another")
    chat.show(host, "process", {"action": "list"})
    chat.view.get_by_role("button", name="another").click()
    chat.view.locator(".badge", has_text="exit 5").wait_for()
    chat.view.get_by_role("button", name="All jobs").click()
    chat.view.get_by_role("button", name="echo before").wait_for()


def test_a_job_that_was_deleted_is_shown_as_it_was_answered(
    chat: Chat, host: AppHost, shared_session: McpSession
) -> None:
    answer = shared_session.ask(lambda client: client.call_tool("exec", {"command": "echo then"}))
    result = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    shared_session.ok("process", action="remove", job_id=result["structuredContent"]["job_id"])
    chat.show(host, "exec", {"command": "echo then"}, result=result)
    chat.view.get_by_text("This job was deleted meanwhile").wait_for()
    assert chat.view.locator(".given").text_content() == "then"


def test_the_view_has_the_theme_of_its_host_and_stops_when_it_is_taken_away(chat: Chat, host: AppHost) -> None:
    variables = {"--font-mono": "monospace"}
    command = "echo on; sleep 600"
    chat.show(host, "exec", {"command": command, "background": True}, theme="dark", variables=variables)
    colour = "getComputedStyle(document.querySelector('main')).backgroundColor"
    until(lambda: chat.rows() == ["on"])
    frame = chat.page.frames[1]
    assert frame.evaluate(colour) == "rgb(16, 22, 20)"
    assert frame.evaluate("getComputedStyle(document.documentElement).colorScheme") == "normal"
    assert frame.evaluate("getComputedStyle(document.querySelector('.rows')).fontFamily") == "monospace"
    chat.page.evaluate("window.turn('light')")
    until(lambda: frame.evaluate(colour) == "rgb(255, 255, 255)")
    asked = len(chat.called())
    until(lambda: chat.called()[-1] == "rows" and len(chat.called()) > asked)  # a long poll that has just begun
    chat.page.evaluate("window.end()")
    until(lambda: chat.page.evaluate("window.cancelled.length"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_view_is_drawn(chat: Chat, host: AppHost, work: Path, tmp_path: Path, theme: str) -> None:
    (work / "build.sh").write_text(BUILD, encoding="utf-8")
    given = {"command": "sh build.sh", "workdir": str(work), "title": "build", "background": True}
    chat.show(host, "exec", given, theme=theme)
    chat.page.set_viewport_size({"width": 750, "height": 300})
    until(lambda: "[4/7] linking" in chat.rows())
    chat.view.get_by_text("processes").wait_for()
    assert chat.shot(f"in-a-chat-{theme}", tmp_path).stat().st_size > 5_000
