"""The view of a job in a real host: the official AppBridge, in Chromium, over a server on stdio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.extension import advertise

from conformance import npm
from outlive.parts.page.chat import declaration
from support.app_host import AppHost
from support.chromium import IS_FIREFOX, Tab
from support.hostile import HOSTILE
from support.mcp_client import BOUND_S, McpSession
from support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("era", ["modern"], indirect=True)]
SHOWS_VIEWS = advertise(declaration.EXTENSION, {"mimeTypes": [declaration.MIME_TYPE]})
ALL: dict[str, Any] = {"serverTools": {}}
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
        self.view = self.page.frame_locator("iframe[title]")

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


# --- attacked --------------------------------------------------------------------------------------------------------


OUTSIDE = "the view of another job"
FORGED = f"""
const messages = [
  {{ method: "ui/notifications/tool-result", params: {{ content: [{{ type: "text", text: "{OUTSIDE}" }}] }} }},
  {{ method: "ui/notifications/host-context-changed", params: {{ theme: "dark", displayMode: "fullscreen" }} }},
  {{ method: "ui/notifications/tool-cancelled", params: {{ reason: "{OUTSIDE}" }} }},
  {{ id: 1, method: "ui/resource-teardown", params: {{}} }},
  ...Array.from({{ length: 60 }}, (_, id) => ({{ id, result: {{ structuredContent: {{ ok: true, job_id: "{OUTSIDE}", rows: [] }} }} }})),
];
for (const message of messages) target.postMessage({{ jsonrpc: "2.0", ...message }}, "*");
"""


def settled(chat: Chat) -> None:
    """Wait until the view has taken every message that was sent to it so far: it answers in their order."""
    ping = """() => new Promise((done) => {
      const frame = document.querySelector("iframe").contentWindow, id = `ping ${Math.random()}`;
      addEventListener("message", (event) => event.source === frame && event.data?.id === id && done(1));
      frame.postMessage({ jsonrpc: "2.0", id, method: "ping" }, "*");
    })"""
    assert chat.page.evaluate(ping)


def test_messages_of_other_frames_and_windows_are_not_taken(chat: Chat, host: AppHost) -> None:
    chat.show(host, "exec", {"command": "echo mine; sleep 600", "background": True})
    until(lambda: chat.rows() == ["mine"])
    beside = f"""() => {{
      const frame = Object.assign(document.createElement("iframe"), {{ id: "beside" }});
      frame.srcdoc = `<script>const target = parent.frames[0]; {FORGED}; parent.document.title = "sent"</` + "script>";
      document.body.append(frame);
    }}"""
    chat.page.evaluate(beside)
    until(lambda: chat.page.title() == "sent")
    window = chat.context.new_page()
    try:
        with chat.page.expect_popup() as opened:
            chat.page.evaluate("() => { window.open('about:blank') }")
        opened.value.evaluate(f"() => {{ const target = opener.frames[0]; {FORGED} }}")
        inside = chat.page.frames[1]
        inside.evaluate(f"() => {{ const target = window; {FORGED} }}")  # from itself
        # Another page in the place of the host. Firefox takes no window of another origin for a source
        replaced = f"origin: 'http://evil.example', source: {'null' if IS_FIREFOX else 'parent'}"
        inside.evaluate(f"""() => {{
          const target = {{ postMessage: (data) => dispatchEvent(new MessageEvent("message", {{ data, {replaced} }})) }};
          {FORGED}
        }}""")
        settled(chat)
        assert chat.rows() == ["mine"]
        assert OUTSIDE not in chat.view.locator("main").inner_text()
        assert (
            inside.evaluate("document.documentElement.dataset.theme + document.documentElement.dataset.mode")
            == "lightinline"
        )
        chat.view.get_by_role("button", name="Kill").click()
        chat.view.get_by_role("button", name="Kill it now").click()
        chat.view.locator(".badge", has_text="killed").wait_for()
    finally:
        window.close()


MALFORMED = """[
  null, 1, "x", [], {}, { jsonrpc: "1.0", method: "ui/notifications/tool-result" }, { jsonrpc: "2.0" },
  ...[null, 7, {}, ["a"], "__proto__", "constructor", "toString"].map((method) => ({ jsonrpc: "2.0", id: 1, method })),
  ...[null, 7, "x", [], { __proto__: null }].flatMap((params) => ["tool-result", "tool-input", "tool-cancelled", "host-context-changed"]
    .map((name) => ({ jsonrpc: "2.0", method: `ui/notifications/${name}`, params }))),
  ...[{ content: null }, { content: 7 }, { content: [null, 7, { text: {} }] }, { isError: true, content: {} }, { structuredContent: 7 },
    { structuredContent: { jobs: [null, 7, {}] } }, { structuredContent: { jobs: [], type: "wait" } }, { structuredContent: { job_id: 7 } },
    { structuredContent: { job_id: {}, type: "run", output: {}, usage: 7, approval: { state: "pending" }, command: {}, queue: 7 } },
    { structuredContent: { error: 7 }, isError: true }, { structuredContent: { job_id: "x", type: "run", snapshot: 7, state: [], started_at: {} } },
    { _meta: { "outlive/answer": [] } }].map((params) => ({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params })),
  ...[{ styles: 7 }, { styles: { variables: "abc" } }, { styles: { variables: { "background-image": "url(/stolen)", "--x": {} } } },
    { availableDisplayModes: 7 }, { safeAreaInsets: "x" }, { theme: {}, displayMode: [] }]
    .map((params) => ({ jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params })),
  ...[{ error: 7 }, { error: { message: {} } }, { result: 7 }, {}].map((more) => ({ jsonrpc: "2.0", id: 2, ...more })),
]"""


def test_messages_that_make_no_sense_leave_the_view_whole(chat: Chat, host: AppHost) -> None:
    chat.show(host, "exec", {"command": "true"}, result={"content": []}, capabilities={})
    chat.page.evaluate(f"""() => {{
      const frame = document.querySelector("iframe").contentWindow;
      for (const message of {MALFORMED}) frame.postMessage(message, "*");
    }}""")
    settled(chat)
    assert chat.page.frames[1].evaluate("getComputedStyle(document.documentElement).backgroundImage") == "none"
    last = {"content": [{"type": "text", "text": "an answer that makes sense"}]}
    chat.page.evaluate("given => window.bridge.sendToolResult(given)", last)
    chat.view.get_by_text("an answer that makes sense").wait_for()


INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u202e\u2066\u2069\u3164\ufeff\uffa0\U000e0041\U000e0100\U0001d173"
)
MARKED = f"<img src=x onerror=alert(1)><a href='javascript:alert(2)'>x</a>{INVISIBLE}</script><svg onload=alert(3)>"


@pytest.mark.parametrize("kind", ["run", "list", "error"])
def test_no_field_of_an_answer_is_markup_or_hides_anything(chat: Chat, host: AppHost, kind: str) -> None:
    texts = ["name", "title", "command", "cwd", "owner", "prompt", "message", "host", "reason", "signal", "last_line", "output", "hint",
             "started_at", "finished_at", "machine", "unreachable_since"]  # fmt: skip
    job: dict[str, Any] = dict.fromkeys(texts, MARKED)
    job |= {"job_id": "01J00000000000000000000000", "tags": [MARKED], "approval": {"state": "pending", "rule": MARKED},
            "queue": {"state": MARKED, "reason": MARKED}, "engine": {"name": MARKED}, "usage": {"source": MARKED},
            "exit_code": MARKED, "command": [MARKED]}  # fmt: skip
    for state in ("created", "running", "exited", "killed", "failed", MARKED):
        told = {**job, "state": state, "waiting_for_input": True, "reachable": state != "created" and None}
        found = {"run": {"type": "run", **told}, "list": {"type": "list", "jobs": [told, told]}}.get(kind)
        error = {"structuredContent": {"error": {"message": MARKED, "hint": MARKED}}, "isError": True}
        result = {
            "content": [{"type": "text", "text": MARKED}],
            **(error if found is None else {"structuredContent": found}),
        }
        chat.show(host, "exec", {"command": MARKED}, result=result, capabilities={})
        chat.page.wait_for_function("window.answer")
        settled(chat)
        assert "<img src=x" in chat.view.locator("main").inner_text()
        assert chat.view.locator("main").locator("img, svg, script, iframe, [href], [onerror], [src]").count() == 0
        shown = chat.page.frames[1].evaluate(
            "document.documentElement.innerText + [...document.querySelectorAll('[title],[aria-label]')].map((one) => one.title + one.ariaLabel)"
        )
        assert not set(INVISIBLE) & set(shown)
        if kind != "error":  # names
            assert "\\u202e" in shown and "\\U000e0041" in shown
        if kind != "list":  # texts
            assert "⟨202E⟩" in shown and "⟨E0041⟩" in shown


def test_an_answer_of_any_size_is_drawn_in_bounds(chat: Chat, host: AppHost) -> None:
    long = "x" * 2_000_000
    job = {
        "job_id": "01J00000000000000000000000",
        "type": "run",
        "state": "exited",
        "exit_code": 0,
        "name": long,
        "prompt": long,
    }
    for output in (long, "line\n" * 400_000):
        result = {"content": [], "structuredContent": {**job, "output": output}}
        chat.show(host, "exec", {"command": "true"}, result=result, capabilities={})
        chat.page.wait_for_function("window.answer")
        settled(chat)
        frame = chat.page.frames[1]
        assert frame.evaluate("document.querySelectorAll('*').length") < 10_000
        assert frame.evaluate("document.documentElement.textContent.length") < 1_000_000
    jobs = [{**job, "name": f"job {number}", "prompt": ""} for number in range(20_000)]
    result = {"content": [], "structuredContent": {"type": "list", "jobs": jobs}}
    chat.show(host, "process", {"action": "list"}, result=result, capabilities={})
    chat.page.wait_for_function("window.answer")
    settled(chat)
    assert chat.page.frames[1].evaluate("document.querySelectorAll('*').length") < 10_000


def test_an_answer_about_another_job_is_shown_as_that_job(
    chat: Chat, host: AppHost, shared_session: McpSession
) -> None:
    """What a person does in the view goes to the job that it names."""
    mine = shared_session.ok("exec", command="sleep 600", background=True, title="mine")["job_id"]
    other = shared_session.ask(
        lambda client: client.call_tool("exec", {"command": "sleep 601", "background": True, "title": "other"})
    )
    result = other.model_dump(mode="json", by_alias=True, exclude_none=True)
    chat.show(host, "exec", {"command": "sleep 600", "title": "mine"}, result=result)
    chat.view.locator(".top .name", has_text="other").wait_for()
    chat.view.get_by_role("button", name="Kill").click()
    chat.view.get_by_role("button", name="Kill it now").click()
    chat.view.locator(".badge", has_text="killed").wait_for()
    assert shared_session.ok("process", action="status", job_id=mine)["state"] == "running"
    shared_session.ok("process", action="kill", job_id=mine)
