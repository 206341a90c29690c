"""`outlive serve`: what clients get over HTTP, by either transport and in either era."""

from __future__ import annotations

import json
import resource
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest

from outlive import limits
from support import http
from support.cli import Cli, Jobs
from support.commands import GATE
from support.notified import wait_for_end
from support.serve import INITIALIZE, TRANSPORTS, HttpSession, Served, open_sockets
from support.tiers import MODERN_FIRST, ONE_ERA, first
from support.tools import instructions
from support.wait import until

Serve = Callable[..., Served]
ENDLESS = "echo begun; exec sleep 300"


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def served(shared_serve: Served) -> Iterator[Served]:
    """A server that tests share which leave it as it is."""
    shared_serve.begin_test()
    yield shared_serve
    shared_serve.end_test()


@ONE_ERA
def test_a_script_of_8_mib_runs_over_http(served: Served, cli: Cli, work: Path, transport: str, era: str) -> None:
    """In a message it is longer: each of its lines has four characters that JSON escapes, of which two have two bytes."""
    head, end = "cat <<'END' | wc -c\n", "END\n"
    line = '"\u00e9\u00e9\n'
    room = limits.MAX_SCRIPT_BYTES - len(head) - len(end)
    text = head + line * (room // len(line.encode())) + end
    size = f"{room // len(line.encode()) * len(line.encode())}\n"
    given = {"command": text, "workdir": str(work)}
    with HttpSession(served, transport=transport, era=era) as client:
        done = client.call("exec", **given)
        assert (done["exit_code"], done["output"].strip()) == (0, size.strip())
        cli.ok("remove", done["job_id"])
    if transport == TRANSPORTS[0]:  # by a client that escapes what is not ASCII: 20 MiB
        escaped = served.tool("exec", **given)
        assert (escaped["exit_code"], escaped["output"].strip()) == (0, size.strip())
        cli.ok("remove", escaped["job_id"])


@MODERN_FIRST
def test_a_client_lists_the_tools_runs_polls_and_kills(
    served: Served, cli: Cli, work: Path, transport: str, era: str
) -> None:
    with HttpSession(served, transport=transport, era=era) as client:
        assert sorted(client.tools()) == ["exec", "process"]
        done = client.call("exec", command="echo out; exit 3", workdir=str(work))
        assert (done["state"], done["exit_code"], done["output"]) == ("exited", 3, "out\n")
        job = client.ok("exec", command=ENDLESS, workdir=str(work), yield_ms=0)["job_id"]
        assert client.ok("process", action="wait", job_id=job, until="output", since_seq=0)["output"] == "begun\n"
        assert client.ok("process", action="poll", job_id=job)["state"] == "running"
        assert client.ok("process", action="kill", job_id=job)["state"] == "killed"
        assert cli.ok("status", job)["owner"] == "tests", "the token's name, not what the client calls itself"
        cli.ok("remove", job)


def test_a_job_outlives_the_server_and_is_there_for_the_next_one(
    serve: Serve, cli: Cli, work: Path, jobs: Jobs
) -> None:
    first = serve()
    job = first.tool("exec", command=ENDLESS, workdir=str(work), yield_ms=0)["job_id"]
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    second = serve(again=first)
    assert second.tool("process", action="status", job_id=job)["state"] == "running"
    assert second.tool("process", action="kill", job_id=job)["state"] == "killed"
    jobs.end()


@pytest.mark.parametrize("words", [(), ("-v",)])
def test_a_variable_of_openclaw_that_means_nothing_is_told_once_at_the_start(
    serve: Serve, words: tuple[str, ...]
) -> None:
    served = serve(*words, env={"PI_BASH_YIELD_MS": "soon"})
    assert served.said().count("PI_BASH_YIELD_MS is 'soon', which is not a whole number: it is ignored") == 1


def test_replicas_over_one_root_answer_the_same_client(served: Served, serve: Serve, work: Path, jobs: Jobs) -> None:
    one, other = served, serve(again=served)
    job = one.tool("exec", command="echo done; exit 4", workdir=str(work), background=True)["job_id"]
    assert other.tool("process", action="wait", job_id=job)["exit_code"] == 4
    watched = other.tool("exec", command=f"{GATE}; exit 5", workdir=str(work), yield_ms=0)["job_id"]
    (work / "go").touch()
    asked = {"action": "status", "job_id": job}
    seen = until(lambda: one.tool("process", **asked).get("notices"), what="the notice")
    assert [(notice["job_id"], notice["exit_code"]) for notice in seen] == [(watched, 5)]
    assert "notices" not in other.tool("process", **asked), "told once, by whichever"
    jobs.end()


def test_without_sessions_any_replica_answers_an_older_client(serve: Serve, work: Path, jobs: Jobs) -> None:
    served = serve("--stateless")
    answer = served.ask("POST", body={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers
    with HttpSession(served, era="legacy") as client:
        assert client.ok("exec", command="echo out", workdir=str(work))["output"] == "out\n"
    jobs.end()


@MODERN_FIRST
def test_a_subscriber_is_told_of_a_change(served: Served, work: Path, jobs: Jobs, era: str) -> None:
    with HttpSession(served, era=era) as client:
        job = client.ok("exec", command="read x; exit 3", stdin="open", workdir=str(work), yield_ms=0)["job_id"]
        with client.subscribed(f"job://{job}"):
            client.ok("process", action="write", job_id=job, data="go\n")
            until(lambda: client.updates(f"job://{job}"), what="an update")
        assert client.ok("process", action="wait", job_id=job)["exit_code"] == 3
    jobs.end()


@MODERN_FIRST
@pytest.mark.parametrize("transport", first(1, TRANSPORTS), indirect=True)
def test_what_two_clients_follow_goes_on_for_one_when_the_other_leaves(
    served: Served, work: Path, jobs: Jobs, transport: str, era: str
) -> None:
    how = {"transport": transport, "era": era}
    with HttpSession(served, **how) as stays, ExitStack() as until_its_end:
        job = stays.ok("exec", command="read x; exit 3", stdin="open", workdir=str(work), yield_ms=0)["job_id"]
        before = open_sockets(served)
        with HttpSession(served, **how) as leaves, leaves.subscribed(f"job://{job}"):
            until_its_end.enter_context(stays.subscribed(f"job://{job}"))
        until(lambda: open_sockets(served) <= before + 3, what="the end of what the other held")
        stays.ok("process", action="write", job_id=job, data="go\n")
        until(lambda: stays.updates(f"job://{job}"), what="an update")
    jobs.end()


# --- where a job runs ------------------------------------------------------------------------------------------------


def test_a_job_runs_where_it_was_told_to_and_never_in_the_server_s_own_directory(
    served: Served, serve: Serve, work: Path, place: Path, jobs: Jobs
) -> None:
    refused = served.tool("exec", command="pwd")
    assert (refused["error"]["code"], refused["error"]["details"]["field"]) == ("invalid_argument", "workdir")
    assert "workdir" in refused["error"]["hint"]
    assert served.tool("exec", command="pwd", workdir=str(work))["output"] == f"{work}\n"
    (place / "there").mkdir()
    with_flag = serve("--workdir", str(place / "there"), again=served)
    for server, told in ((served, True), (with_flag, False)):
        with HttpSession(server) as client:
            assert ("Give exec a workdir" in client.ask(instructions)) is told
    assert with_flag.tool("exec", command="pwd")["output"] == f"{place / 'there'}\n"
    (place / "config.toml").write_text(f'[serve]\nworkdir = "{work}"\n', encoding="utf-8")
    configured = serve("--config", str(place / "config.toml"), again=served)
    assert configured.tool("exec", command="pwd")["output"] == f"{work}\n"
    jobs.end()


def test_a_job_has_the_limits_of_whoever_started_the_server(served: Served, work: Path, jobs: Jobs) -> None:
    """The server asks for more open files than that: for itself."""
    with open(f"/proc/{served.process.pid}/limits", encoding="utf-8") as file:
        (own,) = [line.split()[3] for line in file if line.startswith("Max open files")]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert int(served.tool("exec", command="ulimit -n", workdir=str(work))["output"]) == before
    assert int(own) >= before
    jobs.end()


@pytest.mark.fault("S07")
def test_a_job_sees_no_token(served: Served, work: Path, jobs: Jobs) -> None:
    secret = served.tokens["tests"]
    command = "env; cat /proc/self/environ; cat /proc/*/cmdline 2>/dev/null"
    seen = served.tool("exec", command=command, workdir=str(work))["output"]
    assert secret not in seen
    assert secret[8:] not in seen
    jobs.end()


# --- the first token -------------------------------------------------------------------------------------------------


def test_the_first_start_that_succeeds_makes_a_token_that_no_log_shows(serve: Serve, cli: Cli, root: Path) -> None:
    for words in (("--certfile", "/nowhere.pem"), ("--allow-host", "http://x")):
        assert cli.error("serve", "--port", "0", *words, code="invalid_argument")["details"]["field"] == words[0]
    assert cli.ok("token", "list")["tokens"] == [], "else there would be a token that no answer has shown"
    served = serve(first=True)
    path = root / ".first-token"
    assert "first token" in served.said() and str(path) in served.said()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (entry,) = json.loads(path.read_text(encoding="utf-8"))["mcpServers"].values()
    secret = entry["headers"]["Authorization"].removeprefix("Bearer ")
    assert secret not in served.said()
    assert entry["url"] == served.url
    assert served.rpc("tools/list", {}, token=secret).status == 200
    assert [token["name"] for token in cli.ok("token", "list")["tokens"]] == ["first"]
    assert secret not in (root / ".tokens.json").read_text(encoding="utf-8")
    assert stat.S_IMODE((root / ".tokens.json").stat().st_mode) == 0o600


def test_the_first_token_of_a_server_at_a_socket_comes_without_a_url(serve: Serve, place: Path, root: Path) -> None:
    """A URL would lead to port 80, where any program may listen."""
    serve("--socket", str(place / "s"), first=True)
    shown = json.loads((root / ".first-token").read_text(encoding="utf-8"))
    assert list(shown) == ["headers"] and shown["headers"]["Authorization"].startswith("Bearer outlive_")


def test_servers_that_start_at_once_over_an_empty_root_make_one_token(serve: Serve, cli: Cli) -> None:
    """Each comes to the point where it saw that there is none before any of them goes on."""
    gate = (
        "import os, time; from outlive.parts.http.tokens import Tokens; add = Tokens.add; "
        "Tokens.add = lambda self, name: (os.mkdir(f'{self._store.path}/met-{os.getpid()}'), "
        "[time.sleep(0.01) for _ in iter(lambda: sum(n.startswith('met-') for n in os.listdir(self._store.path)) == 2, True)], "
        "add(self, name))[-1]"
    )
    with ThreadPoolExecutor() as pool:
        servers = list(pool.map(lambda _: serve(first=True, patch=gate), range(2)))
    assert [server.process.poll() for server in servers] == [None, None]
    assert len([server for server in servers if "first token" in server.said()]) == 1
    assert [token["name"] for token in cli.ok("token", "list")["tokens"]] == ["first"]


# --- where it listens ------------------------------------------------------------------------------------------------


def test_a_unix_socket_is_for_its_owner_and_wants_a_token_too(serve: Serve, place: Path, root: Path) -> None:
    path = place / "s"
    served = serve("--socket", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with http.client(transport=httpx2.HTTPTransport(uds=str(path))) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        headers = {"accept": "application/json, text/event-stream"}
        assert client.post("http://localhost/mcp", json=body, headers=headers).status_code == 401
        headers["authorization"] = f"Bearer {served.tokens['tests']}"
        assert client.post("http://localhost/mcp", json=body, headers=headers).status_code == 200
        assert client.post("http://evil.example/mcp", json=body, headers=headers).status_code == 421
    served.process.kill()
    served.process.wait()
    assert path.exists(), "what a killed server leaves is replaced by the next one"
    assert serve("--socket", str(path), again=served).process.poll() is None


@pytest.mark.parametrize(("mode", "name"), [(0o777, "s"), (0o1777, "s"), (0o777, "mine/s")])
def test_no_socket_is_made_where_another_user_could_make_it_while_the_server_is_down(
    cli: Cli, place: Path, mode: int, name: str
) -> None:
    folder = place / "shared"
    (folder / "mine").mkdir(parents=True)
    folder.chmod(mode)
    error = cli.error("serve", "--socket", folder / name, code="invalid_argument")
    assert error["details"]["field"] == "--socket" and str(folder) in error["message"]
    assert "job root" not in str(error)


def test_a_socket_that_is_in_use_and_a_file_are_left_alone(cli: Cli, place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place / "s"))
        other.listen()
        inode = (place / "s").stat().st_ino
        error = cli.error("serve", "--socket", place / "s", code="io_error")
    assert "--port" not in error["hint"]
    assert (place / "s").stat().st_ino == inode
    (place / "file").write_text("kept", encoding="utf-8")
    assert cli.error("serve", "--socket", place / "file", code="io_error")
    assert (place / "file").read_text(encoding="utf-8") == "kept"


def test_a_place_where_nothing_can_listen_is_named_with_its_reason(cli: Cli, place: Path) -> None:
    error = cli.error("serve", "--socket", place / ("x" * 120), code="io_error")
    assert error["message"].endswith(": AF_UNIX path too long") and "hint" not in error, "its directory does exist"
    assert cli.error("serve", "--socket", place / "gone" / "s", code="io_error")["hint"].startswith("Its directory")
    for host in ("a..b", "x" * 70):
        assert host in cli.error("serve", "--host", host, code="invalid_argument")["message"]


def test_a_port_that_is_taken_says_so_once_and_what_to_do(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        error = cli.error("serve", "--port", str(other.getsockname()[1]), code="io_error")
    assert error["message"].endswith(": Address already in use")
    assert "--port" in error["hint"]


@pytest.mark.fault("S10")
def test_other_machines_are_not_let_near_plain_text_unasked(serve: Serve, cli: Cli) -> None:
    error = cli.error("serve", "--host", "0.0.0.0", code="invalid_argument")
    assert "--plaintext" in error["hint"]
    served = serve("--host", "0.0.0.0", "--plaintext")
    served.base = served.base.replace("0.0.0.0", "127.0.0.1")
    assert served.rpc("tools/list", {}).status == 200, "the address a request came in at is a host of ours"


def test_behind_a_proxy_that_takes_a_prefix_off_streams_lead_back_to_it_and_so_does_the_first_token(
    serve: Serve, root: Path
) -> None:
    served = serve("--prefix", "/outlive", "--allow-host", "box.example", first=True)
    (entry,) = json.loads((root / ".first-token").read_text(encoding="utf-8"))["mcpServers"].values()
    assert entry["url"] == "https://box.example/outlive/mcp"
    served.tokens["tests"] = entry["headers"]["Authorization"].removeprefix("Bearer ")
    assert not served.base.endswith("/outlive"), "where it listens, nothing is below that"
    assert served.rpc("tools/list", {}, host="box.example").status == 200
    headers = {"authorization": f"Bearer {served.tokens['tests']}", "host": "box.example"}
    with (
        http.client() as client,
        client.stream("GET", f"{served.base}/sse", headers=headers) as stream,
    ):
        lines = stream.iter_lines()  # held: what is thrown away closes the stream
        path = next(line[6:] for line in lines if line.startswith("data: "))
        assert path.startswith("/outlive/messages?session_id=")
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert served.ask("POST", path.removeprefix("/outlive"), body=body).status == 202


def test_https_with_a_certificate(serve: Serve, place: Path) -> None:
    certificate = _certificate(place)
    served = serve("--host", "0.0.0.0", "--certfile", str(certificate))
    assert served.base.startswith("https://")
    url = served.base.replace("0.0.0.0", "127.0.0.1") + "/mcp"
    import ssl

    context = ssl.create_default_context(cafile=str(certificate))
    with http.client(verify=context) as client:
        assert client.get(url).status_code == 401
        headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {served.tokens['tests']}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        assert client.post(url, json=body, headers=headers).status_code == 200
        before = open_sockets(served)
        with ExitStack() as stack:
            address = ("127.0.0.1", served.address[1])
            for _ in range(400):  # that do not even begin with TLS
                stack.enter_context(socket.create_connection(address, timeout=60))
            assert client.post(url, json=body, headers=headers).status_code == 200
            assert open_sockets(served) <= before + 220
        with socket.create_connection(address, timeout=60) as plain:
            plain.sendall(b"GET /mcp HTTP/1.1\r\n\r\n")
            with suppress(ConnectionResetError):
                while plain.recv(1_000):
                    pass
        until(lambda: open_sockets(served) <= before, what="the end of all of them")
    assert "Traceback" not in served.said(), served.said()


def _certificate(place: Path) -> Path:
    """A certificate for 127.0.0.1, signed by itself."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    path = place / "server.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("--port", "70000"), "--port"),
        (("--port", "-1"), "--port"),
        (("--socket", "s", "--port", "1"), "--socket"),
        (("--keyfile", "k"), "--keyfile"),
        (("--prefix", "x/"), "--prefix"),
        (("--workdir", "/nowhere"), "--workdir"),
        (("--tools", "all"), "--tools"),
        (("--hots", "x"), "--hots"),
        (("--host", "host.invalid", "--port", "0"), "--host"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_an_error_object(cli: Cli, words: tuple[str, ...], field: str) -> None:
    assert cli.error("serve", *words, code="invalid_argument")["details"]["field"] == field


def test_each_session_over_http_is_told_of_its_own_jobs_and_the_next_of_what_is_left(
    serve: Serve, cli: Cli, work: Path
) -> None:
    served = serve()

    def session() -> HttpSession:
        return HttpSession(served, era="legacy")

    def told(of: HttpSession) -> list[str]:
        return [notice["job_id"] for notice in of.ok("process", action="list", state="created").get("notices", [])]

    with session() as other:
        with session() as one:
            gated = {"command": f"{GATE}; exit 3", "background": True, "workdir": str(work)}
            jobs = [one.ok("exec", **gated)["job_id"] for _ in "ab"]
            (work / "go").touch()
            wait_for_end(cli, jobs[0])
            wait_for_end(cli, jobs[1])
            assert told(other) == []
            assert told(one) == jobs
            last = "until [ -e last ]; do sleep 0.1; done; exit 3"
            left = one.ok("exec", command=last, yield_ms=0, workdir=str(work))["job_id"]
        (work / "last").touch()
        wait_for_end(cli, left)
        assert told(other) == [], "it was there before"
        with session() as following:
            assert told(following) == [left]
            assert told(following) == []
