"""Another program at the address of the page, in a real browser: what it is sent, shows and leaves behind."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab
from support.cli import Cli
from support.ui import Ui
from support.wait import until as so_within

pytestmark = pytest.mark.slow
until = partial(so_within, timeout=60)
TYPED = "correct-horse-battery"
WORKER = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith(new Response("<title>stolen</title>", { headers: { "content-type": "text/html" } })));
"""
PAGE = """<title>owned</title><script type="module">
await import("/static/app.js");
localStorage.setItem("outlive-key:/", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
document.cookie = "outlive_ui=tossed; path=/";
navigator.serviceWorker.register("/sw.js", { scope: "/" }).then(() => navigator.serviceWorker.ready).then(() => { document.title = "settled"; });
</script>"""


class Impostor:
    """A program of another user at a port. `answer(path)` returns status, kind and body of what it answers to a POST."""

    def __init__(self, port: int, answer: Callable[[str], tuple[int, str, bytes]]) -> None:
        self.seen: list[bytes] = []
        impostor = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                impostor.seen.append(f"{self.path} {self.headers}".encode())
                if self.path == "/sw.js":
                    self.give(200, "text/javascript", WORKER.encode())
                elif self.path.startswith("/static/"):  # kept for ever, if the browser believes it
                    self.give(200, "text/javascript", b"document.title = 'poisoned'")
                else:
                    self.give(200, "text/html", b"" if self.path == "/plain" else PAGE.encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                impostor.seen.append(f"{self.path} {self.headers}".encode() + body)
                self.give(*answer(self.path))

            def give(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                about = {"content-type": kind, "content-length": str(len(body)), "service-worker-allowed": "/"}
                for name, value in {**about, "cache-control": "public, max-age=31536000, immutable"}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Impostor:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def tab(chrome: Any) -> Iterator[Tab]:
    found = Tab(chrome)
    yield found
    found.close()


@contextlib.contextmanager
def typing_into(tab: Tab, ui: Ui, cli: Cli) -> Iterator[None]:
    """A page that holds the keyboard of a job."""
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "--", "cat")["job_id"]
    tab.open(ui.link)
    tab.page.locator(".row").click()
    tab.page.get_by_role("button", name="Take the keyboard").click()
    tab.page.keyboard.type("hello\n")
    until(lambda: "hello" in (tab.page.locator(".xterm-rows").text_content() or ""))
    try:
        yield
    finally:
        cli.ok("remove", job, "--grace-ms", "0")


FORGED = json.dumps(
    {"ok": True, "type": "ui.terminal", "data": "", "size": [80, 24], "next_seq": 0, "mine": True}
).encode()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, "application/octet-stream"), (200, "application/json"), (401, "application/json"), (403, "text/plain")],
)
def test_a_program_that_takes_the_servers_place_reads_nothing_and_is_noticed(
    chrome: Any, tab: Tab, place: Path, cli: Cli, status: int, kind: str
) -> None:
    with Ui(place / "own.log") as ui, typing_into(tab, ui, cli):
        key = tab.page.evaluate("localStorage.getItem('outlive-key:/')")
        assert len(key) == 43
        ui.process.kill()
        ui.process.wait()
        with Impostor(ui.port, lambda path: (status, kind, FORGED)) as impostor:
            tab.page.keyboard.type(TYPED)
            if status != 403:
                tab.page.get_by_role("heading", name="The server of this page has ended").wait_for()
                assert tab.page.locator("code", has_text="outlive ui").count() == 1
                tab.page.keyboard.type(TYPED)
                assert tab.page.locator(".xterm").count() == 0, "there is nothing left to type into"
            else:
                until(lambda: len(impostor.seen) > 3)
            seen = b"".join(impostor.seen)
        assert seen.count(b"POST") + seen.count(b"/api/") > 0, "it was asked"
        for secret in (TYPED.encode(), key.encode(), b"correct", b"type"):
            assert secret not in seen.replace(b"content-type", b"").replace(b"Content-Type", b"")
        assert b"cookie" not in seen.lower()


def test_a_page_whose_server_is_down_says_which_command_opens_a_new_one(tab: Tab, place: Path) -> None:
    with Ui(place / "own.log") as ui:
        tab.open(ui.link)
        tab.page.get_by_text("No jobs yet").wait_for()
        ui.process.kill()
        ui.process.wait()
        tab.page.get_by_text("run outlive ui").wait_for()
    with Ui(place / "own.log", port=ui.port) as again:
        assert again.page != ui.page
        tab.page.get_by_text("no connection to the server").wait_for()  # its name means nothing to the new server
        tab.open(again.link)
        tab.page.get_by_text("No jobs yet").wait_for()
        assert tab.page.url == f"{again.page}/", "the secret does not stay in the address"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "0123456789abcdef.localhost"])
def test_what_a_program_at_the_same_port_left_in_the_browser_is_not_the_next_pages(
    tab: Tab, place: Path, name: str
) -> None:
    """A service worker would serve the page of every later server; a script in the cache would be part of it."""
    with Ui(place / "own.log") as ui:
        port = ui.port
    with Impostor(port, lambda path: (404, "text/plain", b"")) as impostor:
        tab.page.goto(f"http://{name}:{port}/")
        until(lambda: tab.page.title() == "settled")
        assert any(b"/static/app.js" in one for one in impostor.seen)
    with Ui(place / "own.log", port=port) as again:
        tab.page.goto(f"http://{name}:{port}/")
        assert tab.page.title() == "stolen", "its service worker lives"
        tab.open(again.link)
        tab.page.get_by_text("No jobs yet").wait_for()
        assert tab.page.title() == "outlive"
        assert tab.page.evaluate("navigator.serviceWorker.controller") is None
        assert tab.page.evaluate("document.cookie") == ""


def test_nothing_is_loaded_after_the_page_itself(tab: Tab, place: Path, cli: Cli) -> None:
    """A script that is loaded later may come from another program."""
    with Ui(place / "own.log") as ui:
        tab.open(ui.link)
        tab.page.get_by_text("No jobs yet").wait_for()
        before = len(tab.asked)
        with typing_into(tab, ui, cli):
            later = [address for address in tab.asked[before:] if "/api/" not in address and "#link" not in address]
        assert not [address for address in later if address.endswith((".js", ".mjs", ".css"))]


def test_other_pages_cannot_frame_open_or_ask_the_page(tab: Tab, place: Path) -> None:
    with Ui(place / "own.log") as ui, Impostor(0, lambda path: (404, "text/plain", b"")) as other:
        tab.open(ui.link)
        tab.page.get_by_text("No jobs yet").wait_for()
        page = tab.context.new_page()  # with the storage and the cookies of the person
        page.goto(f"http://127.0.0.1:{other._server.server_port}/plain")
        script = """async (address) => {
          const found = [];
          for (const [path, how] of [["/", {}], ["/api/tab", { method: "POST", body: "{}" }], ["/api/call", { method: "POST", body: "x" }],
              ["/api/tab", { method: "POST", body: "{}", headers: { "content-type": "application/json" } }]]) {
            try { found.push((await fetch(address + path, { ...how, credentials: "include" })).status); } catch (error) { found.push(error.name); }
            try { found.push((await fetch(address + path, { ...how, mode: "no-cors" })).type); } catch (error) { found.push(error.name); }
          }
          const frame = document.createElement("iframe");
          const loaded = new Promise((done) => { frame.onload = done; });
          frame.src = address + "/";
          document.body.append(frame);
          await loaded;
          let inside = "";
          try { inside = frame.contentWindow.document.title; } catch (error) { inside = error.name; }
          return [found, inside];
        }"""
        answers, inside = page.evaluate(script, ui.page)
        assert set(answers) <= {"TypeError", "opaque"}, answers  # nothing of an answer is readable
        assert inside == "SecurityError"
        assert not any("outlive" in (frame.title() or "") for frame in page.frames[1:])
