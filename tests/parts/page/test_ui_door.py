"""Who is let in to the page, and what is turned away."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from cryptography.exceptions import InvalidTag

from outlive.errors import OutliveError
from outlive.parts.page import peers, program
from outlive.parts.page.sealing import Numbers
from outlive.parts.page.sessions import LINK_S, Foreign, LinkKind, Sessions
from support import http
from support.cli import Cli, configured
from support.serve import Served
from support.ui import Browser, NotLetIn, Sealed, Ui, decoded, exchanged, name_of
from support.wait import until

ELSEWHERE = "http://evil.example"


def get(ui: Ui, path: str, **headers: str) -> httpx2.Response:
    with http.client() as client:
        return client.get(ui.base + path, headers=headers)


# --- the one-time link -----------------------------------------------------------------------------------------------


def test_the_link_lets_a_browser_in_once(ui: Ui) -> None:
    link = ui.new_link()
    with Browser(ui, link) as first:
        assert first.call("jobs")["jobs"] == []
    with pytest.raises(NotLetIn, match="401"):
        Browser(ui, link)


def test_the_secret_of_a_link_is_where_browsers_send_it_to_no_server(ui: Ui) -> None:
    address, mark, secret = ui.new_link().partition("#link=")
    assert address == f"{ui.page}/" and mark and len(decoded(secret)) == 32


def test_a_link_that_was_used_says_nothing_of_the_session(ui: Ui) -> None:
    """It stays in the history of a browser."""
    with Browser(ui, ui.new_link()) as browser:
        assert browser.keys is not None
        for secret in (browser.link, name_of(browser.link).encode()):
            with pytest.raises(NotLetIn, match="401"):
                exchanged(browser.ask, "tab", "session", secret)


def test_a_program_that_looks_where_a_link_leads_does_not_use_it_up(ui: Ui) -> None:
    link = ui.new_link()
    with http.client() as client:
        assert client.head(ui.base).status_code == 200
    with Browser(ui, link) as browser:
        assert browser.call("jobs")["ok"]


def test_a_link_expires() -> None:
    now = 1_000_000.0
    sessions = Sessions(now=lambda: now)
    link = name_of(decoded(sessions.new_link()))
    now += LINK_S + 1
    assert sessions.use_link(link, b"", lambda: True) is None


def test_a_link_that_a_browser_was_started_with_is_not_for_other_users() -> None:
    """Everyone sees the command line of a browser."""
    sessions = Sessions()
    link = name_of(decoded(sessions.new_link(LinkKind(own=True))))
    with pytest.raises(Foreign):
        sessions.use_link(link, b"", lambda: False)
    assert sessions.use_link(link, b"", lambda: True), "it is not used up by who may not use it"


def test_the_kernel_says_whose_a_connection_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        here, there = server.getsockname(), client.getsockname()
        assert peers.user_at(there, here) == os.geteuid()
        child = os.fork()
        assert peers.user_at((there[0], 1), here) is None
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        client.close()
        assert peers.user_at(there, here) is None, "of a connection that was closed the kernel would say root"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_another_user_cannot_use_the_link_in_the_command_line_of_a_browser(
    start: Callable[..., Ui], place: Path, cli: Cli
) -> None:
    """As seen by a browser that writes down how it was started."""
    shown = place / "shown"
    browser = place / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}.new; mv {shown}.new {shown}\n')
    browser.chmod(0o755)
    with start() as ui:
        done = cli.text("ui", env={"BROWSER": str(browser)})
        assert done.status == 0 and "#link=" not in done.stderr
        link = shown.read_text().strip()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.setresuid(65534, 65534, 65534)
            try:
                Browser(ui, link)
            except NotLetIn as refused:
                os.write(writing, refused.answer.content)
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        assert b"a process of another user has tried it" in os.read(reading, 10_000)
        os.close(reading)
        with Browser(ui, link) as mine:
            assert mine.call("jobs")["ok"]


# --- without a seal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/job/01J00000000000000000000000", "/timeline"])
def test_everyone_gets_the_same_empty_page_and_nobody_a_cookie(ui: Ui, browser: Browser, path: str) -> None:
    one, other = get(ui, path), browser.get(path)
    assert one.status_code == other.status_code == 200 and one.text == other.text
    assert "set-cookie" not in one.headers and not browser.client.cookies


METHODS = ["process", "jobs", "rows", "terminal", "approve", "deny", "ticket", "logout", "no-such"]


@pytest.mark.parametrize("method", METHODS)
def test_no_method_answers_without_a_seal(browser: Browser, method: str) -> None:
    assert browser.keys is not None
    call = browser.keys.seal(method, {})
    broken = call.body[:-1] + bytes([call.body[-1] ^ 1])
    said = json.dumps({"method": method, "given": {}}).encode()
    number = call.headers["x-outlive-number"]
    tries = [
        Sealed({}, call.body),
        Sealed(call.headers, said),
        Sealed(call.headers, b""),
        Sealed(call.headers, broken),
        Sealed({**call.headers, "x-outlive-tab": "0" * 32}, call.body),
        *(
            Sealed({**call.headers, "x-outlive-number": other}, call.body)
            for other in ("0", "", f"{number}0", "-1", "9" * 99)
        ),
    ]
    for one in tries:
        answer = browser.send(one)
        assert answer.status_code == 401 and "outlive ui" in answer.json()["error"]["hint"]
    assert browser.send(call).status_code in (200, 400, 403), "it was sealed well, and none of that used it up"


def test_no_call_is_taken_twice(browser: Browser) -> None:
    assert browser.keys is not None
    calls = [browser.keys.seal("jobs", {}) for _ in range(3)]
    for call in reversed(calls):  # they may overtake each other
        assert browser.send(call).status_code == 200
    for call in calls:
        assert browser.send(call).status_code == 409


def test_numbers_are_taken_once_however_they_come() -> None:
    numbers = Numbers()
    assert [numbers.take(one) for one in (5, 3, 5, 4, 3, 2000, 5, 900, 977, 977, 2000)] == [
        *(True, True, False, True, False, True, False, False, True, False, False)
    ]


def test_an_answer_opens_nothing_but_the_call_that_it_belongs_to(browser: Browser) -> None:
    assert browser.keys is not None
    one, other = browser.keys.seal("jobs", {}), browser.keys.seal("jobs", {})
    first, second = browser.send(one).content, browser.send(other).content
    assert browser.keys.opened(one, first)["ok"]
    for call, answer in ((one, second), (other, first), (one, one.body)):
        with pytest.raises(InvalidTag):
            browser.keys.opened(call, answer)


def test_a_browser_that_logged_out_is_a_stranger(browser: Browser) -> None:
    assert browser.call("logout")
    assert browser.post("jobs").status_code == 401
    assert browser.keys is not None
    with pytest.raises(NotLetIn, match="401"):
        exchanged(browser.ask, "tab", "session", browser.keys.secret)


# --- requests of other pages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [ELSEWHERE, "null", "http://127.0.0.1:1", "http://localhost:1", "file://"])
def test_a_page_of_another_origin_is_refused_even_with_a_seal(browser: Browser, origin: str) -> None:
    assert browser.post("jobs", origin=origin).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_page_made_is_refused(browser: Browser, site: str) -> None:
    assert browser.post("jobs", origin="", sec_fetch_site=site).status_code == 403
    assert browser.post("jobs", sec_fetch_site="same-origin").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "localhost", "0.localhost", ""]
)
def test_another_host_name_is_refused(browser: Browser, host: str) -> None:
    """DNS rebinding: a foreign page whose name leads to this machine."""
    for path in ("/", "/static/app.js"):
        assert browser.get(path, host=host).status_code in (400, 421)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
@pytest.mark.parametrize("path", ["enter", "tab"])
def test_what_a_form_can_send_is_no_question(browser: Browser, path: str, kind: str) -> None:
    assert browser.ask(path, {"link": "", "session": "", "nonce": ""}, content_type=kind).status_code == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_get_and_post_are_served(browser: Browser, method: str) -> None:
    with http.client() as client:
        answer = client.request(method, f"{browser.base}/api/call")
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_a_call_is_not_a_get(browser: Browser) -> None:
    for path in ("enter", "tab", "call"):
        assert browser.get(f"/api/{path}").status_code == 405


def test_a_call_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.post("process", {"data": "x" * 5_000_000}).status_code == 413


@pytest.mark.parametrize("body", ["[]", "1", "{", '"x"', "[" * 100_000, '{"method": 1}', '{"given": {}}'])
def test_a_body_that_is_no_call_is_an_error_object(browser: Browser, body: str) -> None:
    status, found = browser.asked("rows", body.encode())
    assert status == 400 and found["error"]["code"] == "invalid_argument"
    for path in ("enter", "tab"):
        answer = browser.ask(path, body)
        assert answer.status_code == 400 and answer.json()["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize("nonce", ["", "00", "0" * 33, "x" * 32, "é" * 32, "A" * 32])
def test_a_random_number_of_another_form_is_refused(browser: Browser, nonce: str) -> None:
    assert browser.ask("tab", {"session": "x", "nonce": nonce}).status_code == 400


def test_no_file_of_the_page_becomes_a_service_worker(ui: Ui) -> None:
    """It would go on when the server has ended, and serve the page of the next one."""
    assert get(ui, "/static/app.js", **{"service-worker": "script"}).status_code == 403


# --- headers and files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/nothing", "/download/x", "/nothing"])
def test_every_answer_forbids_foreign_scripts_frames_and_guesses(ui: Ui, path: str) -> None:
    headers = get(ui, path).headers
    policy = {words[0]: words[1:] for words in (part.split() for part in headers["content-security-policy"].split(";"))}
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'"]
    assert policy["connect-src"] == ["'self'"]
    assert policy["frame-ancestors"] == policy["worker-src"] == ["'none'"]
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
    + ["page.html", "vendor", "app.js/", "\\..\\api.py", "x" * 5000, f"{'ö' * 190}.js"],
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
        assert not answer["serves"] and answer["url"].startswith(ui.page) and answer["url"] != ui.link
        with Browser(ui, answer["url"]) as browser:
            assert browser.call("jobs")["root"] == answer["root"]


def test_nothing_of_a_server_is_good_for_the_next_one_at_its_port(start: Callable[..., Ui], root: Path) -> None:
    """Another user listened at the port meanwhile, and was sent all that a page sends."""
    with start() as first:
        unused = first.new_link()
        browser = Browser(first)
        assert browser.keys is not None
        calls = [browser.keys.seal("jobs", {}) for _ in range(3)]
        first.process.kill()
        first.process.wait()
    with browser, start(port=first.port) as second:
        assert (second.base, second.page) != (first.base, first.page), "the port is the same, the address is not"
        for call in calls:
            assert browser.send(call).status_code == 401
        for secret in (browser.keys.secret, browser.link):
            with pytest.raises(NotLetIn, match="401"):
                exchanged(browser.ask, "tab", "session", secret)
        for link in (unused, first.link):
            with pytest.raises(NotLetIn, match="401"):
                Browser(second, link)
        assert not {path.name for path in root.glob(".ui*")} - {".ui.server", ".ui.socket"}
        assert not (root / ".ui.server").read_bytes(), "nothing is kept on the disk"


def test_what_a_page_sends_to_a_program_in_place_of_its_server_tells_nothing(browser: Browser) -> None:
    assert browser.keys is not None
    secret = "the word that a person types"
    call = browser.keys.seal("type", {"job_id": "x", "tab": "x", "data": secret})
    seen = repr(call).encode() + call.body
    assert (
        secret.encode() not in seen
        and browser.keys.secret not in seen
        and browser.keys.secret.hex().encode() not in seen
    )


def test_a_program_in_place_of_the_server_that_passes_all_on_learns_nothing_either(ui: Ui) -> None:
    """It listens at the old port while the server runs at another one, and passes on what comes."""
    with http.client() as client:
        passed: list[bytes] = []

        def through(path: str, given: object) -> httpx2.Response:
            answer = client.post(f"{ui.base}/api/{path}", json=given)
            passed.append(json.dumps(given).encode() + answer.content)
            return answer

        link = decoded(ui.new_link().partition("#link=")[2])
        _, _, said = exchanged(through, "enter", "link", link)
        exchanged(through, "tab", "session", decoded(said["key"]))
        seen = b"".join(passed)
        for known in (link, link.hex().encode(), said["key"].encode(), decoded(said["key"])):
            assert known not in seen


def test_the_port_is_free_for_nobody_else_at_either_address(ui: Ui) -> None:
    """A browser may take ::1 for a name below localhost."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as other, pytest.raises(OSError, match=r"in use|not available|not supported"):
            other.bind((address, ui.port))


def test_a_port_that_is_taken_at_one_address_is_not_used(cli: Cli) -> None:
    try:
        taken = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("there is no IPv6 here")
    with taken:
        port = taken.getsockname()[1]
        with pytest.raises(OutliveError):
            program._listen(port)
        error = cli.error("ui", "--no-open", "--port", str(port), code="io_error")
        assert f"::1:{port}" in error["message"]


def test_the_socket_that_gives_links_is_for_this_user_alone(ui: Ui, root: Path) -> None:
    assert (root / ".ui.socket").stat().st_mode & 0o777 == 0o600


def test_the_socket_that_gives_links_takes_no_nonsense(start: Callable[..., Ui], root: Path) -> None:
    with start() as ui:
        for line in (b"", b"\n", b"[]\n", b"{\n", b"1\n", b"x" * 200_000 + b"\n"):
            with socket.socket(socket.AF_UNIX) as door:
                door.connect(str(root / ".ui.socket"))
                try:
                    door.sendall(line)
                    door.shutdown(socket.SHUT_WR)
                    assert not door.recv(100)
                except OSError:
                    pass
        with Browser(ui, ui.new_link()) as browser:
            assert browser.call("jobs")["ok"]


def test_a_port_that_is_taken_is_an_error_where_it_was_asked_for(
    start: Callable[..., Ui], serve: Callable[..., Served], cli: Cli
) -> None:
    served = serve()
    error = cli.error("ui", "--no-open", "--port", str(served.address[1]), code="io_error")
    assert "port" in error["hint"]


ASKS = """
import json, os, socket
with socket.socket(socket.AF_UNIX) as door:
    door.connect(os.environ["OUTLIVE_ROOT"] + "/.ui.socket")
    door.sendall(json.dumps({"person": True, "own": False}).encode() + b"\\n")
    print(door.makefile().readline().strip())
"""


def test_a_job_that_says_that_it_is_a_person_gets_no_persons_link(ui: Ui, cli: Cli, place: Path, work: Path) -> None:
    (work / "asks.py").write_text(ASKS)
    plain = cli.ok("run", "--wait", "--", sys.executable, "asks.py")["output"]
    shed = ["env", "-i", "PATH=" + os.environ["PATH"], "OUTLIVE_ROOT=" + os.environ["OUTLIVE_ROOT"], "setsid", "-w"]
    bare = cli.ok("run", "--wait", "--", *shed, sys.executable, "asks.py")["output"]
    configured(place, '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n')
    job = cli.ok("run", "--snapshot-after", "0", "touch made")["job_id"]
    for link in (plain.strip(), bare.strip()):
        with Browser(ui, link) as browser:
            _, refused = browser.asked("approve", {"job_id": job})
            assert refused["error"]["code"] == "denied"
    assert cli.ok("status", job)["approval"]["state"] == "pending"
    own = subprocess.run([sys.executable, "asks.py"], capture_output=True, text=True, check=True, timeout=60).stdout
    with Browser(ui, own.strip()) as browser:
        assert browser.call("approve", job_id=job)["ok"]
    cli.ok("wait", job)


@pytest.mark.parametrize("way", ["true", "b=$(awk '/^PPid/ {print $2}' /proc/$PPID/status); kill -9 $b $PPID"])
def test_what_a_job_left_behind_gets_no_persons_link(ui: Ui, cli: Cli, place: Path, work: Path, way: str) -> None:
    """It has shed its environment and its session, and perhaps its supervisors."""
    (work / "asks.py").write_text(ASKS)
    bare = f"env -i PATH=$PATH OUTLIVE_ROOT=$OUTLIVE_ROOT setsid {sys.executable} asks.py > link.new; mv link.new link"
    left = f"until [ -e go ]; do sleep 0.05; done; {bare}"
    (work / "leave.sh").write_text(f"setsid sh -c '{left}' </dev/null >/dev/null 2>&1 &\n{way}\n")
    cli.ok("run", "--wait", "--", "sh", "leave.sh")
    configured(place, '[policy]\ndefault = "allow"\n[[policy.rule]]\nprefix = ["touch"]\ndecision = "ask"\n')
    job = cli.ok("run", "--snapshot-after", "0", "touch made")["job_id"]
    (work / "go").touch()
    until((work / "link").exists, what="the answer to what the job left behind")
    with Browser(ui, (work / "link").read_text().strip()) as browser:
        assert browser.refused("approve", job_id=job)[1]["code"] == "denied"
    assert cli.ok("status", job)["approval"]["state"] == "pending"
    cli.ok("deny", job)
