"""Who is not let in over HTTP. Each attack gets the right status, and the server goes on answering."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from outlive import limits
from support import http
from support.cli import Cli, Jobs
from support.mcp_client import LEGACY_VERSION
from support.serve import INITIALIZE, HttpSession, Reply, Served, is_held, open_sockets
from support.wait import until

Serve = Callable[..., Served]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
UNKNOWN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def served(shared_serve: Served) -> Iterator[Served]:
    """A server that other tests attack too, and that still answers after each of them."""
    shared_serve.begin_test()
    yield shared_serve
    check(shared_serve)
    shared_serve.end_test()


@pytest.fixture
def fresh(serve: Serve) -> Iterator[Served]:
    """A server that no other test has attacked: it has all its patience and no connections."""
    found = serve("-v")
    yield found
    check(found)


def check(served: Served) -> None:
    assert served.rpc("tools/list", {}).status == 200
    assert "Traceback" not in served.said(), served.said()
    assert not [secret for secret in served.tokens.values() if secret in served.said()], "a token in the log"


# --- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.fault("S10")
def test_nothing_is_answered_without_a_token(fresh: Served) -> None:
    for path in ("/mcp", "/sse", "/messages?session_id=1", "/", "/health"):
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            answer = fresh.ask(method, path, token=None, body=LIST)
            assert answer.status == 401, (method, path)
            assert answer.headers["www-authenticate"].startswith("Bearer ")
            assert "outlive token add" in answer.json["error"]["message"], "the words that the SDK's client shows"


def test_a_path_that_is_nothing_names_those_that_are(served: Served) -> None:
    answer = served.ask("GET", "/")
    assert answer.status == 404
    assert "/mcp" in answer.json["error"]["message"]
    assert "/sse" in answer.json["error"]["message"]


@pytest.mark.fault("S23")
def test_a_wrong_token_opens_nothing(fresh: Served) -> None:
    secret = fresh.tokens["tests"]
    for wrong in ("x", secret[:-1], secret + "x", secret.swapcase(), secret[::-1], f"{secret} {secret}"):
        assert fresh.ask("POST", token=None, body=LIST, headers={"authorization": f"Bearer {wrong}"}).status == 401
    assert fresh.ask("POST", token=None, body=LIST, headers={"authorization": f"Basic {secret}"}).status == 401
    assert fresh.ask("POST", token=None, body=LIST, headers={"authorization": "Bearer"}).status == 401
    assert fresh.ask("POST", token=None, body=LIST, headers={"x-api-key": secret}).status == 401
    assert fresh.ask("POST", token=None, body=LIST, headers={"cookie": f"token={secret}"}).status == 401
    said = [line for line in fresh.said().splitlines() if "refused" in line]
    assert said, "the log tells of the attempts"
    assert not [line for line in said if secret[-20:] in line or secret[:20] in line]


@pytest.mark.fault("S11")
def test_a_token_in_a_url_is_refused_also_beside_a_good_header(fresh: Served) -> None:
    secret = fresh.tokens["tests"]
    for query in (f"?token={secret}", f"?access_token={secret}", "?x=1", f"?session_id={secret}&token={secret}"):
        for token in (None, ""):
            assert fresh.ask("POST", f"/mcp{query}", token=token, body=LIST).status == 400
            assert fresh.ask("POST", f"/messages{query}", token=token, body=LIST).status in (400, 401)


def test_a_revoked_token_ends_its_open_streams(served: Served, cli: Cli) -> None:
    secret = served.token("guest")
    headers = {"authorization": f"Bearer {secret}"}
    with (
        http.client() as client,
        client.stream("GET", f"{served.base}/sse", headers=headers) as stream,
    ):
        assert stream.status_code == 200
        cli.ok("token", "revoke", "guest")
        assert served.rpc("tools/list", {}, token=secret).status == 401
        with pytest.raises(httpx2.RemoteProtocolError):
            for _ in stream.iter_raw():
                pass
    assert served.rpc("tools/list", {}, token=served.token("guest")).status == 200


def test_tokens_that_others_could_have_read_open_nothing(serve: Serve, root: Path) -> None:
    served = serve()
    os.chmod(root / ".tokens.json", 0o644)
    assert served.rpc("tools/list", {}).status == 503
    assert "chmod 600" not in served.rpc("tools/list", {}).body.decode()
    os.chmod(root / ".tokens.json", 0o600)
    assert served.rpc("tools/list", {}).status == 200


def test_a_token_of_a_root_that_was_moved_away_opens_the_new_one_no_more(serve: Serve, cli: Cli, root: Path) -> None:
    """Such a token could not be revoked: the command line looks where the path leads."""
    served = serve()
    old = served.tokens["tests"]
    for number in range(2):
        root.rename(root.with_name(f"before-{number}"))
        assert served.rpc("tools/list", {}, token=old).status == 401
        new = served.token("tests")
        assert served.rpc("tools/list", {}, token=new).status == 200
        assert served.rpc("tools/list", {}, token=old).status == 401
        old = new
    cli.ok("token", "revoke", "tests")
    assert served.rpc("tools/list", {}, token=old).status == 401


def test_tokens_that_are_no_file_of_tokens_open_nothing_and_hold_nobody_up(serve: Serve, root: Path) -> None:
    served = serve()
    path = root / ".tokens.json"
    good = path.read_bytes()

    def wrong(make: Callable[..., object]) -> None:
        path.unlink()
        make()
        for _ in range(3):
            assert served.rpc("tools/list", {}).status == 503
        path.rmdir() if path.is_dir() else path.unlink()
        path.touch(0o600)
        path.write_bytes(good)
        assert served.rpc("tools/list", {}).status == 200

    def written(content: bytes) -> None:
        path.touch(0o600)
        path.write_bytes(content)

    wrong(lambda: os.mkfifo(path, 0o600))
    wrong(lambda: path.mkdir(0o700))
    wrong(lambda: path.symlink_to("/etc/passwd"))
    for content in (b"", b"[" * 100_000, b"[]", good[:100], good.replace(b"a", b"b")):
        wrong(lambda content=content: written(content))
    assert "Traceback" not in served.said(), served.said()
    assert len(served.said().splitlines()) == 9, "each trouble is told once, not to each request"


def test_who_guesses_is_slowed_down_and_nobody_else_is(serve: Serve) -> None:
    served = serve(
        "-v", patch="limits.HTTP_REFUSALS = (0.01, 30.0)"
    )  # a busy machine asks once a second, or less often
    found = [served.ask("POST", token="x" * 43, body=LIST) for _ in range(35)]
    assert {answer.status for answer in found[:30]} == {401}
    assert found[-1].status == 429
    assert int(found[-1].headers["retry-after"]) >= 1
    check(served)


# --- hosts and origins -----------------------------------------------------------------------------------------------


FOREIGN = "evil.example evil.example:80 localhost.evil.example 127.0.0.1.evil.example 127.0.0.2 x@localhost".split()


@pytest.mark.fault("S09")
def test_a_foreign_host_is_misdirected_with_and_without_a_token(served: Served) -> None:
    for host in FOREIGN:
        for token in (None, ""):
            assert served.ask("POST", token=token, body=LIST, headers={"host": host}).status == 421, host


def test_a_request_has_one_host(served: Served) -> None:
    own = "{}:{}".format(*served.address)
    token = served.tokens["tests"]
    for hosts in ((own, "evil.example"), ("evil.example", own), ()):
        lines = ["GET /mcp HTTP/1.1", *(f"Host: {host}" for host in hosts), f"Authorization: Bearer {token}", "", ""]
        assert raw(served, "\r\n".join(lines).encode()).status in (400, 421)


def test_every_name_of_this_machine_is_ours(served: Served) -> None:
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:5"):
        assert served.ask("POST", body=LIST, headers={"host": host}).status == 200, host


def test_a_name_that_was_allowed_is_ours(serve: Serve) -> None:
    served = serve("--allow-host", "box.example", "--allow-host", "other.example:8443")
    asked = {host: served.ask("POST", body=LIST, headers={"host": host}).status for host in ALLOWED}
    assert asked == ALLOWED


ALLOWED = {
    "box.example": 200,
    "Box.Example.:99": 200,
    "other.example:8443": 200,
    "other.example": 421,
    "x.box.example": 421,
}


PAGES = "http://evil.example null file:// http://localhost.evil.example ftp://localhost localhost".split()


@pytest.mark.fault("S09")
def test_a_foreign_page_is_turned_away_also_with_a_token(served: Served) -> None:
    for origin in (*PAGES, ""):
        assert served.ask("POST", body=LIST, headers={"origin": origin}).status == 403, origin
    assert served.ask("POST", body=LIST, headers={"origin": "http://localhost:3000"}).status == 200


# --- scopes ----------------------------------------------------------------------------------------------------------


def test_a_job_of_another_scope_does_not_exist(served: Served, cli: Cli, work: Path, jobs: Jobs) -> None:
    served.token("guest")
    served.token("friend", "--scope", "tests")
    served.token("all", "--scope", "*")
    job = served.tool("exec", command="echo secret; exec sleep 300", workdir=str(work), background=True)["job_id"]
    local = cli.ok("run", "echo local")["job_id"]

    def codes(action: str, token: str, **more: Any) -> str:
        found = served.tool("process", token=served.tokens[token], action=action, **more)
        return str(found["error"]["code"]) if not found["ok"] else "ok"

    guest = served.tokens["guest"]
    for named in (job, job[-8:], job[:10], local, UNKNOWN_ID):
        for action in ("status", "poll", "log", "tail", "events", "kill", "clear", "remove", "wait"):
            assert codes(action, "guest", job_id=named) == "job_not_found", (action, named)
    assert served.tool("process", token=guest, action="list", all=True)["jobs"] == []
    for uri in (f"job://{job}", f"job://{job}/output", f"job://{job}/events"):
        unknown = served.rpc("resources/read", {"uri": f"job://{UNKNOWN_ID}"}, token=guest).json["error"]
        refused = served.rpc("resources/read", {"uri": uri}, token=guest).json["error"]
        assert refused["code"] == unknown["code"]
        assert "secret" not in json.dumps(refused)
    listed = served.rpc("resources/list", {}, token=guest).json["result"]["resources"]
    assert listed == []
    assert codes("status", "friend", job_id=job) == "ok"
    assert (codes("status", "all", job_id=job), codes("status", "all", job_id=local)) == ("ok", "ok")
    assert codes("status", "tests", job_id=local) == "job_not_found"
    jobs.end()


def test_a_subscription_to_another_scope_s_job_is_not_honoured(served: Served, work: Path, jobs: Jobs) -> None:
    served.token("guest")
    job = served.tool("exec", command="exec sleep 300", workdir=str(work), yield_ms=0)["job_id"]
    with HttpSession(served, token="guest") as guest, pytest.raises(AssertionError), guest.subscribed(f"job://{job}"):
        pass
    jobs.end()


def test_a_name_that_a_client_gives_itself_gives_it_nothing(served: Served, work: Path, jobs: Jobs) -> None:
    served.token("guest")
    job = served.tool("exec", command="echo hi", workdir=str(work))["job_id"]
    with HttpSession(served, token="guest", client_name="tests") as client:
        client.error("process", action="status", job_id=job, code="job_not_found")
    jobs.end()


# --- sessions --------------------------------------------------------------------------------------------------------


def opened(served: Served, token: str = "") -> str:
    """The id of a new session of the handshake era."""
    return served.ask("POST", token=token, body=LIST).headers["mcp-session-id"]


@pytest.mark.fault("S12")
def test_a_session_is_of_no_use_to_another_token(served: Served) -> None:
    guest = served.token("guest")
    session = opened(served)
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for found in (session, "0" * 32, "..", session[:-1]):
        for method in ("POST", "GET", "DELETE"):
            headers = {"mcp-session-id": found, "mcp-protocol-version": LEGACY_VERSION}
            assert served.ask(method, token=guest, body=body, headers=headers).status == 404
    headers = {"mcp-session-id": session, "mcp-protocol-version": LEGACY_VERSION}
    assert served.ask("POST", body=body, headers=headers).status == 200, "its owner goes on"


@pytest.mark.fault("S12")
def test_a_stream_is_of_no_use_to_another_token(served: Served) -> None:
    guest = served.token("guest")
    headers = {"authorization": f"Bearer {served.tokens['tests']}"}
    with (
        http.client() as client,
        client.stream("GET", f"{served.base}/sse", headers=headers) as stream,
    ):
        lines = stream.iter_lines()
        path = next(line[6:] for line in lines if line.startswith("data: "))
        assert served.ask("POST", path, token=guest, body=LIST).status == 404
        assert served.ask("POST", "/messages?session_id=" + "0" * 32, token=guest, body=LIST).status == 404
        assert served.ask("POST", path, body=LIST).status == 202
        assert json.loads(next(line[6:] for line in lines if line.startswith("data: ")))["id"] == 1


@pytest.mark.fault("S13")
def test_an_event_id_of_somebody_else_brings_nothing_back(served: Served) -> None:
    guest = served.token("guest")
    for session, status in ((opened(served), 404), (opened(served, guest), 200)):
        headers = {
            "accept": "text/event-stream",
            "authorization": f"Bearer {guest}",
            "last-event-id": "1",
            "mcp-protocol-version": LEGACY_VERSION,
            "mcp-session-id": session,
        }
        with (
            http.client(timeout=httpx2.Timeout(30, read=1)) as client,
            client.stream("GET", served.url, headers=headers) as stream,
        ):
            assert stream.status_code == status
            if status == 200:
                with pytest.raises(httpx2.ReadTimeout):
                    next(stream.iter_lines())


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.fault("S14")
def test_a_body_that_is_too_large_is_refused_however_it_comes(served: Served) -> None:
    large = b'{"x":"' + b"a" * limits.HTTP_BODY_BYTES + b'"}'
    assert served.ask("POST", token="x" * 43, body=large).status == 401, "it is not read"
    assert served.ask("POST", body=large).status == 413
    with http.client() as client:
        headers = {"authorization": f"Bearer {served.tokens['tests']}", "content-type": "application/json"}
        headers["accept"] = "application/json, text/event-stream"
        pieces = (large[at : at + 65_536] for at in range(0, len(large), 65_536))
        assert client.post(served.url, headers=headers, content=pieces).status_code == 413


NO_JSON = [
    b"[" * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
    b"\xff\xfe",
    b"",
    b"null",
    b'{"jsonrpc":"2.0","id":1e999,"method":"x"}',
]


@pytest.mark.fault("S14")
def test_json_that_is_too_deep_or_none_is_the_client_s_mistake(served: Served) -> None:
    modern = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    for body in NO_JSON:
        for headers in ({}, modern):
            assert served.ask("POST", body=body, headers=headers).status == 400, (body[:60], headers)


def test_headers_have_an_end(served: Served) -> None:
    assert raw(served, b"GET /mcp HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n").status in (400, 431)
    assert served.ask("POST", body=LIST, headers={"x": "a" * 40_000}).status in (400, 431), "in one piece too"


def raw(served: Served, data: bytes) -> Reply:
    """The answer to these bytes; status 0: the connection was closed without one."""
    with served.connect() as connection:
        try:
            connection.sendall(data)
            found = b""
            while piece := connection.recv(65_536):
                found += piece
                if b"\r\n\r\n" in found:
                    break
        except (BrokenPipeError, ConnectionResetError):
            found = b"HTTP/1.1 400 reset"
    return Reply(int(found.split()[1]) if found else 0, {}, found)


# --- too many, too slow ----------------------------------------------------------------------------------------------


@pytest.mark.fault("S14")
def test_a_thousand_connections_that_say_nothing_keep_nobody_out(fresh: Served) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(fresh.connect()) for _ in range(1_000)]
        assert fresh.rpc("tools/list", {}).status == 200
        for connection in held[:100]:
            connection.settimeout(30)
            assert connection.recv(1) == b"", "the oldest made room"


def test_a_header_that_comes_byte_by_byte_is_not_waited_for(serve: Serve) -> None:
    served = serve(patch="limits.HTTP_IDLE_S = 0.5")
    with served.connect() as connection:
        connection.settimeout(0.1)

        def closed() -> bool:
            try:
                connection.send(b"X")
                return connection.recv(1) == b""
            except TimeoutError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                return True

        until(closed, what="the end of the connection")
    assert served.rpc("tools/list", {}).status == 200


REFUSED = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"


@pytest.mark.fault("S14")
def test_who_was_refused_cannot_hold_connections_with_the_rest_of_a_request(fresh: Served) -> None:
    before = settled(fresh)
    with ExitStack() as stack:
        for _ in range(400):
            connection = stack.enter_context(fresh.connect())
            connection.sendall(REFUSED)
            assert connection.recv(12) in (b"HTTP/1.1 401", b"HTTP/1.1 429")
            connection.sendall(b"x")  # more of the body, and a sign of life
        assert open_sockets(fresh) <= before + 220
        assert fresh.rpc("tools/list", {}).status == 200


def test_who_was_refused_is_not_waited_for(serve: Serve) -> None:
    # Small buffers are soon full of answers; megabytes of them would keep a busy server for longer than the bound
    small = (
        "import socket; listen = socket.socket.listen; socket.socket.listen = lambda self, *how: ("
        "self.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096), listen(self, *how))[1]"
    )
    served = serve(patch=f"limits.HTTP_IDLE_S = 0.5; {small}")
    before = settled(served)
    with served.connect() as silent, served.connect(receive_bytes=4_096) as deaf:
        silent.sendall(REFUSED)
        silent.sendall(b"x")
        deaf.setblocking(False)
        asked = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000
        rest = b""

        def pressed() -> bool:
            nonlocal rest
            rest = rest or asked
            with suppress(BlockingIOError):  # as many answers as fit on the way, and none of them taken
                rest = rest[deaf.send(rest) :]
            return _is_reset(deaf)

        with suppress(BrokenPipeError, ConnectionResetError):
            until(pressed, 60, what="the end of the connection that takes no answers")
        until(lambda: open_sockets(served) <= before, what="the end of both connections")
    assert served.rpc("tools/list", {}).status == 200


def test_a_body_that_does_not_come_is_not_waited_for(serve: Serve) -> None:
    served = serve(patch="limits.HTTP_BODY_S = 0.5")
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.tokens['tests']}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{"
    )
    assert raw(served, head.encode()).status == 408


@pytest.mark.fault("S14")
def test_a_client_that_reads_nothing_is_let_go(serve: Serve, work: Path, jobs: Jobs) -> None:
    served = serve(patch="limits.HTTP_SEND_S = 0.5; limits.HTTP_IDLE_S = 2.0")
    job = served.tool("exec", command="yes | head -c 900000", workdir=str(work), max_bytes=1_000)["job_id"]
    call = {"name": "process", "arguments": {"action": "poll", "job_id": job, "since_seq": 0, "max_bytes": 1_000_000}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    session = opened(served)
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.tokens['tests']}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\n"
        f"Mcp-Protocol-Version: {LEGACY_VERSION}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with served.connect(receive_bytes=4_096) as connection:
        connection.sendall((head + body).encode())
        until(lambda: is_held(served, connection), what="the connection")
        until(lambda: not is_held(served, connection), what="the end of the connection")
    assert served.rpc("tools/list", {}).status == 200
    jobs.end()


def _is_reset(connection: socket.socket) -> bool:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def settled(served: Served) -> int:
    """The open sockets of a server that has come up and has nothing to do."""
    assert served.rpc("tools/list", {}).status == 200
    return open_sockets(served)


def test_one_token_cannot_take_the_whole_server(serve: Serve, work: Path, jobs: Jobs) -> None:
    served = serve(patch="limits.HTTP_CALLS = 2; limits.HTTP_RATE = (0.01, 5.0)")
    guest = served.token("guest")
    headers = {"authorization": f"Bearer {guest}"}
    with http.client() as client, ExitStack() as stack:
        for _ in range(2):
            stream = stack.enter_context(client.stream("GET", f"{served.base}/sse", headers=headers))
            assert stream.status_code == 200
        refused = served.rpc("tools/list", {}, token=guest)
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert served.rpc("tools/list", {}).status == 200
    found = {served.rpc("tools/list", {}, token=guest).status for _ in range(20)}
    assert 429 in found
    jobs.end()


def test_one_token_cannot_take_all_sessions(serve: Serve) -> None:
    """Many clients never end their sessions. The token with most loses the session that was unused for longest."""
    served = serve("-v", patch="limits.HTTP_SESSIONS = 4")
    guest = served.token("guest")
    own = opened(served)
    theirs = [opened(served, guest) for _ in range(6)]

    def status(session: str, token: str) -> int:
        return served.ask("POST", token=token, body=PING, headers={"mcp-session-id": session}).status

    assert [status(session, guest) for session in theirs] == [404, 404, 404, 200, 200, 200]
    assert status(own, "") == 200
    assert status(opened(served), "") == 200
    assert [status(session, guest) for session in theirs[3:]] == [404, 200, 200]
    for token in ("", guest, "", guest):  # what opens none ends none
        assert served.ask("POST", "/messages?session_id=" + "0" * 32, token=token, body=PING).status == 404
        assert served.ask("POST", token=token, body=PING).status == 400
        assert status(opened(served, token), token) == 200
    assert status(theirs[-1], "") == 404
    assert "Traceback" not in served.said(), served.said()


def test_a_session_counts_until_it_has_really_ended(serve: Serve) -> None:
    """A server that loses count of its sessions has no room for those of others some day."""
    served = serve("-v", patch="limits.HTTP_SESSIONS = 4")
    guest = served.token("guest")
    own = opened(served)
    for path in ("/mcpp", "/sse", "/messages", "/mcp/x"):
        for _ in range(2):
            session = opened(served, guest)
            assert served.ask("DELETE", path, token=guest, headers={"mcp-session-id": session}).status in (404, 405)
    assert served.ask("POST", body=PING, headers={"mcp-session-id": own}).status == 200
    assert opened(served)
    assert "Traceback" not in served.said(), served.said()


@pytest.mark.parametrize("name", ["Mcp-Session-Id", "Mcp-Protocol-Version"])
def test_a_header_that_chooses_the_session_stands_there_once(served: Served, name: str) -> None:
    session = opened(served)
    first = {"Mcp-Session-Id": session, "Mcp-Protocol-Version": LEGACY_VERSION}[name]
    other = {"Mcp-Session-Id": opened(served), "Mcp-Protocol-Version": "2026-07-28"}[name]
    token = served.tokens["tests"]
    for values in ((first, other), (other, first), (first, first)):
        lines = [
            "DELETE /mcp HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {token}",
            *(f"{name}: {value}" for value in values),
        ]
        answer = raw(served, "\r\n".join([*lines, "", ""]).encode())
        assert answer.status == 400
    assert served.ask("POST", body=PING, headers={"mcp-session-id": session}).status == 200


def test_no_path_is_redirected(served: Served) -> None:
    """A proxy that ends TLS passes plain http on, and a redirect would name that."""
    assert served.ask("POST", "/mcp/", body=LIST).status == 200
    for path in ("/sse/", "/messages/", "/mcp//", "//mcp", "/mcp/x/"):
        for method in ("GET", "POST", "DELETE"):
            answer = served.ask(method, path, body=LIST)
            assert (answer.status, answer.headers.get("location")) == (404, None), (method, path)


def test_calls_that_are_answered_on_another_stream_have_an_end_too(serve: Serve, work: Path, jobs: Jobs) -> None:
    served = serve("--workdir", str(work), patch="limits.HTTP_CALLS = 3")
    guest = served.token("guest")
    job = served.tool("exec", token=guest, command="exec sleep 300", yield_ms=0)["job_id"]
    asked = {"action": "wait", "job_id": job, "timeout_ms": 50_000}
    with (
        http.client(headers={"authorization": f"Bearer {guest}"}) as client,
        client.stream("GET", f"{served.base}/sse") as stream,
    ):
        lines = stream.iter_lines()
        path = next(line[6:] for line in lines if line.startswith("data: "))
        for number in range(1, 6):
            call = {"name": "process", "arguments": asked}
            body = LIST if number == 1 else {**CALL, "id": number, "params": call}
            assert served.ask("POST", path, token=guest, body=body).status == 202
        answers = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
        assert next(answers)["id"] == 1
        refused = next(answers)
        assert (refused["id"], refused["error"]["message"][:14]) == (5, "Too many calls")
        assert served.rpc("tools/list", {}).status == 200
        assert served.tool("process", action="list")["ok"]
    until(lambda: "result" in served.rpc("tools/list", {}, token=guest).json, what="the end of the calls of the stream")
    served.tool("process", token=guest, action="remove", job_id=job)
    jobs.end()


# --- the log ---------------------------------------------------------------------------------------------------------


def test_what_clients_send_does_not_come_into_the_log_and_does_not_fill_it(serve: Serve) -> None:
    served = serve()
    before = served.said()
    host, token = b"Host: localhost\r\n", f"Authorization: Bearer {served.tokens['tests']}\r\n".encode()
    for _ in range(5):
        assert raw(served, b"\x16\x03\x01 no HTTP\r\n\r\n").status == 400
        raw(
            served,
            b"GET /mcp HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n" + host + token + b"\r\n",
        )
        assert raw(served, b"HEAD /sse HTTP/1.1\r\nConnection: close\r\n" + host + token + b"\r\n").status == 405
        with served.connect() as connection:
            json_type = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            connection.sendall(b"POST /mcp HTTP/1.1\r\nContent-Length: 9\r\n" + host + token + json_type + b"\r\n{")
        assert served.ask("POST", "/messages?session_id=" + "0" * 32, body=LIST).status == 404
    headers = {"authorization": f"Bearer {served.tokens['tests']}"}
    with (
        http.client(headers=headers) as client,
        client.stream("GET", f"{served.base}/sse") as stream,
    ):
        lines = stream.iter_lines()
        path = next(line[6:] for line in lines if line.startswith("data: "))
        for body in (b'{"password": "s3cret"', b'"s3cret"', b"[1]"):
            assert served.ask("POST", path, body=body).status == 400
    assert served.rpc("tools/list", {}).status == 200
    assert served.said() == before


def test_a_stranger_s_method_is_cut_and_escaped_in_the_log(fresh: Served) -> None:
    assert raw(fresh, b"A" * 31_000 + b" /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 401
    assert raw(fresh, b"GET /" + b"b" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 401
    until(lambda: fresh.said().count(" 401 ") == 2, what="both lines")
    first, second = [line for line in fresh.said().splitlines() if " 401 " in line]
    assert f"'{'A' * 20}' '/mcp' 401" in first
    assert "GET '/bbb" in second
    assert max(len(first), len(second)) < 200


def test_a_mistake_of_ours_is_in_the_log_without_what_the_client_sent(serve: Serve) -> None:
    broken = "from outlive.parts.push.resources import Resources; Resources.list = lambda self, ctx, params: {}[str(ctx.params)]"
    served = serve(patch=broken)
    served.rpc("resources/list", {"cursor": "s3cret"})
    assert "KeyError" in served.said()
    assert "s3cret" not in served.said()
