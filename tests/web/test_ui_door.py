"""Who is let in to the page, and what is turned away."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from outlive.store.root import Store
from outlive.web.sessions import LINK_S, SESSION_S, Sessions
from support import http
from support.cli import Cli
from support.ui import Browser, Ui, key_in

ELSEWHERE = "http://evil.example"


def get(ui: Ui, path: str, **headers: str) -> httpx2.Response:
    with http.client() as client:
        return client.get(ui.base + path, headers=headers)


# --- the one-time link -----------------------------------------------------------------------------------------------


def test_the_link_lets_a_browser_in_once(ui: Ui) -> None:
    link = ui.new_link()
    with Browser(ui, link) as first:
        assert first.entered.status_code == 200 and first.key
        assert first.call("jobs")["jobs"] == []
    with Browser(ui, link) as second:
        assert second.entered.status_code == 403 and not second.key
        assert second.post("jobs", x_outlive_key="guess").status_code == 401


def test_a_browser_that_is_in_already_gets_the_page_for_a_used_link(ui: Ui) -> None:
    link = ui.new_link()
    with Browser(ui, link) as browser:
        again = browser.get(link.removeprefix(ui.base))
        assert (again.status_code, again.headers["location"]) == (303, "../")


def test_a_program_that_looks_where_a_link_leads_does_not_use_it_up(ui: Ui) -> None:
    link = ui.new_link()
    with http.client() as client:
        assert client.head(link).status_code == 200
    with Browser(ui, link) as browser:
        assert browser.call("jobs")["ok"]


def test_the_cookie_is_for_this_page_alone(ui: Ui) -> None:
    with Browser(ui, ui.new_link()) as browser:
        words = {word.strip().lower() for word in browser.entered.headers["set-cookie"].split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} <= words
        assert not any(word.startswith("domain") for word in words)


def test_a_link_expires(root: Path) -> None:
    with Clock(root) as clock:
        link = clock.sessions.new_link()
        clock.now += LINK_S + 1
        assert clock.sessions.use_link(link) is None


def test_a_session_expires(root: Path) -> None:
    with Clock(root) as clock:
        opened = clock.sessions.use_link(clock.sessions.new_link())
        assert opened is not None and clock.sessions.match(*opened)
        clock.now += SESSION_S + 1
        assert clock.sessions.match(*opened) is None


def test_a_session_needs_both_of_its_secrets(root: Path) -> None:
    with Clock(root) as clock:
        one, other = (clock.sessions.use_link(clock.sessions.new_link()) for _ in range(2))
        assert one is not None and other is not None
        assert clock.sessions.match(one.cookie, one.key)
        assert not clock.sessions.match(one.cookie, other.key)
        assert not clock.sessions.match(other.key, one.cookie)


def test_no_secret_is_on_the_disk_and_no_other_user_reads_the_file(root: Path) -> None:
    with Clock(root) as clock:
        link = clock.sessions.new_link()
        opened = clock.sessions.use_link(clock.sessions.new_link())
        assert opened is not None
        text = (root / ".ui.json").read_text()
        assert not any(secret in text for secret in (link, *opened))
        assert stat.S_IMODE((root / ".ui.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"format":1,"links":[1],"sessions":[]}', b"\0" * 100])
def test_a_spoilt_file_lets_nobody_in_and_is_replaced(root: Path, content: bytes) -> None:
    with Clock(root) as clock:
        opened = clock.sessions.use_link(clock.sessions.new_link())
        assert opened is not None
        (root / ".ui.json").write_bytes(content)
        assert clock.sessions.match(*opened) is None
        assert clock.sessions.use_link(clock.sessions.new_link())


class Clock:
    """The sessions of a root, at a time that a test sets."""

    def __init__(self, root: Path) -> None:
        self.now = 1_000_000.0
        self._store = Store.open(str(root), {})
        self.sessions = Sessions(self._store, now=lambda: self.now)

    def __enter__(self) -> Clock:
        return self

    def __exit__(self, *exc: object) -> None:
        self._store.close()


# --- without a session -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/job/01J00000000000000000000000", "/timeline"])
def test_a_stranger_gets_the_empty_page_without_a_key(ui: Ui, path: str) -> None:
    answer = get(ui, path)
    assert answer.status_code == 401 and not key_in(answer.text)


def test_the_cookie_alone_gives_no_key(browser: Browser) -> None:
    """A server on another port of this machine is sent the cookie too."""
    answer = browser.get("/")
    assert answer.status_code == 200 and not key_in(answer.text)


METHODS = ["process", "jobs", "rows", "terminal", "approve", "deny", "ticket", "logout", "no-such"]


@pytest.mark.parametrize("method", METHODS)
def test_no_method_answers_without_the_key(browser: Browser, method: str) -> None:
    for key in ("", "wrong", browser.cookie):
        answer = browser.post(method, x_outlive_key=key)
        assert answer.status_code == 401
        assert "outlive ui" in answer.json()["error"]["hint"]


@pytest.mark.parametrize("method", METHODS)
def test_no_method_answers_without_the_cookie(ui: Ui, browser: Browser, method: str) -> None:
    with http.client() as client:
        headers = {"x-outlive-key": browser.key, "content-type": "application/json"}
        assert client.post(f"{ui.base}/api/{method}", content="{}", headers=headers).status_code == 401


def test_a_browser_that_logged_out_is_a_stranger(browser: Browser) -> None:
    cookie = browser.cookie
    assert browser.call("logout")
    headers = {"x-outlive-key": browser.key, "content-type": "application/json", "cookie": f"outlive_ui={cookie}"}
    with http.client() as client:
        assert client.post(f"{browser.base}/api/jobs", content="{}", headers=headers).status_code == 401


# --- requests of other pages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [ELSEWHERE, "null", "http://127.0.0.1:1", "http://localhost:1", "file://"])
def test_a_page_of_another_origin_is_refused_even_with_both_secrets(browser: Browser, origin: str) -> None:
    assert browser.post("jobs", origin=origin).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_page_made_is_refused(browser: Browser, site: str) -> None:
    assert browser.post("jobs", origin="", sec_fetch_site=site).status_code == 403
    assert browser.post("jobs", sec_fetch_site="same-origin").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", ""])
def test_another_host_name_is_refused(browser: Browser, host: str) -> None:
    """DNS rebinding: a foreign page whose name leads to this machine."""
    for path in ("/", "/static/app.js"):
        assert browser.get(path, host=host).status_code in (400, 421)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_can_send_is_no_call(browser: Browser, kind: str) -> None:
    assert browser.post("jobs", content_type=kind).status_code == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_get_and_post_are_served(browser: Browser, method: str) -> None:
    with http.client() as client:
        answer = client.request(method, f"{browser.base}/api/jobs")
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_a_call_is_not_a_get(browser: Browser) -> None:
    assert browser.get("/api/jobs", **{"x-outlive-key": browser.key}).status_code == 405


def test_a_call_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.post("process", json.dumps({"data": "x" * 5_000_000})).status_code == 413


@pytest.mark.parametrize("body", ["", "[]", "1", "{", '"x"', "[" * 100_000])
def test_a_body_that_is_no_object_is_an_error_object(browser: Browser, body: str) -> None:
    answer = browser.post("rows", body)
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "invalid_argument"


# --- headers and files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/nothing", "/open/wrong", "/download/x", "/nothing"])
def test_every_answer_forbids_foreign_scripts_frames_and_guesses(ui: Ui, path: str) -> None:
    headers = get(ui, path).headers
    policy = {words[0]: words[1:] for words in (part.split() for part in headers["content-security-policy"].split(";"))}
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'"]
    assert policy["connect-src"] == ["'self'"]
    assert policy["frame-ancestors"] == ["'none'"]
    assert policy["require-trusted-types-for"] == ["'script'"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_the_page_has_no_script_and_no_style_of_its_own(ui: Ui) -> None:
    text = get(ui, "/").text
    assert "<script>" not in text and "<style" not in text and " on" not in text.partition("<body>")[2]
    assert "//" not in text.replace("<!doctype", "")  # nothing is loaded from elsewhere


@pytest.mark.parametrize(
    "path",
    ["../application.py", "..%2fapplication.py", "%2e%2e/application.py", "vendor/../../api.py", "/etc/passwd", ".", ""]
    + ["page.html", "vendor", "app.js/", "\\..\\api.py", "x" * 5000],
)
def test_only_files_of_the_page_are_served(ui: Ui, path: str) -> None:
    answer = get(ui, f"/static/{path}")
    assert answer.status_code in (404, 400, 414, 431)


def test_a_file_is_sent_again_only_when_it_has_changed(ui: Ui) -> None:
    first = get(ui, "/static/app.js")
    assert first.status_code == 200 and first.headers["content-type"].startswith("text/javascript")
    assert get(ui, "/static/app.js", **{"if-none-match": first.headers["etag"]}).status_code == 304


# --- the server ------------------------------------------------------------------------------------------------------


@pytest.fixture
def start(place: Path) -> Callable[..., Ui]:
    return lambda **how: Ui(place / "own-ui.log", **how)


def test_a_second_ui_makes_a_link_to_the_first(start: Callable[..., Ui], cli: Cli) -> None:
    with start() as ui:
        answer = cli.ok("ui", "--no-open")
        assert not answer["serves"] and answer["url"].startswith(ui.base) and answer["url"] != ui.link
        with Browser(ui, answer["url"]) as browser:
            assert browser.call("jobs")["root"] == answer["root"]


def test_a_browser_stays_in_when_the_server_is_killed_and_started_again(start: Callable[..., Ui]) -> None:
    with start() as first:
        browser = Browser(first)
        first.process.kill()
        first.process.wait()
    with browser, start(port=None) as second:
        assert second.base == first.base, "the port of the last time is free"
        assert browser.call("jobs")["ok"]


def test_a_port_that_is_taken_is_an_error_where_it_was_asked_for(
    start: Callable[..., Ui], serve: Callable[..., object], cli: Cli
) -> None:
    served = serve()
    error = cli.error("ui", "--no-open", "--port", str(served.address[1]), code="io_error")  # type: ignore[attr-defined]
    assert "port" in error["hint"]
